//! Place of a build: directories of this run, and an environment in which a build is independent of
//! the user.
//!
//! This module is independent of the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::TMPDIR;
use morecores_study::Bytes;

use crate::guard::Guard;
use crate::shortage::Shortage;
use crate::{WorkloadError, programs};

/// Variables that would change the build's output, or give the build the job slots of a make that
/// runs this process.
const FORGOTTEN: [&str; 9] = [
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

/// Directories of a build; the guard removes them.
pub(super) struct Site<'a> {
    pub(super) guard: &'a Guard,
    /// The source, unless it is the user's own.
    pub(super) source: PathBuf,
    /// Build output: nothing is ever written next to the source.
    pub(super) build: PathBuf,
    /// Temporary directory, so that the remains of killed compilers are removed as well.
    temporary: PathBuf,
    /// Upper bound of the disk space of all directories.
    disk: Bytes,
}

impl<'a> Site<'a> {
    /// Makes the directories below `parent`.
    pub(super) fn new(guard: &'a Guard, parent: &Path, disk: Bytes) -> Result<Self, WorkloadError> {
        let scratch = guard.directory(parent)?;
        let make = |name| {
            let path = scratch.join(name);
            match fs::create_dir(&path) {
                Ok(()) => Ok(path),
                Err(source) => {
                    Err(WorkloadError::File { doing: "make the directory", path, source, option: TMPDIR })
                }
            }
        };
        Ok(Self { guard, source: make("source")?, build: make("build")?, temporary: make("tmp")?, disk })
    }

    /// Runs a step of the build, in the build directory.
    pub(super) fn run(&self, command: &mut Command) -> Result<(), WorkloadError> {
        self.output(command).map(drop)
    }

    /// Runs a step of the build, in the build directory, and returns its output.
    pub(super) fn output(&self, command: &mut Command) -> Result<Vec<u8>, WorkloadError> {
        FORGOTTEN.iter().for_each(|name| {
            command.env_remove(name);
        });
        // A compiler behind ccache would compile nothing.
        command.env("LC_ALL", "C").env("CCACHE_DISABLE", "1").env("TMPDIR", &self.temporary);
        let name = command.get_program().to_string_lossy().into_owned();
        programs::run(self.guard, &name, &self.build, command).map_err(|error| match error {
            WorkloadError::Failed { program, reason } if Shortage::told(&reason) == Some(Shortage::Disk) => {
                WorkloadError::Failed { program, reason: format!("{reason} (all of it takes {})", self.disk) }
            }
            error => error,
        })
    }
}
