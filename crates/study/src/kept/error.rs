//! Why a study could not be kept or read, in words that say what to do.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::trace::StreamError;

/// Why a study could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The directory to be created is there already, or what is no directory.
    #[error("{} exists: {}name another with -o", .0.display(), if .0.is_dir() { "go on with it by --resume, or " } else { "" })]
    Exists(PathBuf),
    /// There is no study at the path.
    #[error("{}", not_a_study(.0))]
    NotAStudy(PathBuf),
    /// It is of locks, and one of a command is wanted.
    #[error("{name} is a study of locks, not of a command: see it with morecores show {name}", name = .0.display())]
    OfLocks(PathBuf),
    /// It is of a command, and one of locks is wanted.
    #[error("{name} is a study of a command, not of locks: see it with morecores show {name}", name = .0.display())]
    OfCommand(PathBuf),
    /// It was written by a later version.
    #[error("{} has schema {found}; this version reads up to {known}: use a newer morecores", .path.display())]
    NewerSchema {
        /// The study, or a trace in it.
        path: PathBuf,
        /// What it says of itself.
        found: String,
        /// The newest schema that this version reads.
        known: &'static str,
    },
    /// `study.json` is not what it should be.
    #[error("{}: {reason}: restore the file, what was measured is beside it and untouched", .path.display())]
    DamagedHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A trace's events are not what they should be.
    #[error("{}: {source}", .path.display())]
    Events {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// A trace was to be kept under the name of another run's.
    #[error("{} is not where this trace belongs: it is of a run on other CPUs", .0.display())]
    OtherTrace(PathBuf),
    /// Another morecores is writing to the study.
    #[error("{} is being written by another morecores: wait for it, or name another study with -o", .0.display())]
    Busy(PathBuf),
    /// A system call failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Why a path is no study.
fn not_a_study(path: &Path) -> String {
    let name = path.display();
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => format!("there is no study {name}"),
        Ok(at) if at.is_file() => format!("{name} is a file: a study is a directory that holds study.json"),
        _ => format!("{name} is not a study: it holds no study.json"),
    }
}

/// Adds what was tried, and on what, to a system call's error.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StudyError {
    let path = path.to_owned();
    move |source| StudyError::Io { action, path, source }
}
