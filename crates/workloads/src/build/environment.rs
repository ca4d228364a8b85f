//! Environment of a build: directories of this run, and variables that make a build independent of
//! the user.
//!
//! This module is independent of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::TMPDIR;
use morecores_study::Bytes;

use crate::cleanup::CleanupProcess;
use crate::shortage::Shortage;
use crate::{WorkloadError, programs};

/// Variables that would change the build's output, or give the build the job slots of a make that
/// runs this process.
const REMOVED_VARIABLES: [&str; 9] = [
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "ARCH",
    "CROSS_COMPILE",
    "KCFLAGS",
    "LLVM",
];

/// Directories of a build, which the clean-up process removes, and its variables.
pub(super) struct Environment<'a> {
    pub(super) cleanup: &'a CleanupProcess,
    /// The source, unless it is the user's own.
    pub(super) source: PathBuf,
    /// Build output: nothing is ever written next to the source.
    pub(super) build: PathBuf,
    /// Temporary directory, so that the remains of killed compilers are removed as well.
    temporary: PathBuf,
    /// Upper bound of the disk space of all directories.
    disk_space: Bytes,
}

impl<'a> Environment<'a> {
    /// Makes the directories below `parent`.
    pub(super) fn new(
        cleanup: &'a CleanupProcess,
        parent: &Path,
        disk_space: Bytes,
    ) -> Result<Self, WorkloadError> {
        let scratch = cleanup.make_directory(parent)?;
        let make = |name| {
            let path = scratch.join(name);
            match fs::create_dir(&path) {
                Ok(()) => Ok(path),
                Err(source) => {
                    Err(WorkloadError::File { operation: "make the directory", path, source, option: TMPDIR })
                }
            }
        };
        Ok(Self {
            cleanup,
            source: make("source")?,
            build: make("build")?,
            temporary: make("tmp")?,
            disk_space,
        })
    }

    /// Runs a step of the build, in the build directory.
    pub(super) fn run(&self, command: &mut Command) -> Result<(), WorkloadError> {
        self.output(command).map(drop)
    }

    /// Runs a step of the build, in the build directory, and returns its output.
    pub(super) fn output(&self, command: &mut Command) -> Result<Vec<u8>, WorkloadError> {
        REMOVED_VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        // A compiler behind ccache would compile nothing.
        command.env("LC_ALL", "C").env("CCACHE_DISABLE", "1").env("TMPDIR", &self.temporary);
        let name = command.get_program().to_string_lossy().into_owned();
        programs::run(self.cleanup, &name, &self.build, command).map_err(|error| match error {
            WorkloadError::ProgramFailed { program, reason }
                if Shortage::from_message(&reason) == Some(Shortage::Disk) =>
            {
                WorkloadError::ProgramFailed {
                    program,
                    reason: format!("{reason} (all of it takes {})", self.disk_space),
                }
            }
            error => error,
        })
    }
}
