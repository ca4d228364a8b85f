//! What studies of every kind have in common: a directory with a head and a file of lines, and how it is kept on a disk.
//!
//! What a head and a line say is the kinds' own business: [`Study`] is of a command, [`LockStudy`] of locks.

mod directory;
mod error;

use std::path::Path;

use crate::{LockStudy, Study};

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

    /// Whether an end was written. Of a study that was killed nobody wrote one either.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Command(study) => study.header.closing.is_some(),
            Self::Locks(study) => study.header.closing.is_some(),
        }
    }
}
