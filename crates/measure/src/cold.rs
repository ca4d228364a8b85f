//! Empties the page cache before a run.
//!
//! `sync` comes first, because dirty pages cannot be dropped; then `drop_caches` (proc_sys_vm(5)).
//! A file system that is unmounted and mounted again loses its own caches too. This is the protocol
//! of the Linux Gazette's benchmark.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use morecores_machine::undo::{Change, Journal, JournalError, UndoError};
use tracing::debug;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Reason for which the cache cannot be emptied.
#[derive(Debug, thiserror::Error)]
pub enum ColdError {
    /// Only root may drop caches.
    #[error("--cold needs root to write {DROP_CACHES}: use sudo")]
    NotRoot,
    /// The kernel refused to drop caches.
    #[error("cannot write {DROP_CACHES}: {0}")]
    Drop(io::Error),
    /// Nothing is mounted at the path.
    #[error("--remount {}: nothing is mounted there: name a mount point", .0.display())]
    NotMounted(PathBuf),
    /// The file system is in use.
    #[error("--remount {}: umount failed ({status}): no shell and no directory of the command may be in it", .path.display())]
    Busy {
        /// Mount point.
        path: PathBuf,
        /// Error message or exit status of umount.
        status: String,
    },
    /// The file system could not be mounted again.
    #[error("cannot {0}; nothing else was changed")]
    Mount(UndoError),
    /// The change could not be noted in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Empties the page cache and the caches of remounted file systems.
#[derive(Debug)]
pub struct Cold {
    mounts: Vec<Change>,
}

impl Cold {
    /// Checks that emptying is possible, and notes the mount options of `remount`.
    ///
    /// # Errors
    /// Emptying is not possible.
    pub fn prepare(remount: &[String], journal: &mut Journal) -> Result<Self, ColdError> {
        rustix::fs::access(DROP_CACHES, rustix::fs::Access::WRITE_OK).map_err(|_| ColdError::NotRoot)?;
        let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mount = |path: &String| {
            let mounted = Change::unmounting(&table, Path::new(path)).map(with_backing_file);
            mounted.ok_or_else(|| ColdError::NotMounted(path.into()))
        };
        let mounts = remount.iter().map(mount).collect::<Result<Vec<Change>, _>>()?;
        for mount in &mounts {
            journal.note(mount.clone())?;
        }
        Ok(Self { mounts })
    }

    /// Empties the caches now.
    ///
    /// # Errors
    /// A refusal by the system.
    pub fn empty(&self) -> Result<(), ColdError> {
        for mount in &self.mounts {
            let Change::Unmounted { target, .. } = mount else { continue };
            let output = Command::new("umount").arg(target).output();
            let failure = output.map_or_else(|error| Some(error.to_string()), |output| failure(&output));
            if let Some(status) = failure {
                return Err(ColdError::Busy { path: target.clone(), status });
            }
            mount.undo().map_err(ColdError::Mount)?;
            debug!("unmounted and mounted again: {}", target.display());
        }
        rustix::fs::sync();
        // The value 3 combines 1 for the page cache and 2 for directory entries and inodes.
        fs::write(DROP_CACHES, "3").map_err(ColdError::Drop)?;
        debug!("dropped the page cache, directory entries and inodes");
        Ok(())
    }
}

/// Reason for which a command failed, by its status alone: some commands fail without a message,
/// and some succeed with a warning.
fn failure(output: &Output) -> Option<String> {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status {
        status if status.success() => None,
        status if said.is_empty() => Some(status.to_string()),
        _ => Some(said),
    }
}

/// Replaces a loop device by its backing file. A loop device that mount(8) created disappears with
/// its last mount (`autoclear`), so the backing file must be mounted again.
fn with_backing_file(mounted: Change) -> Change {
    let Change::Unmounted { source, target, fs_type, options } = mounted else { return mounted };
    let fact = |name: &str| {
        let device = source.strip_prefix("/dev/")?;
        fs::read_to_string(format!("/sys/block/{device}/loop/{name}"))
            .ok()
            .map(|text| text.trim_end().to_owned())
    };
    match fact("backing_file").filter(|_| fact("autoclear").as_deref() == Some("1")) {
        Some(file) => Change::Unmounted { source: file, target, fs_type, options: format!("loop,{options}") },
        None => Change::Unmounted { source, target, fs_type, options },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_of_umount_decides() {
        let of = |line: &str| failure(&Command::new("sh").args(["-c", line]).output().unwrap());
        assert_eq!(of("echo warning >&2"), None);
        assert_eq!(of("exit 32").as_deref(), Some("exit status: 32"));
        assert_eq!(of("echo busy >&2; exit 32").as_deref(), Some("busy"));
    }
}
