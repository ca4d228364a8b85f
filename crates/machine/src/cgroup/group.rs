//! Cgroups that hold the command's process tree; one set serves the whole study.
//!
//! The group uses version 2 wherever it is mounted, even without controllers: `cpu.stat` is always
//! present, and a child can be born in the cgroup. It uses version 1 hierarchies for the counters
//! that version 2 lacks on this machine. There the measuring thread itself moves into the cgroup,
//! so its children are born there.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use morecores_study::{Bandwidth, Bytes, CpuSet, Nanos, QuotaPercent};
use tracing::{debug, info};

use super::bandwidth::BandwidthLimit;
use super::counters::{Counter, PeakMemory};
use super::hierarchies::Hierarchies;
use super::location::GroupLocation;
use super::share::Share;
use crate::undo::{Change, Journal, JournalError};

/// Reason for which the command cannot run in a cgroup.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// A system call failed.
    #[error("cannot {action} {}: {error}", .path.display())]
    Io {
        /// Attempted action.
        action: &'static str,
        /// File or directory of the action.
        path: PathBuf,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The change could not be noted in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No hierarchy is mounted.
    #[error("no cgroup hierarchy is mounted")]
    NoHierarchy,
    /// The controller of the limit is not available.
    #[error("no {controller} controller here: {why}")]
    NoController {
        /// Name of the controller.
        controller: &'static str,
        /// Reason, with what would help.
        why: String,
    },
}

/// CPU time of the tree since the group was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUsage {
    /// Total CPU time, exact.
    pub total: Nanos,
    /// User part, from ticks.
    pub user: Nanos,
    /// System part, from ticks.
    pub system: Nanos,
}

/// Interface that gave a [`CpuUsage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuSource {
    /// `cpu.stat`: the two parts add up to the total. Counts only the command's tree.
    V2,
    /// `cpuacct`: the parts are raw ticks. Counts the measuring thread too.
    V1,
}

/// Purpose of the cgroups of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPurpose {
    /// Count the costs of runs.
    Accounting,
    /// Also restrict runs to their CPUs by a cpuset.
    Cpuset,
    /// Also limit the CPU time of runs by a quota.
    Quota,
}

impl GroupPurpose {
    /// Controller without which the purpose fails.
    pub const fn controller(self) -> Option<&'static str> {
        match self {
            Self::Accounting => None,
            Self::Cpuset => Some("cpuset"),
            Self::Quota => Some("cpu"),
        }
    }
}

/// Treatment of the processes that outlive the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// They are ended.
    End,
    /// They are moved to the cgroup of this process.
    Keep,
}

/// The cgroups of one study.
#[derive(Debug)]
pub struct StudyGroup {
    v2: Option<PathBuf>,
    /// Cgroup into which children are born; absent if the kernel refuses that.
    spawn_cgroup: Option<File>,
    v1: Vec<PathBuf>,
    cpu: Option<(CpuSource, Vec<Counter>)>,
    peak: Option<PeakMemory>,
    /// Cgroup in which a controller counts memory.
    memory: Option<PathBuf>,
    memory_stat: Option<Counter>,
    io_stat: Option<Counter>,
    cpuset: Option<PathBuf>,
    bandwidth: Option<BandwidthLimit>,
    /// Weight of the cgroup, if it competes with single processes.
    share: Option<Share>,
    /// Previous version 1 cgroups of this process, open for writing.
    previous_cgroups: Vec<File>,
}

impl StudyGroup {
    /// Creates the cgroups, below the cgroups of this process or beside them. Only a limit
    /// requires a controller; all counters but that of the CPU time are optional.
    ///
    /// # Errors
    /// No cgroup can count CPU time, or the controller of the purpose is not available.
    pub fn create(
        hierarchies: &Hierarchies,
        purpose: GroupPurpose,
        survivors: Survivors,
        journal: &mut Journal,
    ) -> Result<Self, GroupError> {
        let wants = |controller| purpose.controller() == Some(controller);
        let mut group = Self {
            v2: None,
            spawn_cgroup: None,
            v1: Vec::new(),
            cpu: None,
            peak: None,
            memory: None,
            memory_stat: None,
            io_stat: None,
            cpuset: None,
            bandwidth: None,
            share: None,
            previous_cgroups: Vec::new(),
        };
        let mut refused = GroupError::NoHierarchy;
        if let Some(own) = &hierarchies.v2 {
            let in_v1 = |controller: &&str| hierarchies.v1.contains_key(*controller);
            let location = GroupLocation::find(own, purpose.controller().filter(|c| !in_v1(c)), journal)?;
            match make_cgroup(&location.parent, survivors, journal) {
                Ok(dir) => {
                    location.copy_limits(&dir)?;
                    group.share = Share::v2(&dir).filter(|_| location.limits_from.is_none());
                    info!("the command runs in the version 2 cgroup {}", dir.display());
                    group.set_up_v2(dir, wants("cpu"))?;
                }
                Err(error) => {
                    info!("no version 2 cgroup: {error}");
                    refused = error;
                }
            }
        } else {
            debug!("no version 2 cgroup: no mount shows this process's own cgroup in version 2");
        }
        for (name, wanted) in
            [("cpuacct", group.cpu.is_none()), ("memory", group.peak.is_none()), ("cpuset", wants("cpuset"))]
        {
            if let Some(parent) = hierarchies.v1.get(name).filter(|_| wanted) {
                match make_cgroup(parent.path(), survivors, journal) {
                    Ok(dir) => {
                        info!("the command runs in the version 1 cgroup {} ({name})", dir.display());
                        group.set_up_v1(name, dir)?;
                    }
                    Err(error) if name == "cpuset" => return Err(error),
                    Err(error) => {
                        info!("no version 1 cgroup of {name}: {error}");
                        refused = error;
                    }
                }
            }
        }
        if let Some(parent) = hierarchies.v1.get("cpu").filter(|_| wants("cpu")) {
            group.set_up_v1_quota(parent.path(), survivors, journal)?;
        }
        debug!(
            "the cgroups count CPU time: {}, peak memory: {}, swap: {}, block devices: {}",
            yes_or_no(group.cpu.is_some()),
            yes_or_no(group.peak.is_some()),
            yes_or_no(group.memory_stat.is_some()),
            yes_or_no(group.io_stat.is_some())
        );
        let has_limit = match purpose {
            GroupPurpose::Accounting => true,
            GroupPurpose::Cpuset => group.cpuset.is_some(),
            GroupPurpose::Quota => group.bandwidth.is_some(),
        };
        if let Some(controller) = purpose.controller().filter(|_| !has_limit) {
            return Err(GroupError::NoController { controller, why: refused.to_string() });
        }
        if group.cpu.is_none() { Err(refused) } else { Ok(group) }
    }

    fn set_up_v2(&mut self, dir: PathBuf, with_quota: bool) -> Result<(), GroupError> {
        let handle = File::open(&dir).map_err(io_error("open", &dir))?;
        self.cpu = Counter::open(dir.join("cpu.stat")).map(|stat| (CpuSource::V2, vec![stat]));
        // The file is writable since Linux 6.12 (Documentation/admin-guide/cgroup-v2.rst,
        // memory.peak).
        self.peak = PeakMemory::open(&dir, "memory.peak", "memory.current");
        self.memory = Some(dir.clone()).filter(|dir| dir.join("memory.events").exists());
        self.memory_stat = Counter::open(dir.join("memory.stat"));
        self.io_stat = Counter::open(dir.join("io.stat"));
        self.cpuset = Some(dir.clone()).filter(|dir| dir.join("cpuset.cpus").exists());
        self.bandwidth = BandwidthLimit::v2(&dir).filter(|_| with_quota);
        self.spawn_cgroup = Some(handle);
        self.v2 = Some(dir);
        Ok(())
    }

    fn set_up_v1(&mut self, controller: &str, dir: PathBuf) -> Result<(), GroupError> {
        match controller {
            "cpuacct" => {
                let files = ["cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys"];
                let counters: Vec<_> =
                    files.iter().filter_map(|file| Counter::open(dir.join(file))).collect();
                self.share = Share::v1(&dir);
                self.cpu = (counters.len() == files.len()).then_some((CpuSource::V1, counters));
            }
            "memory" => {
                self.peak = PeakMemory::open(&dir, "memory.max_usage_in_bytes", "memory.usage_in_bytes");
                self.memory = Some(dir.clone());
            }
            _ => {
                // A new version 1 cpuset has no memory nodes, and accepts no task until it has
                // some.
                let nodes = dir.join("cpuset.mems");
                let inherited = dir.parent().map(|p| p.join("cpuset.mems")).unwrap_or_default();
                fs::read(&inherited)
                    .and_then(|mems| fs::write(&nodes, mems))
                    .map_err(io_error("write", &nodes))?;
                self.cpuset = Some(dir.clone());
            }
        }
        self.v1.push(dir);
        Ok(())
    }

    /// Creates a version 1 cgroup with a quota. The measuring thread stays outside: throttled with
    /// the command, it would see the end of a run late. Where one hierarchy counts and limits CPU
    /// time, the thread is in the cgroup above, which counts this one too.
    fn set_up_v1_quota(
        &mut self,
        parent: &Path,
        survivors: Survivors,
        journal: &mut Journal,
    ) -> Result<(), GroupError> {
        let outer = make_cgroup(parent, survivors, journal)?;
        if self.share.is_none() {
            self.share = Share::v1(&outer);
        }
        let dir = make_cgroup(&outer, survivors, journal)?;
        info!("the quota is that of the version 1 cgroup {}", dir.display());
        self.bandwidth = BandwidthLimit::v1(&dir);
        Ok(())
    }

    /// Version 2 cgroup into which the tree is born, if any.
    pub fn v2(&self) -> Option<&Path> {
        self.v2.as_deref()
    }

    /// Moves the calling thread into the version 1 cgroups, so that its children are born there.
    /// The journal moves the thread back. If the group limits CPUs, the caller must call
    /// [`StudyGroup::set_cpus`] first.
    ///
    /// # Errors
    /// A refusal by the kernel.
    pub fn enter(&mut self) -> Result<(), GroupError> {
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        for dir in &self.v1 {
            let tasks = dir.join("tasks");
            fs::write(&tasks, &thread).map_err(io_error("move the measuring thread to", &tasks))?;
        }
        let before = self.v1.iter().filter_map(|dir| Some(dir.parent()?.join("cgroup.procs")));
        let open = |file: PathBuf| File::options().write(true).open(&file).map_err(io_error("open", &file));
        self.previous_cgroups = before.map(open).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Files that move a process out of the version 1 cgroups, back to the previous cgroups of this
    /// process. A process writes "0" to each file to move itself (cgroups(7)). They serve children
    /// of the measuring thread that do not belong to the command.
    pub fn previous_cgroups(&self) -> &[File] {
        &self.previous_cgroups
    }

    /// Cgroup into which a child is to be born.
    pub fn spawn_cgroup(&self) -> Option<BorrowedFd<'_>> {
        self.spawn_cgroup.as_ref().map(AsFd::as_fd)
    }

    /// Whether the group counts CPU time.
    pub fn counts_cpu(&self) -> bool {
        self.cpu.is_some()
    }

    /// Stops using the version 2 cgroup, because the kernel puts no child into it.
    pub fn disable_spawn_cgroup(&mut self) {
        self.spawn_cgroup = None;
        if matches!(self.cpu, Some((CpuSource::V2, _))) {
            self.cpu = None;
        }
        (self.memory_stat, self.io_stat) = (None, None);
    }

    /// Allots CPUs through the cpuset.
    ///
    /// # Errors
    /// There is no cpuset, or the kernel refuses the CPUs.
    pub fn set_cpus(&self, cpus: &CpuSet) -> Result<(), GroupError> {
        let none = || GroupError::NoController { controller: "cpuset", why: "none was made".to_owned() };
        let dir = self.cpuset.as_ref().ok_or_else(none)?;
        let file = dir.join("cpuset.cpus");
        fs::write(&file, cpus.to_string()).map_err(io_error("write", &file))
    }

    /// Sets the quota, of which a whole one is then left.
    ///
    /// # Errors
    /// There is no quota, or the kernel refuses the value.
    pub fn set_quota(&self, quota: QuotaPercent) -> Result<(), GroupError> {
        let none = || GroupError::NoController { controller: "cpu", why: "no quota was made".to_owned() };
        let bandwidth = self.bandwidth.as_ref().ok_or_else(none)?;
        bandwidth.set(quota).map_err(|error| io_error("write", &bandwidth.file())(error))
    }

    /// Periods of the quota so far, and those in which it throttled the tree. Absent without a
    /// quota.
    pub fn bandwidth(&mut self) -> Option<Bandwidth> {
        self.bandwidth.as_mut()?.read()
    }

    /// File that a child of the measuring thread writes "0" to, to come under the quota. Absent if
    /// children are born under it, or if there is none.
    pub fn joined_cgroup(&self) -> Option<BorrowedFd<'_>> {
        self.bandwidth.as_ref()?.joined()
    }

    /// Gives the tree, on `cpus` CPUs, the share that it would have without a cgroup of its own.
    ///
    /// # Errors
    /// A refusal by the kernel.
    pub fn set_share(&mut self, cpus: usize) -> Result<(), GroupError> {
        let Some(share) = &mut self.share else { return Ok(()) };
        share.set(cpus).map_err(|error| io_error("write", share.file())(error))
    }

    /// CPU time of the tree so far.
    pub fn cpu_usage(&mut self) -> Option<(CpuSource, CpuUsage)> {
        let (source, counters) = self.cpu.as_mut()?;
        let usage = match (&source, counters.as_mut_slice()) {
            (CpuSource::V2, [stat]) => {
                let [total, user, system] = stat.fields(["usage_usec", "user_usec", "system_usec"])?;
                let time = |us: Option<u64>| us.map(Nanos::from_micros);
                CpuUsage { total: time(total)?, user: time(user)?, system: time(system)? }
            }
            (CpuSource::V1, [total, user, system]) => CpuUsage {
                total: Nanos(total.number()?),
                user: Nanos(user.number()?),
                system: Nanos(system.number()?),
            },
            _ => return None,
        };
        Some((*source, usage))
    }

    /// Resets the memory mark before a run.
    pub fn reset_peak(&mut self) {
        if let Some(peak) = &mut self.peak {
            peak.reset();
        }
    }

    /// Peak memory of the tree since the mark was reset. Absent if it cannot be read, or if the
    /// mark cannot be reset and an earlier run had a higher peak.
    pub fn peak_memory(&mut self) -> Option<Bytes> {
        self.peak.as_mut()?.value()
    }

    /// Memory that is charged to the tree's cgroup now. After a run, this is its remaining page
    /// cache.
    pub fn charged_memory(&mut self) -> Option<Bytes> {
        self.peak.as_mut()?.current()
    }

    /// Cgroup in which a controller counts the tree's memory.
    pub fn memory(&self) -> Option<&Path> {
        self.memory.as_deref()
    }

    /// Pages read from and written to swap so far.
    pub fn swapped_pages(&mut self) -> Option<(u64, u64)> {
        let [read, written] = self.memory_stat.as_mut()?.fields(["pswpin", "pswpout"])?;
        read.zip(written)
    }

    /// Bytes read from and written to block devices so far.
    pub fn block_bytes(&mut self) -> Option<(u64, u64)> {
        self.io_stat.as_mut()?.block_bytes()
    }
}

fn make_cgroup(parent: &Path, survivors: Survivors, journal: &mut Journal) -> Result<PathBuf, GroupError> {
    let dir = parent.join(format!("morecores-{}", std::process::id()));
    // The access check comes first, so that an ordinary user's journal holds no impossible change.
    rustix::fs::access(parent, rustix::fs::Access::WRITE_OK)
        .map_err(|e| io_error("make a cgroup in", parent)(e.into()))?;
    journal.note(Change::CgroupCreated { dir: dir.clone(), keep: survivors == Survivors::Keep })?;
    match fs::create_dir(&dir) {
        // cpuacct and memory may be one hierarchy, so the cgroup may exist already.
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(io_error("make the cgroup", &dir)(e)),
        _ => Ok(dir),
    }
}

const fn yes_or_no(there: bool) -> &'static str {
    if there { "yes" } else { "no" }
}

pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GroupError {
    let path = path.to_owned();
    move |error| GroupError::Io { action, path, error }
}
