//! Empties the page cache, so that a build begins as after the start of the machine. For the whole machine: there is no
//! way to do it for one process.

use std::fs;

use rustix::fs::{Access, access, sync};

use crate::WorkloadError;

/// Takes a 3 for "clean pages, and the caches of names and inodes" (proc_sys_vm(5)).
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Refuses where it cannot be done.
pub(super) fn require() -> Result<(), WorkloadError> {
    access(DROP_CACHES, Access::WRITE_OK).map_err(|error| refused(error.into()))
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
