//! Other programs on the machine: CPU time of every process outside the command's tree, summed by
//! name from look to look.
//!
//! A look reads one file for each process. It takes place only between runs, when the tree is gone,
//! and so rarely that its cost is negligible. A process that starts and ends between two looks
//! counts under the name of the process that waited for it.

use std::collections::{BTreeMap, HashMap};

use morecores_study::{Nanos, OtherProgram};

use crate::clock::{monotonic, user_tick};
use crate::process::all_stats;

/// Number of the busiest programs that are kept.
const MAX_PROGRAMS: usize = 5;
/// Smallest CPU time for which a program is named: five of the kernel's ticks.
const LEAST_CPU_TIME: Nanos = Nanos::from_millis(50);
/// Smallest interval between looks, as a multiple of the cost of a look. Looks thus take at most 1%
/// of a study's time.
const COST_FACTOR: u64 = 100;
/// Smallest interval between looks. It is short enough to see a compiler that runs for a second,
/// even on a machine with few processes.
const LEAST_INTERVAL: Nanos = Nanos::from_millis(1_000);

/// Other programs and their work since the first look.
#[derive(Debug)]
pub struct OtherProgramMonitor {
    last: Snapshot,
    sampled_at: Nanos,
    /// Duration of the last sample.
    cost: Nanos,
    cpu_times: BTreeMap<String, Nanos>,
}

impl OtherProgramMonitor {
    /// Takes the first sample. Earlier work is not counted.
    pub fn start() -> Self {
        let before = monotonic();
        let last = Snapshot::take();
        let sampled_at = monotonic();
        Self { last, sampled_at, cost: sampled_at.since(before), cpu_times: BTreeMap::new() }
    }

    /// Takes another look if the last one is long enough ago for a negligible cost; returns whether
    /// it did.
    pub fn sample_if_due(&mut self) -> bool {
        let due = is_due(monotonic().since(self.sampled_at), self.cost);
        if due {
            self.sample();
        }
        due
    }

    /// Takes another sample, and adds the work since the last one. No process of the command's tree
    /// may exist at that time.
    pub fn sample(&mut self) {
        let Self { last, sampled_at, cost, .. } = Self::start();
        for (name, time) in last.cpu_time_since(&self.last) {
            *self.cpu_times.entry(name).or_default() += time;
        }
        (self.last, self.sampled_at, self.cost) = (last, sampled_at, cost);
    }

    /// Programs that worked most, busiest first.
    pub fn busiest(&self) -> Vec<OtherProgram> {
        let candidates = self.cpu_times.iter().filter(|(_, cpu)| **cpu >= LEAST_CPU_TIME);
        let mut worked: Vec<_> =
            candidates.map(|(name, cpu)| OtherProgram { name: name.clone(), cpu_ns: *cpu }).collect();
        worked.sort_by_key(|program| std::cmp::Reverse(program.cpu_ns));
        worked.truncate(MAX_PROGRAMS);
        worked
    }
}

/// Whether another look is due, given the time since the last one and its cost.
fn is_due(since: Nanos, cost: Nanos) -> bool {
    since >= LEAST_INTERVAL.max(Nanos(cost.0.saturating_mul(COST_FACTOR)))
}

/// CPU time of every process except this one, at one instant.
#[derive(Debug, Default)]
struct Snapshot(HashMap<i32, Process>);

#[derive(Clone, Debug)]
struct Process {
    name: String,
    parent: i32,
    /// Start in clock ticks since boot. It distinguishes the process from a later one with the same
    /// number.
    started: u64,
    /// CPU time of the process itself.
    own: Nanos,
    /// CPU time of the ended children for which the process waited, including their own ended
    /// children.
    ended: Nanos,
}

impl Snapshot {
    fn take() -> Self {
        let tick = user_tick();
        let own_pid = std::process::id();
        let time = |ticks: u64| Nanos(ticks.saturating_mul(tick.0));
        let process = |stat: procfs::process::Stat| {
            let ended = u64::try_from(stat.cutime.saturating_add(stat.cstime)).unwrap_or(0);
            let process = Process {
                name: stat.comm,
                parent: stat.ppid,
                started: stat.starttime,
                own: time(stat.utime + stat.stime),
                ended: time(ended),
            };
            (stat.pid, process)
        };
        // The children for which this process waited are the command and its hooks.
        Self(all_stats().filter(|stat| stat.pid.cast_unsigned() != own_pid).map(process).collect())
    }

    /// Work by process name since `earlier`: the work of the present processes, and of those below
    /// them that have ended in the meantime.
    fn cpu_time_since(&self, earlier: &Self) -> BTreeMap<String, Nanos> {
        let counted = self.counted_ended_time(earlier);
        let mut worked: BTreeMap<String, Nanos> = BTreeMap::new();
        for (pid, now) in &self.0 {
            let before = earlier.0.get(pid).filter(|before| before.started == now.started);
            let (own, ended) = before.map_or((Nanos::ZERO, Nanos::ZERO), |before| (before.own, before.ended));
            let counted = counted.get(pid).copied().unwrap_or_default();
            let time = now.own.since(own) + now.ended.since(ended).since(counted);
            *worked.entry(now.name.clone()).or_default() += time;
        }
        worked
    }

    /// Times that the snapshot `earlier` already counted for processes that have ended since, by
    /// the living process that waited for them.
    fn counted_ended_time(&self, earlier: &Self) -> HashMap<i32, Nanos> {
        let lives =
            |pid: &i32, process: &Process| self.0.get(pid).is_some_and(|now| now.started == process.started);
        let mut counted: HashMap<i32, Nanos> = HashMap::new();
        for (_, process) in earlier.0.iter().filter(|(pid, process)| !lives(pid, process)) {
            let mut parent = process.parent;
            while let Some(above) = earlier.0.get(&parent).filter(|above| !lives(&parent, above)) {
                parent = above.parent;
            }
            *counted.entry(parent).or_default() += process.own + process.ended;
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process: number, name, parent, start, own time and time of its ended children in
    /// milliseconds.
    type Row = (i32, &'static str, i32, u64, u64, u64);

    fn snapshot(rows: &[Row]) -> Snapshot {
        let process = |&(pid, name, parent, started, own, ended): &Row| {
            let [own, ended] = [own, ended].map(Nanos::from_millis);
            (pid, Process { name: name.to_owned(), parent, started, own, ended })
        };
        Snapshot(rows.iter().map(process).collect())
    }

    fn cpu_times(before: &[Row], after: &[Row]) -> Vec<(String, u64)> {
        let worked = snapshot(after).cpu_time_since(&snapshot(before));
        let some = worked.into_iter().filter(|(_, time)| *time > Nanos::ZERO);
        some.map(|(name, time)| (name, time.0 / 1_000_000)).collect()
    }

    fn named(name: &str, ms: u64) -> (String, u64) {
        (name.to_owned(), ms)
    }

    #[test]
    fn work_before_the_first_look_and_of_a_reused_number_is_not_counted() {
        let before = [(1, "a", 0, 5, 100, 0), (2, "b", 0, 6, 900, 0)];
        let after = [(1, "a", 0, 5, 400, 0), (2, "c", 0, 9, 70, 0)];
        assert_eq!(cpu_times(&before, &after), [named("a", 300), named("c", 70)]);
    }

    #[test]
    fn processes_with_one_name_form_one_program() {
        let after = [(1, "rustc", 9, 5, 400, 0), (2, "rustc", 9, 9, 70, 0)];
        assert_eq!(cpu_times(&[], &after), [named("rustc", 470)]);
    }

    #[test]
    fn short_processes_count_for_the_parent_that_waited_for_them() {
        // Compilers used 2.48 s between the two looks, beside an almost idle kernel thread.
        let before = [(1, "make", 0, 5, 10, 0), (2, "kdamond.0", 0, 6, 0, 0)];
        let after = [(1, "make", 0, 5, 20, 2_480), (2, "kdamond.0", 0, 6, 10, 0)];
        assert_eq!(cpu_times(&before, &after), [named("kdamond.0", 10), named("make", 2_490)]);
    }

    #[test]
    fn time_counted_for_a_living_child_is_not_counted_again_at_its_end() {
        // The earlier look saw a compiler driver with 50 ms and its compiler with 300 ms; they
        // ended with 60 ms and 700 ms.
        let before = [(1, "make", 0, 5, 10, 0), (2, "cc", 1, 7, 50, 0), (3, "cc1", 2, 8, 300, 0)];
        let after = [(1, "make", 0, 5, 10, 760)];
        assert_eq!(cpu_times(&before, &after), [named("make", 410)]);
    }

    #[test]
    fn sampling_takes_at_most_a_hundredth_of_the_time() {
        let due = |since, cost| is_due(Nanos::from_millis(since), Nanos::from_millis(cost));
        assert_eq!([due(999, 1), due(1_000, 1), due(1_999, 20), due(2_000, 20)], [false, true, false, true]);
    }

    #[test]
    fn the_busiest_come_first_and_idle_ones_are_left_out() {
        let mut monitor = OtherProgramMonitor::start();
        for (name, ms) in [("b", 60), ("a", 700), ("c", 49)] {
            monitor.cpu_times.insert(name.to_owned(), Nanos::from_millis(ms));
        }
        let names: Vec<String> = monitor.busiest().into_iter().map(|n| n.name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
