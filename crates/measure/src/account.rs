//! Cost of a run, from the counters around it, by the best estimator that this machine offers.
//!
//! docs/methods/measure.md, "User and system time", describes the order of the estimators, and the
//! reason for getrusage as the last one.

use morecores_study::{Bandwidth, Bytes, CpuEstimator, CpuTime, Nanos, Rusage, TreeUsage};
use tracing::{debug, info};

use morecores_machine::cgroup::{CpuSource, CpuUsage, StudyGroup};
use morecores_machine::clock::thread_cpu;
use morecores_machine::taskstats::{TaskstatsAccount, TreeTimes};

/// Estimators that may supply user and system time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounting {
    /// The best estimator that this machine offers.
    #[default]
    Best,
    /// This estimator, for comparisons of estimators; `getrusage(2)` if it is not available.
    Only(CpuEstimator),
}

impl Accounting {
    fn allows(self, estimator: CpuEstimator) -> bool {
        self == Self::Best || self == Self::Only(estimator)
    }
}

/// Accounts for one run after the other.
#[derive(Debug)]
pub(crate) struct Account {
    accounting: Accounting,
    exits: Exits,
    before: Reading,
    /// Estimator of the run before.
    estimator: Option<CpuEstimator>,
}

/// State of the exit records, which are requested only when needed.
#[derive(Debug)]
enum Exits {
    NotAsked,
    Refused,
    Received {
        account: TaskstatsAccount,
        /// User ticks of short runs that are still to be charged to later runs.
        owed: Nanos,
    },
}

impl Account {
    pub(crate) fn new(accounting: Accounting) -> Self {
        Self { accounting, exits: Exits::NotAsked, before: Reading::default(), estimator: None }
    }

    /// Reads the counters before a run. Also called when the run is about to start again without
    /// the group.
    pub(crate) fn begin(&mut self, mut group: Option<&mut StudyGroup>) {
        let group_counts = group.as_ref().is_some_and(|group| group.counts_cpu());
        let wanted = match self.accounting {
            Accounting::Best => !group_counts,
            Accounting::Only(estimator) => estimator == CpuEstimator::Taskstats,
        };
        if wanted && matches!(self.exits, Exits::NotAsked) {
            self.exits = match TaskstatsAccount::open() {
                Ok(account) => Exits::Received { account, owed: Nanos::ZERO },
                Err(error) => {
                    debug!("no exit records: {error}");
                    Exits::Refused
                }
            };
        }
        if let Exits::Received { account, .. } = &mut self.exits {
            account.begin();
        }
        self.before = Reading::take(group.take());
    }

    /// Cost of a run that is over: its CPU time, and the other figures of its group, including the
    /// peak of its memory. No process of the run's tree may be left except `spared` ones. `rusage`
    /// is the fallback for the CPU time.
    pub(crate) fn end(
        &mut self,
        mut group: Option<&mut StudyGroup>,
        rusage: &Rusage,
        spared: &[u32],
    ) -> (CpuTime, TreeUsage) {
        let after = Reading::take(group.as_deref_mut());
        let (peak, left) = group.map_or((None, None), |group| (group.peak_memory(), group.charged_memory()));
        let by_group = after.cpu_since(&self.before).filter(|cpu| self.accounting.allows(cpu.estimator));
        let cpu = by_group.or_else(|| self.cpu_from_exits(rusage, spared)).unwrap_or(CpuTime {
            user_ns: rusage.user_ns,
            system_ns: rusage.system_ns,
            estimator: CpuEstimator::Getrusage,
        });
        if self.estimator.replace(cpu.estimator) != Some(cpu.estimator) {
            info!("user and system time by {}", cpu.estimator.name());
        }
        (cpu, after.tree_since(&self.before, peak, left))
    }

    fn cpu_from_exits(&mut self, rusage: &Rusage, spared: &[u32]) -> Option<CpuTime> {
        let Exits::Received { account, owed } = &mut self.exits else { return None };
        let times = account.end(spared);
        if times.is_none() {
            debug!("an exit record of the run was lost");
        }
        Some(split_by_exits(&times?, rusage, owed))
    }
}

/// CPU time of one run: the ticks in user mode are user time, and the rest of the total is system
/// time.
///
/// The rest exceeds the ticks in the kernel. A record is made before its task gives up its memory,
/// and all of that work is the kernel's. Of 20,000 processes of 0.6 ms, cgroup and this rule found
/// 63.6% and 63.5% in the kernel, the ticks in proportion 59.2%. If a hypervisor takes time and
/// ticks away, this rule errs towards the kernel, by 2 to 5 points as measured.
///
/// The total is the larger of two values, because neither ever exceeds the true total. `getrusage`
/// is exact but counts only processes that were waited for. The scheduler's time at the exits
/// counts all processes, but only up to their last tick or switch. A run shorter than its ticks
/// passes the excess on to the next runs. The sum over runs then equals the sum of the ticks.
fn split_by_exits(times: &TreeTimes, rusage: &Rusage, owed: &mut Nanos) -> CpuTime {
    let total = (rusage.user_ns + rusage.system_ns).max(times.run);
    let due = *owed + times.user;
    let user = due.min(total);
    *owed = due.since(user);
    CpuTime { user_ns: user, system_ns: total.since(user), estimator: CpuEstimator::Taskstats }
}

/// Counters of the tree's cgroup at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    cpu: Option<(CpuSource, CpuUsage)>,
    /// CPU time of the reading thread, which version 1 counts with the tree.
    own: Nanos,
    swapped: Option<(u64, u64)>,
    block: Option<(u64, u64)>,
    bandwidth: Option<Bandwidth>,
}

impl Reading {
    /// Reads the counters; empty without a group.
    fn take(group: Option<&mut StudyGroup>) -> Self {
        let Some(group) = group else { return Self::default() };
        Self {
            cpu: group.cpu_usage(),
            own: thread_cpu(),
            swapped: group.swapped_pages(),
            block: group.block_bytes(),
            bandwidth: group.bandwidth(),
        }
    }

    /// User and system time of a tree between two readings; absent if a group did not supply both
    /// readings.
    fn cpu_since(&self, before: &Self) -> Option<CpuTime> {
        match (before.cpu?, self.cpu?) {
            ((CpuSource::V2, then), (CpuSource::V2, now)) => Some(CpuTime {
                user_ns: now.user.since(then.user),
                system_ns: now.system.since(then.system),
                estimator: CpuEstimator::Cgroup,
            }),
            ((CpuSource::V1, then), (CpuSource::V1, now)) => {
                let own = self.own.since(before.own);
                let total = now.total.since(then.total).since(own);
                let user = scaled_user(&now).since(scaled_user(&then)).min(total);
                let system_ns = total.since(user);
                Some(CpuTime { user_ns: user, system_ns, estimator: CpuEstimator::CgroupV1 })
            }
            _ => None,
        }
    }

    /// Other figures of the group between two readings. The memory mark was reset at the first
    /// reading. `left` is still charged to the group.
    fn tree_since(&self, before: &Self, peak: Option<Bytes>, left: Option<Bytes>) -> TreeUsage {
        let swapped = self.swapped.zip(before.swapped);
        let block = self.block.zip(before.block);
        TreeUsage {
            peak_memory_bytes: peak,
            needed_memory_bytes: peak.zip(left).map(|(peak, left)| Bytes(peak.0.saturating_sub(left.0))),
            swapped_in_pages: swapped.map(|(now, then)| now.0.saturating_sub(then.0)),
            swapped_out_pages: swapped.map(|(now, then)| now.1.saturating_sub(then.1)),
            block_read_bytes: block.map(|(now, then)| Bytes(now.0.saturating_sub(then.0))),
            block_written_bytes: block.map(|(now, then)| Bytes(now.1.saturating_sub(then.1))),
            bandwidth: self.bandwidth.zip(before.bandwidth).map(|(now, then)| now.since(then)),
            ..TreeUsage::default()
        }
    }
}

/// User time: the exact total, split in the proportion of all ticks so far. The kernel does the
/// same for version 2 (`cputime_adjust` in kernel/sched/cputime.c).
fn scaled_user(usage: &CpuUsage) -> Nanos {
    let ticks = usage.user + usage.system;
    if ticks == Nanos::ZERO {
        return usage.total;
    }
    let share = u128::from(usage.total.0) * u128::from(usage.user.0) / u128::from(ticks.0);
    Nanos(u64::try_from(share).unwrap_or(u64::MAX))
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
        let cpu = v1(1_000, 600, 200, 50).cpu_since(&v1(0, 0, 0, 0)).unwrap();
        assert_eq!(cpu.estimator, CpuEstimator::CgroupV1);
        assert_eq!((cpu.user_ns, cpu.system_ns), (Nanos(750), Nanos(200)));
        let no_ticks = v1(10, 0, 0, 4).cpu_since(&v1(0, 0, 0, 0)).unwrap();
        assert_eq!(no_ticks.user_ns + no_ticks.system_ns, Nanos(6));
    }

    #[test]
    fn without_a_group_getrusage_is_named() {
        let rusage = Rusage { user_ns: Nanos(7), system_ns: Nanos(3), ..Rusage::default() };
        let mut account = Account::new(Accounting::Only(CpuEstimator::Getrusage));
        account.begin(None);
        let (cpu, tree) = account.end(None, &rusage, &[]);
        assert_eq!(
            cpu,
            CpuTime { user_ns: Nanos(7), system_ns: Nanos(3), estimator: CpuEstimator::Getrusage }
        );
        assert_eq!(tree, TreeUsage::default());
    }

    #[test]
    fn short_runs_share_their_ticks() {
        let ms = Nanos::from_millis;
        let mut owed = Nanos::ZERO;
        let (mut user, mut system) = (Nanos::ZERO, Nanos::ZERO);
        // Each run takes 1 ms. Every fourth run has a tick of 4 ms, and every third tick is in the
        // kernel.
        for run in 0..1_200 {
            let tick = if run % 4 == 0 { ms(4) } else { Nanos::ZERO };
            let in_kernel = run % 12 == 8;
            let times = TreeTimes {
                user: if in_kernel { Nanos::ZERO } else { tick },
                system: if in_kernel { tick } else { Nanos::ZERO },
                run: Nanos(900_000),
                tasks: 1,
            };
            let rusage = Rusage { user_ns: ms(1), ..Rusage::default() };
            let cpu = split_by_exits(&times, &rusage, &mut owed);
            assert_eq!(cpu.user_ns + cpu.system_ns, ms(1), "the total is exact, and the larger one");
            user += cpu.user_ns;
            system += cpu.system_ns;
        }
        assert_eq!((user, system, owed), (ms(800), ms(400), Nanos::ZERO));
    }

    #[test]
    fn time_without_ticks_is_kernel_time() {
        let ms = Nanos::from_millis;
        let times = TreeTimes { user: ms(40), system: ms(20), run: ms(63), tasks: 2 };
        let split = |rusage| {
            let cpu = split_by_exits(&times, &rusage, &mut Nanos::default());
            (cpu.user_ns, cpu.system_ns)
        };
        assert_eq!(split(Rusage { user_ns: ms(70), ..Rusage::default() }), (ms(40), ms(30)));
        assert_eq!(split(Rusage::default()), (ms(40), ms(23)), "nobody waited for them");
    }
}
