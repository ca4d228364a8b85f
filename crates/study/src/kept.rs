//! Common parts of all kinds of study: a directory with a header and a file of lines, and its
//! storage on disk.
//!
//! Each kind defines the content of its header and lines: [`Study`] for a command, [`LockStudy`]
//! for locks.

mod directory;
mod error;

use std::path::Path;

use crate::Study;
use crate::lock::LockStudy;

pub use directory::Studied;
pub(crate) use directory::{StudyWriter, read};
pub use error::StudyError;
pub(crate) use error::io_error;

/// Study of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// Study of a command.
    Command(Box<Study>),
    /// Study of locks.
    Locks(Box<LockStudy>),
}

impl Kept {
    /// Reads a study of any kind.
    ///
    /// # Errors
    /// The errors of [`Study::read`] and [`LockStudy::read`].
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

/// State of a study on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// A process adds to the study.
    Measuring,
    /// The study has ended.
    Ended,
    /// The study has no end, and no process adds to it.
    Killed,
}

impl StudyState {
    /// One-word name of the state, as lists show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measuring => "measuring",
            Self::Ended => "ended",
            Self::Killed => "killed",
        }
    }
}
