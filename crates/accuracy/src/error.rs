//! Errors that occur before there is anything to judge.

use std::io;
use std::path::PathBuf;

use crate::python::INTERPRETER;

/// Failure of a program or of the judge.
#[derive(Debug, thiserror::Error)]
pub enum AccuracyError {
    /// A system call of a program failed.
    #[error("cannot {what}: {error}")]
    System {
        /// Action that failed.
        what: &'static str,
        /// Cause of the failure.
        #[source]
        error: io::Error,
    },
    /// A file could not be used.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// Action that failed.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        error: io::Error,
    },
    /// Reads past the page cache reach no device there.
    #[error("{} is in memory, not on a disk; name a directory on a disk with --dir", .0.display())]
    NoDisk(PathBuf),
    /// Forking is not safe in a process that already has threads.
    #[error("cannot fork: this process has other threads already")]
    Threads,
    /// A command could not be started.
    #[error("cannot start `{command}`: {error}")]
    Start {
        /// The command.
        command: String,
        /// Cause of the failure.
        #[source]
        error: io::Error,
    },
    /// A command failed.
    #[error("`{command}` {status}: {stderr}")]
    Failed {
        /// The command.
        command: String,
        /// Exit status or signal of the command.
        status: String,
        /// Last lines of the command's error output.
        stderr: String,
    },
    /// A command's output does not have the agreed format.
    #[error("cannot read what `{command}` printed: {error}")]
    Output {
        /// The command.
        command: String,
        /// Cause of the failure.
        error: serde_json::Error,
    },
    /// A compiler cannot build programs with OpenMP.
    #[error("no OpenMP: {0}")]
    NoOpenMp(Box<AccuracyError>),
    /// Functions of a program have no known names or places.
    #[error("{} has no debug file {}; install Debian's python3-dbg", program.display(), path.display())]
    NoDebugFile {
        /// The program.
        program: PathBuf,
        /// Path of the missing file.
        path: PathBuf,
    },
    /// Bpftrace did not print a count.
    #[error("bpftrace counted nothing: {0}")]
    NoCount(String),
}

impl AccuracyError {
    /// Whether this machine lacks a prerequisite of the case besides the tracer: a disk, bpftrace
    /// and its load, a compiler or its OpenMP, Python or its debug file. Any other failure may be
    /// the tracer's fault.
    pub fn lacks_prerequisite(&self) -> bool {
        match self {
            Self::NoDisk(_) | Self::NoCount(_) | Self::NoOpenMp(_) | Self::NoDebugFile { .. } => true,
            Self::Start { command, .. } => {
                let first = command.split(' ').next().unwrap_or_default();
                let tools = ["bpftrace", "cc", "clang", "g++", "gcc", "objcopy", "stress-ng", "strip"];
                tools.contains(&first) || first == INTERPRETER
            }
            _ => false,
        }
    }

    /// Builds the error of a compiler that cannot build the least program with OpenMP. A compiler
    /// that could not be started keeps its error.
    pub(crate) fn without_openmp(self) -> Self {
        match self {
            failed @ Self::Failed { .. } => Self::NoOpenMp(Box::new(failed)),
            other => other,
        }
    }

    /// Builds the error of a failed system call, for `map_err`.
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { what, error: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_part_of_the_machine_excuses_a_case() {
        let start = |command: &str| {
            let (command, error) = (command.to_owned(), io::ErrorKind::NotFound.into());
            AccuracyError::Start { command, error }
        };
        assert!(AccuracyError::NoDisk("/dev/shm".into()).lacks_prerequisite());
        assert!(AccuracyError::NoCount(String::new()).lacks_prerequisite());
        assert!(start("bpftrace").lacks_prerequisite());
        assert!(start("stress-ng --version").lacks_prerequisite());
        assert!(start("g++ -O2 -pthread").lacks_prerequisite());
        assert!(start("/usr/bin/python3 --version").lacks_prerequisite());
        assert!(!start("morecores trace -- stress-ng").lacks_prerequisite());
        assert!(!AccuracyError::Threads.lacks_prerequisite());
        let (command, status, stderr) = ("morecores".to_owned(), "signal: 11".to_owned(), String::new());
        let failed = || AccuracyError::Failed {
            command: command.clone(),
            status: status.clone(),
            stderr: stderr.clone(),
        };
        assert!(!failed().lacks_prerequisite());
        // A compiler without OpenMP is a part of the machine.
        assert!(failed().without_openmp().lacks_prerequisite());
        assert!(!AccuracyError::Threads.without_openmp().lacks_prerequisite());
    }
}
