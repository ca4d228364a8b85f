//! Who else works on the machine: CPU time of every process outside the command's tree, added up by name from look to look.
//!
//! A look reads a file for each process. It is taken between runs alone, when the tree is gone, and seldom enough to cost next
//! to nothing. A process that came and went between two looks is counted under the name of the one that waited for it.

use std::collections::{BTreeMap, HashMap};

use morecores_study::{Nanos, Neighbour};

use crate::clock::monotonic;

/// How many of the busiest are kept.
const BUSIEST: usize = 5;
/// CPU time below which a process is not worth a word: five of the kernel's ticks.
const WORTH_NAMING: Nanos = Nanos::from_millis(50);
/// Time from one look to the next, over what a look takes: 1% of the time of a study goes into them at most.
const SELDOM: u64 = 100;
/// The least time from one look to the next: compilers that take a second are seen by name, on a machine of few processes too.
const LEAST_BETWEEN: Nanos = Nanos::from_millis(1_000);

/// The others and their work since the first look.
#[derive(Debug)]
pub struct Neighbours {
    last: Snapshot,
    looked_at: Nanos,
    /// What the last look took.
    cost: Nanos,
    worked: BTreeMap<String, Nanos>,
}

impl Neighbours {
    /// Looks for the first time: what was done before counts for nobody.
    pub fn watch() -> Self {
        let before = monotonic();
        let last = Snapshot::take();
        let looked_at = monotonic();
        Self { last, looked_at, cost: looked_at.since(before), worked: BTreeMap::new() }
    }

    /// Looks again where the last look is long enough ago for another to cost nothing that counts; whether it did.
    pub fn look_if_due(&mut self) -> bool {
        let due = is_due(monotonic().since(self.looked_at), self.cost);
        if due {
            self.look();
        }
        due
    }

    /// Looks again, and adds what was done meanwhile. None of the processes of the command's tree may be there.
    pub fn look(&mut self) {
        let Self { last, looked_at, cost, .. } = Self::watch();
        for (name, time) in last.worked_since(&self.last) {
            *self.worked.entry(name).or_default() += time;
        }
        (self.last, self.looked_at, self.cost) = (last, looked_at, cost);
    }

    /// Those that worked most, busiest first.
    pub fn busiest(&self) -> Vec<Neighbour> {
        let worth = self.worked.iter().filter(|(_, cpu)| **cpu >= WORTH_NAMING);
        let mut worked: Vec<_> =
            worth.map(|(name, cpu)| Neighbour { name: name.clone(), cpu_ns: *cpu }).collect();
        worked.sort_by_key(|neighbour| std::cmp::Reverse(neighbour.cpu_ns));
        worked.truncate(BUSIEST);
        worked
    }
}

/// Whether a look that costs as much as the last one may be taken, that long after it.
fn is_due(since: Nanos, cost: Nanos) -> bool {
    since >= LEAST_BETWEEN.max(Nanos(cost.0.saturating_mul(SELDOM)))
}

/// The CPU time of every process but this one at one instant.
#[derive(Debug, Default)]
struct Snapshot(HashMap<i32, Process>);

#[derive(Clone, Debug)]
struct Process {
    name: String,
    parent: i32,
    /// In clock ticks since boot: tells it from a later one of the same number.
    started: u64,
    /// Its own CPU time.
    own: Nanos,
    /// CPU time of its children that ended and that it waited for, with theirs.
    ended: Nanos,
}

impl Snapshot {
    fn take() -> Self {
        let tick = Nanos(1_000_000_000 / procfs::ticks_per_second().max(1));
        let ours = std::process::id();
        let stats =
            procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|p| p.stat().ok());
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
        // What we waited for is the command and our hooks.
        Self(stats.filter(|stat| stat.pid.cast_unsigned() != ours).map(process).collect())
    }

    /// What each name worked since `earlier`: processes of that name that are there now, and below them those that came
    /// to their end meanwhile.
    fn worked_since(&self, earlier: &Self) -> BTreeMap<String, Nanos> {
        let counted = self.counted_of_ended(earlier);
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

    /// What was counted at `earlier` already of processes that have ended since, by the living one that waited for them.
    fn counted_of_ended(&self, earlier: &Self) -> HashMap<i32, Nanos> {
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

    /// A process: its number, name, parent, when it started, its own time and that of its children in milliseconds.
    type Row = (i32, &'static str, i32, u64, u64, u64);

    fn snapshot(rows: &[Row]) -> Snapshot {
        let process = |&(pid, name, parent, started, own, ended): &Row| {
            let [own, ended] = [own, ended].map(Nanos::from_millis);
            (pid, Process { name: name.to_owned(), parent, started, own, ended })
        };
        Snapshot(rows.iter().map(process).collect())
    }

    fn worked(before: &[Row], after: &[Row]) -> Vec<(String, u64)> {
        let worked = snapshot(after).worked_since(&snapshot(before));
        let some = worked.into_iter().filter(|(_, time)| *time > Nanos::ZERO);
        some.map(|(name, time)| (name, time.0 / 1_000_000)).collect()
    }

    fn named(name: &str, ms: u64) -> (String, u64) {
        (name.to_owned(), ms)
    }

    #[test]
    fn work_before_the_first_look_and_of_a_number_s_former_owner_counts_for_nobody() {
        let before = [(1, "a", 0, 5, 100, 0), (2, "b", 0, 6, 900, 0)];
        let after = [(1, "a", 0, 5, 400, 0), (2, "c", 0, 9, 70, 0)];
        assert_eq!(worked(&before, &after), [named("a", 300), named("c", 70)]);
    }

    #[test]
    fn processes_of_one_name_are_one_neighbour() {
        let after = [(1, "rustc", 9, 5, 400, 0), (2, "rustc", 9, 9, 70, 0)];
        assert_eq!(worked(&[], &after), [named("rustc", 470)]);
    }

    #[test]
    fn compilers_that_came_and_went_count_for_the_one_that_waited_for_them() {
        // 2.48 s of compilers between the two looks, beside a kernel thread that did next to nothing.
        let before = [(1, "make", 0, 5, 10, 0), (2, "kdamond.0", 0, 6, 0, 0)];
        let after = [(1, "make", 0, 5, 20, 2_480), (2, "kdamond.0", 0, 6, 10, 0)];
        assert_eq!(worked(&before, &after), [named("kdamond.0", 10), named("make", 2_490)]);
    }

    #[test]
    fn what_was_counted_of_a_living_child_is_not_counted_again_when_it_has_ended() {
        // A driver and the compiler below it were seen with 300 ms and 50 ms of their own and ended with 700 ms and 60 ms.
        let before = [(1, "make", 0, 5, 10, 0), (2, "cc", 1, 7, 50, 0), (3, "cc1", 2, 8, 300, 0)];
        let after = [(1, "make", 0, 5, 10, 760)];
        assert_eq!(worked(&before, &after), [named("make", 410)]);
    }

    #[test]
    fn looks_cost_a_hundredth_of_the_time_at_most() {
        let due = |since, cost| is_due(Nanos::from_millis(since), Nanos::from_millis(cost));
        assert_eq!([due(999, 1), due(1_000, 1), due(1_999, 20), due(2_000, 20)], [false, true, false, true]);
    }

    #[test]
    fn the_busiest_come_first_and_the_idle_not_at_all() {
        let mut neighbours = Neighbours::watch();
        for (name, ms) in [("b", 60), ("a", 700), ("c", 49)] {
            neighbours.worked.insert(name.to_owned(), Nanos::from_millis(ms));
        }
        let names: Vec<String> = neighbours.busiest().into_iter().map(|n| n.name).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
