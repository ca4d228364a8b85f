//! Empties the page cache, so that a build begins as after a boot. This affects the whole machine:
//! Linux cannot do it for a single process.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, access, statfs, sync};

use crate::WorkloadError;

/// File that accepts a 3 for "clean pages, and the caches of names and inodes" (proc_sys_vm(5)).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Types in statfs(2) of the file systems that exist only in the page cache
/// (include/uapi/linux/magic.h).
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// Fails if the cache cannot be emptied for files in `directory`.
pub(super) fn require(directory: &Path) -> Result<(), WorkloadError> {
    // A missing directory is reported later, when a file is made in it.
    if statfs(directory).is_ok_and(|stat| in_memory(stat.f_type as u64)) {
        return Err(WorkloadError::CannotRun(format!(
            "--cache cold needs its files on a disk, and {} is in memory: set TMPDIR to a directory on a disk",
            directory.display()
        )));
    }
    access(DROP_CACHES, Access::WRITE_OK).map_err(|error| write_error(error.into()))
}

/// Whether a file system of this type keeps its files only in memory.
const fn in_memory(kind: u64) -> bool {
    // The mask reduces the type to its width on every architecture.
    matches!(kind & 0xffff_ffff, TMPFS | RAMFS)
}

/// Empties the page cache.
pub(super) fn drop_page_cache() -> Result<(), WorkloadError> {
    // Data that is not on disk yet cannot be dropped.
    sync();
    fs::write(DROP_CACHES, "3").map_err(write_error)
}

fn write_error(error: std::io::Error) -> WorkloadError {
    WorkloadError::CannotRun(format!("--cache cold writes to {DROP_CACHES}, which needs root: {error}"))
}
