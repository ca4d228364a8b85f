//! Share of the CPUs that the study's cgroup has in competition with single processes.
//!
//! The scheduler divides each CPU among the entries of a cgroup: its processes and the cgroups
//! below it. The number of processes in a lower cgroup does not matter.
//!
//! The study's cgroup may be an entry beside processes that would otherwise compete with the
//! command's processes one by one. The study's cgroup then weighs as much as one busy thread of the
//! command on each of its CPUs. Elsewhere it gets the weight of this process's cgroup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tracing::debug;

/// File of a cgroup's weight, and the last written value.
#[derive(Debug)]
pub(super) struct Share {
    file: PathBuf,
    /// Weight of a thread of nice 0.
    thread: f64,
    /// Largest weight that the kernel accepts.
    most: u64,
    nice: i32,
    written: Option<u64>,
}

impl Share {
    /// Share in version 1, if the hierarchy that counts CPU time also divides it. The weight of a
    /// nice-0 thread and the largest weight are `NICE_0_LOAD` and `MAX_SHARES` of
    /// kernel/sched/sched.h.
    pub(super) fn v1(dir: &Path) -> Option<Self> {
        Self::open(dir.join("cpu.shares"), 1_024.0, 1 << 18)
    }

    /// Share in version 2, for a cgroup beside processes: 100 is the weight of a nice-0 thread,
    /// 10000 the largest weight (`CGROUP_WEIGHT_DFL` and `CGROUP_WEIGHT_MAX` of
    /// include/linux/cgroup.h).
    pub(super) fn v2(dir: &Path) -> Option<Self> {
        Self::open(dir.join("cpu.weight"), 100.0, 10_000)
    }

    fn open(file: PathBuf, thread: f64, most: u64) -> Option<Self> {
        // Nice 0 is the usual value, so it replaces a value that cannot be read.
        let nice = rustix::process::getpriority_process(None).unwrap_or(0);
        file.exists().then_some(Self { file, thread, most, nice, written: None })
    }

    /// Sets the weight to that of one thread on each of `cpus` CPUs.
    pub(super) fn set(&mut self, cpus: usize) -> io::Result<()> {
        let weight = weight(self.thread, self.nice, cpus, self.most);
        if self.written != Some(weight) {
            debug!("{} = {weight}, the weight of {cpus} busy threads", self.file.display());
            fs::write(&self.file, weight.to_string())?;
            self.written = Some(weight);
        }
        Ok(())
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

/// Weight of `cpus` threads of a nice value. Each step of nice is a factor of 1.25
/// (`sched_prio_to_weight` of kernel/sched/core.c). The lower bound is 2, the smallest weight in
/// version 1; version 2 accepts 1.
fn weight(thread: f64, nice: i32, cpus: usize, most: u64) -> u64 {
    let weight = thread * 1.25_f64.powi(-nice) * cpus as f64;
    (weight.round() as u64).clamp(2, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_has_the_weight_of_its_threads() {
        assert_eq!(weight(1_024.0, 0, 1, 1 << 18), 1_024);
        assert_eq!(weight(1_024.0, 0, 8, 1 << 18), 8_192);
        assert_eq!(weight(100.0, 0, 200, 10_000), 10_000);
        // The kernel's table has 15 and 88761.
        assert_eq!(weight(1_024.0, 19, 1, 1 << 18), 15);
        assert!((weight(1_024.0, -20, 1, 1 << 18) as f64 / 88_761.0 - 1.0).abs() < 0.01);
        assert_eq!(weight(100.0, 19, 1, 10_000), 2);
    }

    #[test]
    fn the_weight_is_written_where_the_hierarchy_divides_cpus() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Share::v1(dir.path()).is_none());
        let file = dir.path().join("cpu.shares");
        fs::write(&file, "1024").unwrap();
        let mut share = Share { nice: 0, ..Share::v1(dir.path()).unwrap() };
        share.set(2).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "2048");
        fs::write(&file, "untouched").unwrap();
        share.set(2).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "untouched", "only a change is written");
    }
}
