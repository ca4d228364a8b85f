//! The kinds of change that morecores makes to a system, and how each is undone.
//!
//! Every variant holds the state from before, so that undoing needs no memory of the process that made it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use morecores_study::{CpuId, CpuSet};
use serde::{Deserialize, Serialize};

use crate::cgroup::unescape;
use crate::process;

/// How long what outlived a study that died may go on: a program that removes its files needs a second or two where the system is
/// slow to bury the dead.
const GRACE: Duration = Duration::from_secs(5);

/// How long the kernel may take to bring something about that we asked for: the end of a killed process, the
/// return of a CPU to a cpuset. Far longer than it ever does.
const PATIENCE: Duration = Duration::from_secs(2);

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A cgroup was made. Undone by ending its processes, or moving them up where `keep`, and removing it.
    CgroupCreated {
        /// Its directory.
        dir: PathBuf,
        /// Whether processes in it are to live on.
        keep: bool,
    },
    /// A controller was enabled for the children of a version 2 cgroup.
    ControllerEnabled {
        /// The cgroup.
        dir: PathBuf,
        /// The controller.
        controller: String,
    },
    /// CPUs were, or are about to be, taken offline.
    CpusOffline {
        /// The CPUs that were online before.
        online: CpuSet,
    },
    /// A version 1 cpuset may lose CPUs that go offline; the kernel does not give them back.
    CpusetShrinks {
        /// Its directory.
        dir: PathBuf,
        /// `cpuset.cpus` from before.
        cpus: CpuSet,
    },
    /// A thread may lose its affinity when its CPUs go offline.
    AffinityLost {
        /// The thread.
        tid: u32,
        /// Its start, in clock ticks since boot.
        start_time: u64,
        /// Its CPUs from before.
        cpus: CpuSet,
    },
    /// A file system was unmounted in order to be mounted anew.
    Unmounted {
        /// Device or other source.
        source: String,
        /// Where it was mounted.
        target: PathBuf,
        /// Its type.
        fs_type: String,
        /// Its options.
        options: String,
    },
}

/// Why a change is still in force.
#[derive(Debug, thiserror::Error)]
#[error("{change}: {source}")]
pub struct UndoError {
    /// The change, in words that say what to restore.
    pub change: String,
    /// Why it could not be undone.
    pub source: io::Error,
}

impl fmt::Display for Change {
    /// What undoing it does.
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
    /// Of a study that died: gives what is left of its command time to end by itself. Its main process died with it; what that
    /// started may be clearing up.
    pub(super) fn let_end(&self) {
        let Self::CgroupCreated { dir, keep: false } = self else { return };
        let deadline = Instant::now() + GRACE;
        while !is_empty(dir) && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
    }

    /// Puts the state from before back.
    ///
    /// # Errors
    /// Where the system refuses; calling again may help.
    pub fn undo(&self) -> Result<(), UndoError> {
        let done = match self {
            Self::CgroupCreated { dir, keep } => remove_cgroup(dir, *keep),
            Self::ControllerEnabled { dir, controller } => {
                ignore_missing(fs::write(dir.join("cgroup.subtree_control"), format!("-{controller}")))
            }
            Self::CpusOffline { online } => all_online(online, |cpu| set_online(cpu, true)),
            Self::CpusetShrinks { dir, cpus } => restore_cpuset(dir, cpus),
            Self::AffinityLost { tid, start_time, cpus } => match process::start_time(*tid) {
                Some(start) if start == *start_time => process::set_affinity(*tid, cpus),
                _ => Ok(()), // The thread is no more.
            },
            Self::Unmounted { source, target, fs_type, options } => mount(source, target, fs_type, options),
        };
        done.map_err(|source| UndoError { change: self.to_string(), source })
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Sets a CPU online or offline. CPU 0 and CPUs that cannot be switched have no such file and are online.
pub(crate) fn set_online(cpu: CpuId, online: bool) -> io::Result<()> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    match fs::read(&file) {
        Ok(now) if now.trim_ascii() == if online { b"1" } else { b"0" } => Ok(()),
        Ok(_) => fs::write(&file, if online { "1" } else { "0" }),
        Err(e) if e.kind() == io::ErrorKind::NotFound && online => Ok(()),
        Err(e) => Err(e),
    }
}

/// Brings every CPU of `online` online by `bring`, those after one that fails too.
fn all_online(online: &CpuSet, bring: impl Fn(CpuId) -> io::Result<()>) -> io::Result<()> {
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
    // A CPU that has just come online reaches the cpusets a moment later, from a work queue of the kernel's.
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fs::write(&file, cpus.to_string()) {
            Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(1)),
            written => return written,
        }
    }
}

/// Empties a cgroup of either version and removes it.
fn remove_cgroup(dir: &Path, keep: bool) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
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

/// The file that lists who is in a cgroup: threads in version 1, where one of ours may be there without its process.
fn members(dir: &Path) -> &'static str {
    if dir.join("tasks").exists() { "tasks" } else { "cgroup.procs" }
}

/// Moves our own threads, and all others where `keep`, to the parent; ends the rest.
fn empty_cgroup(dir: &Path, keep: bool) {
    let procs = members(dir);
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

/// Whether nobody is in a cgroup, or it is gone.
fn is_empty(dir: &Path) -> bool {
    fs::read_to_string(dir.join(members(dir))).map_or(true, |listed| listed.trim().is_empty())
}

fn mount(source: &str, target: &Path, fs_type: &str, options: &str) -> io::Result<()> {
    if is_mounted(&fs::read_to_string("/proc/self/mounts")?, target) {
        return Ok(());
    }
    // mount(8) rather than mount(2): it knows the helpers of network and loop file systems.
    let output = Command::new("mount").args(["-t", fs_type, "-o", options, source]).arg(target).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.lines().next().unwrap_or("mount failed").to_owned()))
}

/// Whether the table of mounts, in the form of fstab(5), has something at `target`.
fn is_mounted(table: &str, target: &Path) -> bool {
    table.lines().filter_map(|line| line.split(' ').nth(1)).any(|at| Path::new(&unescape(at)) == target)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_cpu_that_fails_does_not_keep_the_others_offline() {
        let tried = RefCell::new(Vec::new());
        let online: CpuSet = "1-4".parse().unwrap();
        let failed = all_online(&online, |cpu| {
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
            assert!(is_mounted(table, Path::new(target)), "{target}");
        }
        assert!(!is_mounted(table, Path::new("/mnt/my")));
    }
}
