//! Tells what a run cost, from the counters around it, by the best estimator this machine offers.
//!
//! The ladder, and why getrusage is its last rung, is in docs/methods.md, "User and system time".

use morecores_record::{Bytes, CpuEstimator, CpuTime, Nanos, Rusage, TreeUsage};
use rustix::thread::ClockId;

use crate::group::{CpuSource, CpuUsage, StudyGroup};

/// The counters of the tree's cgroup at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    cpu: Option<(CpuSource, CpuUsage)>,
    /// CPU time of the thread that reads, which version 1 counts with the tree.
    own: Nanos,
    swapped: Option<(u64, u64)>,
    block: Option<(u64, u64)>,
}

impl Reading {
    /// Reads them; empty without a group.
    pub(crate) fn take(group: Option<&mut StudyGroup>) -> Self {
        let Some(group) = group else { return Self::default() };
        Self {
            cpu: group.cpu_usage(),
            own: own_cpu_time(),
            swapped: group.swapped_pages(),
            block: group.block_bytes(),
        }
    }

    /// User and system time of a tree between two readings, with what `getrusage` said to fall back on.
    pub(crate) fn cpu_since(&self, before: &Self, rusage: &Rusage) -> CpuTime {
        match (before.cpu, self.cpu) {
            (Some((CpuSource::V2, then)), Some((CpuSource::V2, now))) => CpuTime {
                user_ns: now.user.since(then.user),
                system_ns: now.system.since(then.system),
                estimator: CpuEstimator::Cgroup,
            },
            (Some((CpuSource::V1, then)), Some((CpuSource::V1, now))) => {
                let own = self.own.since(before.own);
                let total = now.total.since(then.total).since(own);
                let user = scaled_user(&now).since(scaled_user(&then)).min(total);
                CpuTime { user_ns: user, system_ns: total.since(user), estimator: CpuEstimator::CgroupV1 }
            }
            _ => CpuTime {
                user_ns: rusage.user_ns,
                system_ns: rusage.system_ns,
                estimator: CpuEstimator::Getrusage,
            },
        }
    }

    /// What else the group told between two readings; the memory's mark was set back at the first.
    pub(crate) fn tree_since(&self, before: &Self, peak: Option<Bytes>) -> TreeUsage {
        let swapped = self.swapped.zip(before.swapped);
        let block = self.block.zip(before.block);
        TreeUsage {
            peak_memory_bytes: peak,
            swapped_in_pages: swapped.map(|(now, then)| now.0.saturating_sub(then.0)),
            swapped_out_pages: swapped.map(|(now, then)| now.1.saturating_sub(then.1)),
            block_read_bytes: block.map(|(now, then)| Bytes(now.0.saturating_sub(then.0))),
            block_written_bytes: block.map(|(now, then)| Bytes(now.1.saturating_sub(then.1))),
        }
    }
}

/// The exact total, split in the proportion of all ticks so far, as the kernel does for version 2
/// (`cputime_adjust` in kernel/sched/cputime.c).
fn scaled_user(usage: &CpuUsage) -> Nanos {
    let ticks = usage.user + usage.system;
    if ticks == Nanos::ZERO {
        return usage.total;
    }
    let share = u128::from(usage.total.0) * u128::from(usage.user.0) / u128::from(ticks.0);
    Nanos(u64::try_from(share).unwrap_or(u64::MAX))
}

/// CPU time of the calling thread.
fn own_cpu_time() -> Nanos {
    let t = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Adds the counts of an orphan to those of the main process's tree.
pub(crate) fn add_orphan(sum: &mut Rusage, orphan: &Rusage) {
    sum.user_ns += orphan.user_ns;
    sum.system_ns += orphan.system_ns;
    sum.max_rss_bytes = sum.max_rss_bytes.max(orphan.max_rss_bytes);
    sum.minor_faults += orphan.minor_faults;
    sum.major_faults += orphan.major_faults;
    sum.voluntary_switches += orphan.voluntary_switches;
    sum.involuntary_switches += orphan.involuntary_switches;
    sum.block_read_bytes.0 += orphan.block_read_bytes.0;
    sum.block_written_bytes.0 += orphan.block_written_bytes.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(total: u64, user: u64, system: u64, own: u64) -> Reading {
        let usage = CpuUsage { total: Nanos(total), user: Nanos(user), system: Nanos(system) };
        Reading { cpu: Some((CpuSource::V1, usage)), own: Nanos(own), ..Reading::default() }
    }

    #[test]
    fn version_1_splits_the_exact_total_and_leaves_the_reader_out() {
        let cpu = v1(1_000, 600, 200, 50).cpu_since(&v1(0, 0, 0, 0), &Rusage::default());
        assert_eq!(cpu.estimator, CpuEstimator::CgroupV1);
        assert_eq!((cpu.user_ns, cpu.system_ns), (Nanos(750), Nanos(200)));
        let no_ticks = v1(10, 0, 0, 4).cpu_since(&v1(0, 0, 0, 0), &Rusage::default());
        assert_eq!(no_ticks.user_ns + no_ticks.system_ns, Nanos(6));
    }

    #[test]
    fn without_a_group_getrusage_is_named() {
        let rusage = Rusage { user_ns: Nanos(7), system_ns: Nanos(3), ..Rusage::default() };
        let cpu = Reading::default().cpu_since(&Reading::default(), &rusage);
        assert_eq!(
            cpu,
            CpuTime { user_ns: Nanos(7), system_ns: Nanos(3), estimator: CpuEstimator::Getrusage }
        );
    }
}
