//! Kinds of change that morecores makes to a system, and how to undo each of them.
//!
//! Every variant holds the previous state, so undoing does not depend on the process that made the
//! change.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use morecores_study::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

use crate::kernel_files::unescape;
use crate::process;

/// Time for which processes that outlived a dead study may continue. A program that removes its
/// files needs a second or two if the system is slow to reap dead processes.
const GRACE: Duration = Duration::from_secs(5);

/// Longest wait for an effect in the kernel: the end of a killed process, or the return of a CPU to
/// a cpuset. It is far longer than any observed delay.
const RETRY_TIMEOUT: Duration = Duration::from_secs(2);

/// A change to the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A cgroup was created. Undoing ends its processes, or moves them to the parent if `keep`, and
    /// removes the cgroup.
    CgroupCreated {
        /// Directory of the cgroup.
        dir: PathBuf,
        /// Whether processes in the cgroup stay alive.
        keep: bool,
    },
    /// A controller was enabled for the children of a version 2 cgroup.
    ControllerEnabled {
        /// Directory of the cgroup.
        dir: PathBuf,
        /// Name of the controller.
        controller: String,
    },
    /// CPUs were taken offline, or will be soon.
    CpusOffline {
        /// The CPUs that were online before.
        online: CpuSet,
    },
    /// A version 1 cpuset may lose CPUs that go offline; the kernel does not restore them.
    CpusetShrinks {
        /// Directory of the cpuset.
        dir: PathBuf,
        /// Previous content of `cpuset.cpus`.
        cpus: CpuSet,
    },
    /// A thread may lose its affinity when its CPUs go offline.
    AffinityLost {
        /// Number of the thread.
        tid: u32,
        /// Start of the thread, in clock ticks since boot.
        start_time: u64,
        /// Previous CPUs of the thread.
        cpus: CpuSet,
    },
    /// A file system was unmounted, to be mounted again.
    Unmounted {
        /// Device or other source.
        source: String,
        /// Mount point.
        target: PathBuf,
        /// File system type.
        fs_type: String,
        /// Mount options.
        options: String,
    },
}

/// Reason for which a change is still in force.
#[derive(Debug, thiserror::Error)]
#[error("{change}: {error}")]
pub struct UndoError {
    /// Description of the change that says what to restore.
    pub change: String,
    /// Reason given by the system.
    pub error: io::Error,
}

impl fmt::Display for Change {
    /// Describes the effect of undoing the change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CgroupCreated { dir, .. } => write!(f, "remove the cgroup {}", dir.display()),
            Self::ControllerEnabled { dir, controller } => {
                write!(f, "disable the controller {controller} below {}", dir.display())
            }
            Self::CpusOffline { online } => write!(f, "bring CPUs {online} online"),
            Self::CpusetShrinks { dir, cpus } => write!(f, "give cpuset {} its CPUs {cpus}", dir.display()),
            Self::AffinityLost { tid, cpus, .. } => write!(f, "give thread {tid} its CPUs {cpus}"),
            Self::Unmounted { source, target, .. } => write!(f, "mount {source} on {}", target.display()),
        }
    }
}

impl Change {
    /// Unmounting of what is visible at `target`; `None` if nothing is mounted there. `table` has
    /// the format of `/proc/self/mounts`, in which the last mount on a path is the visible one.
    /// (`procfs` decodes no escapes and loses the order of the options.)
    pub fn unmounting(table: &str, target: &Path) -> Option<Self> {
        table.lines().rev().find_map(|line| {
            let mut fields = line.split(' ').map(unescape);
            let (source, mounted_at) = (fields.next()?, PathBuf::from(fields.next()?));
            let (fs_type, options) = (fields.next()?, fields.next()?);
            (mounted_at == target).then_some(Self::Unmounted { source, target: mounted_at, fs_type, options })
        })
    }

    /// Waits for the rest of a dead study's command to end by itself. The command's main process
    /// died with the study, and the processes that it started may still be cleaning up.
    pub(super) fn wait_for_exit(&self) {
        let Self::CgroupCreated { dir, keep: false } = self else { return };
        let deadline = Instant::now() + GRACE;
        while !is_empty(dir) && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
    }

    /// Restores the previous state.
    ///
    /// # Errors
    /// The system refuses; a second call may succeed.
    pub fn undo(&self) -> Result<(), UndoError> {
        let done = match self {
            Self::CgroupCreated { dir, keep } => remove_cgroup(dir, *keep),
            Self::ControllerEnabled { dir, controller } => {
                ignore_missing(fs::write(dir.join("cgroup.subtree_control"), format!("-{controller}")))
            }
            Self::CpusOffline { online } => bring_all_online(online, bring_online),
            Self::CpusetShrinks { dir, cpus } => restore_cpuset(dir, cpus),
            Self::AffinityLost { tid, start_time, cpus } => match process::start_time(*tid) {
                Some(start) if start == *start_time => process::set_affinity(*tid, cpus),
                _ => Ok(()), // The thread has ended.
            },
            Self::Unmounted { source, target, fs_type, options } => mount(source, target, fs_type, options),
        };
        done.map_err(|error| UndoError { change: self.to_string(), error })
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Brings a CPU online. CPU 0 and CPUs that cannot be switched have no such file and are online.
pub(crate) fn bring_online(cpu: CpuId) -> io::Result<()> {
    ignore_missing(write_online(cpu, "1"))
}

/// Takes a CPU offline.
pub(crate) fn take_offline(cpu: CpuId) -> io::Result<()> {
    write_online(cpu, "0")
}

fn write_online(cpu: CpuId, state: &str) -> io::Result<()> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let now = fs::read_to_string(&file)?;
    if now.trim_ascii() == state { Ok(()) } else { fs::write(&file, state) }
}

/// Brings every CPU of `online` online with `bring`, and continues after a CPU that fails.
fn bring_all_online(online: &CpuSet, bring: impl Fn(CpuId) -> io::Result<()>) -> io::Result<()> {
    let failed: Vec<String> =
        online.iter().filter_map(|cpu| Some(format!("CPU {cpu}: {}", bring(cpu).err()?))).collect();
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("; "))) }
}

fn restore_cpuset(dir: &Path, cpus: &CpuSet) -> io::Result<()> {
    let file = dir.join("cpuset.cpus");
    let now = match fs::read_to_string(&file) {
        Ok(now) => now.parse::<CpuSet>().unwrap_or_default(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    if now == *cpus {
        return Ok(());
    }
    // A CPU that has just come online reaches the cpusets a moment later, through a work queue of
    // the kernel.
    let deadline = Instant::now() + RETRY_TIMEOUT;
    loop {
        match fs::write(&file, cpus.to_string()) {
            Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(1)),
            written => return written,
        }
    }
}

/// Empties a cgroup of either version and removes it.
fn remove_cgroup(dir: &Path, keep: bool) -> io::Result<()> {
    let deadline = Instant::now() + RETRY_TIMEOUT;
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if Instant::now() > deadline => return Err(e),
            Err(_) => empty_cgroup(dir, keep),
        }
        sleep(Duration::from_millis(1));
    }
}

/// File that lists the members of a cgroup. In version 1 it lists threads, because a thread of this
/// process may be a member without the others.
fn member_file(dir: &Path) -> &'static str {
    if dir.join("tasks").exists() { "tasks" } else { "cgroup.procs" }
}

/// Moves this process's threads, and all others if `keep`, to the parent; ends the rest.
fn empty_cgroup(dir: &Path, keep: bool) {
    let procs = member_file(dir);
    let listed = fs::read_to_string(dir.join(procs)).unwrap_or_default();
    for task in listed.lines().filter_map(|line| line.parse::<u32>().ok()) {
        if keep || process::is_our_thread(task) {
            if let Some(parent) = dir.parent() {
                let _ = fs::write(parent.join(procs), task.to_string());
            }
        } else {
            process::kill(task);
        }
    }
}

/// Whether a cgroup has no members, or is gone.
fn is_empty(dir: &Path) -> bool {
    fs::read_to_string(dir.join(member_file(dir))).map_or(true, |listed| listed.trim().is_empty())
}

fn mount(source: &str, target: &Path, fs_type: &str, options: &str) -> io::Result<()> {
    if Change::unmounting(&fs::read_to_string("/proc/self/mounts")?, target).is_some() {
        return Ok(());
    }
    // mount(8) knows the helpers of network and loop file systems; mount(2) does not.
    let output = Command::new("mount").args(["-t", fs_type, "-o", options, source]).arg(target).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(stderr.lines().next().unwrap_or("mount failed").to_owned()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_cpu_that_fails_does_not_keep_the_others_offline() {
        let tried = RefCell::new(Vec::new());
        let online: CpuSet = "1-4".parse().unwrap();
        let failed = bring_all_online(&online, |cpu| {
            tried.borrow_mut().push(cpu.to_string());
            if cpu.to_string() == "2" { Err(io::Error::other("it is broken")) } else { Ok(()) }
        });
        assert_eq!(failed.unwrap_err().to_string(), "CPU 2: it is broken");
        assert_eq!(*tried.borrow(), ["1", "2", "3", "4"]);
    }

    #[test]
    fn a_mount_point_with_a_space_or_a_backslash_is_recognised() {
        let table = "/dev/vda1 / ext4 rw 0 0\n/dev/loop0 /mnt/my\\040disk ext4 rw 0 0\n/dev/loop1 /mnt/a\\134b ext4 rw 0 0\n";
        for target in ["/", "/mnt/my disk", "/mnt/a\\b"] {
            assert!(Change::unmounting(table, Path::new(target)).is_some(), "{target}");
        }
        assert_eq!(Change::unmounting(table, Path::new("/mnt/my")), None);
        let table = "/dev/a /mnt ext4 rw 0 0\n/dev/b /mnt xfs ro,noatime 0 0\n";
        let Some(Change::Unmounted { source, options, .. }) = Change::unmounting(table, Path::new("/mnt"))
        else {
            panic!("nothing is mounted")
        };
        assert_eq!((source.as_str(), options.as_str()), ("/dev/b", "ro,noatime"), "the visible mount");
    }
}
