//! Takes CPUs offline, so that only the allotted CPUs exist. No other method comes closer to a
//! smaller machine.
//!
//! The kernel does not remember the CPUs of cpusets and threads. A version 1 cpuset permanently
//! loses a CPU that goes offline. A thread that was bound to the CPU may then use every CPU. The
//! journal notes both before the first CPU goes offline, and restores both.

use std::fs;
use std::io;
use std::path::Path;

use morecores_study::{CpuId, CpuSet};
use procfs::process::Process;
use tracing::debug;

use crate::cgroup::{Hierarchies, Version};
use crate::process;
use crate::undo::{Change, Journal, JournalError, UndoError, bring_online, take_offline};

/// Reason for which CPUs cannot be taken offline.
#[derive(Debug, thiserror::Error)]
pub enum HotplugError {
    /// Only root may take CPUs offline.
    #[error("--limit hotplug needs root: use sudo, or --limit affinity")]
    NotRoot,
    /// A CPU has no online switch.
    #[error("CPU {0} cannot be taken offline on this machine: use --limit cpuset or affinity")]
    Fixed(CpuId),
    /// CPU 0 is not among the allotted CPUs.
    #[error(
        "CPU 0 stays online, so it must be the first CPU of every count: drop --cpu-list or begin it with 0"
    )]
    NeedsCpu0,
    /// The kernel refused to switch a CPU.
    #[error("cannot switch CPU {cpu} {}: {error}", if *.online { "on" } else { "off" })]
    Switch {
        /// CPU.
        cpu: CpuId,
        /// Intended state: true for online.
        online: bool,
        /// Reason given by the system.
        error: io::Error,
    },
    /// A cpuset could not be restored.
    #[error("cannot {0}")]
    Cpuset(UndoError),
    /// The list of online CPUs cannot be read.
    #[error("cannot read {ONLINE}: {0}")]
    Read(io::Error),
    /// The change could not be noted in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Switches CPUs offline and online; the journal brings them back online.
#[derive(Debug)]
pub struct Hotplug {
    /// CPUs that were online at the start.
    initial: CpuSet,
    online: CpuSet,
    /// Original CPUs of each version 1 cpuset, parents first, to restore after CPUs come back.
    cpusets: Vec<Change>,
}

impl Hotplug {
    /// Notes all state that taking any CPU but 0 offline may destroy. Switches nothing yet.
    ///
    /// # Errors
    /// The process is not root, or a CPU has no online switch.
    pub fn prepare(journal: &mut Journal) -> Result<Self, HotplugError> {
        if !rustix::process::geteuid().is_root() {
            return Err(HotplugError::NotRoot);
        }
        let online = fs::read_to_string(ONLINE).map_err(HotplugError::Read)?;
        let all: CpuSet = online.parse().map_err(|e| HotplugError::Read(io::Error::other(e)))?;
        let fixed =
            |cpu: &CpuId| !fs::exists(format!("/sys/devices/system/cpu/cpu{cpu}/online")).unwrap_or(false);
        if let Some(cpu) = all.iter().find(|cpu| *cpu != CpuId(0) && fixed(cpu)) {
            return Err(HotplugError::Fixed(cpu));
        }
        // The journal undoes the last note first, and every other restoration needs the CPUs. The
        // CPUs are therefore noted last.
        for (tid, cpus) in bound_threads(&all) {
            let Some(start_time) = process::start_time(tid) else { continue };
            journal.note(Change::AffinityLost { tid, start_time, cpus })?;
        }
        // A cpuset accepts only CPUs of its parent. Parents are therefore noted last and restored
        // first.
        let cpusets = v1_cpusets();
        for change in cpusets.iter().rev() {
            journal.note(change.clone())?;
        }
        journal.note(Change::CpusOffline { online: all.clone() })?;
        Ok(Self { online: all.clone(), initial: all, cpusets })
    }

    /// Leaves only `cpus` online; returns true if it switched any CPU.
    pub(super) fn keep_online(&mut self, cpus: &CpuSet) -> Result<bool, HotplugError> {
        if *cpus == self.online {
            return Ok(false);
        }
        if !cpus.contains(CpuId(0)) {
            return Err(HotplugError::NeedsCpu0);
        }
        // CPUs go online before others go offline, so at each instant at least one of the two sets
        // is complete.
        let on = cpus.difference(&self.online);
        let off = self.initial.intersection(&self.online).difference(cpus);
        for (set, online) in [(&on, true), (&off, false)] {
            for cpu in set.iter() {
                let switched = if online { bring_online(cpu) } else { take_offline(cpu) };
                switched.map_err(|error| HotplugError::Switch { cpu, online, error })?;
                debug!("switched CPU {cpu} {}", if online { "online" } else { "offline" });
            }
        }
        if !on.is_empty() {
            // This process, and with it the command, may live in one of these cpusets. The kernel
            // refuses a CPU that is still offline, so the journal restores the rest at the end.
            for change in self.cpusets.iter().filter(|_| *cpus == self.initial) {
                change.undo().map_err(HotplugError::Cpuset)?;
            }
        }
        self.online.clone_from(cpus);
        Ok(true)
    }
}

/// All version 1 cpusets with their configured CPUs, parents before children.
fn v1_cpusets() -> Vec<Change> {
    let hierarchies = Hierarchies::read_own();
    let mount = hierarchies.v1.get("cpuset").filter(|dir| dir.version() == Version::V1);
    let mut found = Vec::new();
    if let Some(dir) = mount {
        collect_cpusets(dir.mount(), &mut found);
    }
    found
}

fn collect_cpusets(dir: &Path, found: &mut Vec<Change>) {
    let children = fs::read_dir(dir).into_iter().flatten().flatten();
    for child in children.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let given =
            fs::read_to_string(child.join("cpuset.cpus")).ok().and_then(|text| text.parse::<CpuSet>().ok());
        if let Some(cpus) = given.filter(|cpus| !cpus.is_empty()) {
            found.push(Change::CpusetShrinks { dir: child.clone(), cpus });
        }
        collect_cpusets(&child, found);
    }
}

/// Threads of user space that may not use every CPU, with their allowed CPUs.
fn bound_threads(all: &CpuSet) -> Vec<(u32, CpuSet)> {
    // Kernel threads have no memory map and an empty command line; the kernel itself manages their
    // affinity.
    let is_user = |process: &Process| process.cmdline().is_ok_and(|line| !line.is_empty());
    let users = procfs::process::all_processes().into_iter().flatten().flatten().filter(is_user);
    let threads = users.flat_map(|process| process.tasks().into_iter().flatten().flatten());
    let threads = threads.map(|task| task.tid.cast_unsigned());
    let bound = threads.filter_map(|tid| Some((tid, process::affinity(tid).ok()?)));
    bound.filter(|(_, cpus)| !all.is_subset(cpus)).collect()
}
