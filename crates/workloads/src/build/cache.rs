//! Empties the page cache, so that a build begins as after the start of the machine. For the whole machine: there is no
//! way to do it for one process.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, access, statfs, sync};

use crate::WorkloadError;

/// Takes a 3 for "clean pages, and the caches of names and inodes" (proc_sys_vm(5)).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// What statfs(2) says of file systems that are the page cache and nothing else (include/uapi/linux/magic.h).
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// Refuses where it cannot be done: for files in `directory`.
pub(super) fn require(directory: &Path) -> Result<(), WorkloadError> {
    // What is not there is noticed by who makes something in it.
    if statfs(directory).is_ok_and(|found| in_memory(found.f_type as u64)) {
        return Err(WorkloadError::Unfit(format!(
            "--cache cold needs its files on a disk, and {} is in memory: set TMPDIR to a directory on a disk",
            directory.display()
        )));
    }
    access(DROP_CACHES, Access::WRITE_OK).map_err(|error| refused(error.into()))
}

/// Whether a file system of this type keeps its files in memory alone.
const fn in_memory(kind: u64) -> bool {
    // As wide as on every architecture.
    matches!(kind & 0xffff_ffff, TMPFS | RAMFS)
}

/// Empties it.
pub(super) fn empty() -> Result<(), WorkloadError> {
    // What has not been written to disk yet cannot be dropped.
    sync();
    fs::write(DROP_CACHES, "3").map_err(refused)
}

fn refused(error: std::io::Error) -> WorkloadError {
    WorkloadError::Unfit(format!("--cache cold writes to {DROP_CACHES}, which needs root: {error}"))
}
