//! What can go wrong before there is anything to judge.

use std::io;
use std::path::PathBuf;

/// Why a program or the judge could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// A system call of a program failed.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A file could not be used.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// Reads past the page cache end at no device there.
    #[error("{} is in memory, not on a disk; name a directory on a disk with --dir", .0.display())]
    NoDisk(PathBuf),
    /// A process cannot be doubled safely once it has threads.
    #[error("cannot fork: this process has other threads already")]
    Threads,
    /// A command could not be started.
    #[error("cannot start `{command}`: {error}")]
    Start {
        /// Which.
        command: String,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A command failed.
    #[error("`{command}` {status}: {stderr}")]
    Failed {
        /// Which.
        command: String,
        /// How it ended.
        status: String,
        /// The last lines of what it said.
        stderr: String,
    },
    /// A command printed something else than was agreed.
    #[error("cannot read what `{command}` printed: {error}")]
    Output {
        /// Which.
        command: String,
        /// Why not.
        error: serde_json::Error,
    },
    /// bpftrace did not say what it counted.
    #[error("bpftrace counted nothing: {0}")]
    NoCount(String),
}

impl AccuracyError {
    /// Whether this machine lacks what the case needs beside the tracer: a disk, or the other counter and its load.
    /// Everything else may be the tracer's fault.
    pub fn lacks_prerequisite(&self) -> bool {
        match self {
            Self::NoDisk(_) | Self::NoCount(_) => true,
            Self::Start { command, .. } => {
                matches!(command.split(' ').next(), Some("bpftrace" | "stress-ng"))
            }
            _ => false,
        }
    }

    /// For `map_err` of a system call.
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { what, error: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_lacks_excuses() {
        let start = |command: &str| {
            let (command, error) = (command.to_owned(), io::ErrorKind::NotFound.into());
            AccuracyError::Start { command, error }
        };
        assert!(AccuracyError::NoDisk("/dev/shm".into()).lacks_prerequisite());
        assert!(AccuracyError::NoCount(String::new()).lacks_prerequisite());
        assert!(start("bpftrace").lacks_prerequisite());
        assert!(start("stress-ng --version").lacks_prerequisite());
        assert!(!start("morecores trace -- stress-ng").lacks_prerequisite());
        assert!(!AccuracyError::Threads.lacks_prerequisite());
        let (command, status, stderr) = ("morecores".to_owned(), "signal: 11".to_owned(), String::new());
        assert!(!AccuracyError::Failed { command, status, stderr }.lacks_prerequisite());
    }
}
