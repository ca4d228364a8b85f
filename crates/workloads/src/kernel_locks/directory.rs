//! `dentry`: files made in one directory and removed again. The kernel locks the directory's inode
//! for each change.

use std::fs::{self, File};
use std::ops::Range;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};

use super::{Object, Tally, failed};
use crate::WorkloadError;
use crate::outcome::TMPDIR;

/// Maximum number of files that remain, to show that they were made. They are few compared with the
/// removed files, and their names are listed quickly.
const LEFT: u64 = 1024;

/// A directory of this run.
pub(super) struct Directory {
    path: PathBuf,
    /// Interval between remaining files: one file in `left` remains.
    left: u64,
}

impl Directory {
    pub(super) fn new(path: PathBuf, operations: u64) -> Self {
        Self { path, left: operations.div_ceil(LEFT) }
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(std::io::Error) -> WorkloadError {
        let path = self.path.clone();
        move |source| WorkloadError::File { doing, path, source, option: TMPDIR }
    }
}

impl Object for Directory {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let directory = File::open(&self.path).map_err(self.failed("open"))?;
        for number in operations {
            let name = format!("{number:x}");
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR);
            drop(file.map_err(|error| self.failed("make a file in")(error.into()))?);
            if number % self.left != 0 {
                unlinkat(&directory, &name, AtFlags::empty()).map_err(|error| failed("unlinkat", error))?;
            }
        }
        Ok(Tally::default())
    }

    fn expected(&self, operations: u64) -> Tally {
        Tally::of((0..operations).step_by(self.left as usize))
    }

    /// Tally of the existing names.
    fn seen(&self, _: Tally) -> Result<Tally, WorkloadError> {
        let mut seen = Tally::default();
        for entry in fs::read_dir(&self.path).map_err(self.failed("list"))? {
            let name = entry.map_err(self.failed("list"))?.file_name();
            let number = name.to_str().and_then(|name| u64::from_str_radix(name, 16).ok());
            // A name that no operation gave is an additional operation.
            seen.add(number.unwrap_or(u64::MAX));
        }
        Ok(seen)
    }
}
