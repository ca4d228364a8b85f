//! `dentry`: files made in one directory and removed again. The kernel locks the directory's inode
//! for each change.

use std::fs::{self, File};
use std::ops::Range;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::{SharedObject, Tally, call_error};
use crate::WorkloadError;
use crate::outcome::TMPDIR;

/// Maximum number of files that remain, to show that they were made. They are few compared with the
/// removed files, and their names are listed quickly.
const MAX_REMAINING_FILES: u64 = 1024;

/// A directory of this run.
pub(super) struct Directory {
    path: PathBuf,
    /// Interval between remaining files: one file in `remaining_interval` remains.
    remaining_interval: u64,
}

impl Directory {
    pub(super) fn new(path: PathBuf, operations: u64) -> Self {
        Self { path, remaining_interval: operations.div_ceil(MAX_REMAINING_FILES) }
    }

    fn file_error(&self, operation: &'static str) -> impl FnOnce(std::io::Error) -> WorkloadError {
        let path = self.path.clone();
        move |source| WorkloadError::File { operation, path, source, option: TMPDIR }
    }
}

impl SharedObject for Directory {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let directory = File::open(&self.path).map_err(self.file_error("open"))?;
        for number in operations {
            let name = format!("{number:x}");
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR);
            drop(file.map_err(|error| self.file_error("make a file in")(error.into()))?);
            if number % self.remaining_interval != 0 {
                unlinkat(&directory, &name, AtFlags::empty())
                    .map_err(|error| call_error("unlinkat", error))?;
            }
        }
        Ok(Tally::default())
    }

    fn expected_tally(&self, operations: u64) -> Tally {
        Tally::from_numbers((0..operations).step_by(self.remaining_interval as usize))
    }

    /// Tally of the existing names.
    fn observed_tally(&self, _: Tally) -> Result<Tally, WorkloadError> {
        let mut observed = Tally::default();
        for entry in fs::read_dir(&self.path).map_err(self.file_error("list"))? {
            let name = entry.map_err(self.file_error("list"))?.file_name();
            let number = name.to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
            // A name that no operation gave is an additional operation.
            observed.add(number.unwrap_or(u64::MAX));
        }
        Ok(observed)
    }
}
