//! Errors of keeping or reading a study, with messages that say what to do.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::trace::StreamError;

/// Error of keeping or reading a study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The path of the new directory is taken, by a directory or another file.
    #[error("{} exists: {}name another with -o", .0.display(), if .0.is_dir() { "continue it with --resume, or " } else { "" })]
    Exists(PathBuf),
    /// No study exists at the path.
    #[error("{}", not_a_study(.0))]
    NotAStudy(PathBuf),
    /// The study is of locks, and a study of a command is required.
    #[error("{name} is a study of locks, not of a command: see it with morecores show {name}", name = .0.display())]
    OfLocks(PathBuf),
    /// The study is of a command, and a study of locks is required.
    #[error("{name} is a study of a command, not of locks: see it with morecores show {name}", name = .0.display())]
    OfCommand(PathBuf),
    /// A later version wrote the study.
    #[error("{} has schema {found}; this version reads up to {known}: use a newer morecores", .path.display())]
    NewerSchema {
        /// Study, or a trace in the study.
        path: PathBuf,
        /// Schema that the file names.
        found: String,
        /// Newest schema that this version reads.
        known: &'static str,
    },
    /// A later version wrote the study, about a subject that this version does not know.
    #[error("{} is a study of the unknown subject `{kind}`: use a newer morecores", .path.display())]
    UnknownSubject {
        /// Path of the study.
        path: PathBuf,
        /// Kind of the subject that the file names.
        kind: String,
    },
    /// `study.json` is damaged.
    #[error("{}: {reason}: restore this file; the measurements beside it are untouched", .path.display())]
    DamagedHeader {
        /// Path of the file.
        path: PathBuf,
        /// Defect of the file.
        reason: String,
    },
    /// The events of a trace are damaged.
    #[error("{}: {error}", .path.display())]
    Events {
        /// Path of the file.
        path: PathBuf,
        /// Defect of the file.
        error: StreamError,
    },
    /// A trace was to be kept under the name of another run's trace.
    #[error("{} is the trace of another cell: move it back to its own directory", .0.display())]
    OtherTrace(PathBuf),
    /// Another morecores is writing to the study.
    #[error("{} is being written by another morecores: wait for it, or name another study with -o", .0.display())]
    Busy(PathBuf),
    /// A system call failed.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Path of the action.
        path: PathBuf,
        /// Error of the system call.
        error: io::Error,
    },
}

/// Reason why a path is no study.
fn not_a_study(path: &Path) -> String {
    let name = path.display();
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => format!("there is no study {name}"),
        Ok(at) if at.is_file() => format!("{name} is a file: a study is a directory that holds study.json"),
        _ => format!("{name} is not a study: it holds no study.json"),
    }
}

/// Adds the attempted action and its path to the error of a system call.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StudyError {
    let path = path.to_owned();
    move |error| StudyError::Io { action, path, error }
}
