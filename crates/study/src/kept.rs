//! What studies of every kind have in common: a directory with a head and a file of lines, and how it is kept on a disk.
//!
//! What a head and a line say is the kinds' own business: [`Study`] is of a command, [`LockStudy`] of locks.

mod directory;
mod error;

use std::path::Path;

use crate::Study;
use crate::lock::LockStudy;

pub use directory::Studied;
pub(crate) use directory::{StudyWriter, read};
pub use error::StudyError;
pub(crate) use error::io_error;

/// A study of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// Of a command.
    Command(Box<Study>),
    /// Of locks.
    Locks(Box<LockStudy>),
}

impl Kept {
    /// Reads a study, whatever it is of.
    ///
    /// # Errors
    /// As [`Study::read`] and [`LockStudy::read`].
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        match Study::read(path) {
            Err(StudyError::OfLocks(_)) => LockStudy::read(path).map(|study| Self::Locks(Box::new(study))),
            read => read.map(|study| Self::Command(Box::new(study))),
        }
    }

    /// State of this study, which was read from `path`.
    pub fn state(&self, path: &Path) -> StudyState {
        let (is_written_to, is_closed) = match self {
            Self::Command(study) => (directory::is_written_to::<Study>(path), study.header.closing.is_some()),
            Self::Locks(study) => {
                (directory::is_written_to::<LockStudy>(path), study.header.closing.is_some())
            }
        };
        match (is_written_to, is_closed) {
            (true, _) => StudyState::Measuring,
            (false, true) => StudyState::Ended,
            (false, false) => StudyState::Killed,
        }
    }
}

/// State of a study on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// A process adds to it.
    Measuring,
    /// It has its end.
    Ended,
    /// It has no end, and no process adds to it.
    Killed,
}

impl StudyState {
    /// The state in a word, as lists show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measuring => "measuring",
            Self::Ended => "ended",
            Self::Killed => "killed",
        }
    }
}
