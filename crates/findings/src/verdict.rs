//! Reason of the failures, of those for which a program fails on more CPUs; unknown if an
//! observation is missing. Pure.

use std::collections::BTreeMap;

use morecores_statistics::Interval;
use serde::{Deserialize, Serialize};

use crate::schedule::{Schedule, Tally};

/// Conclusion of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No run failed. That is a bound of the rate, never a proof.
    NoFailure,
    /// It fails on one CPU when another thread runs at the wrong moment: it is not thread-safe, and
    /// fails there only less often.
    NotThreadSafe,
    /// It fails on several CPUs if another thread runs inside an update without LOCK, which one CPU
    /// makes atomic. Emulation shows that this is possible.
    UnlockedUpdate,
    /// It fails if two threads continue at the same time, and under no hold: a CPU makes its writes
    /// visible to another one later than to itself, and the program has no fence against it.
    MemoryOrder,
    /// It fails on several CPUs and not on one, where threads of a real-time priority kept the CPU
    /// while they were held: the program relies on a priority to keep other threads from running.
    Priority,
    /// It fails on several CPUs and not on one. The reason is not known.
    OnlyOnSeveralCpus,
    /// One run failed, and none of the later ones.
    NotRepeated,
    /// It fails on several CPUs. The runs on one CPU are too few to tell whether it fails there.
    Unknown,
}

/// Whether threads of a real-time priority were held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// A thread of a real-time priority was held.
    RealTime,
    /// No such thread was held.
    Ordinary,
}

/// Factor between the rates under splits and under holds at the same sites from which on the holds
/// are no reason.
const DOMINANCE: f64 = 4.0;

/// Runs and failures under each schedule, on which a verdict rests.
#[derive(Clone, Copy, Debug)]
pub struct Observations<'a> {
    /// All runs.
    pub all: &'a BTreeMap<Schedule, Tally>,
    /// Those with holds at the sites of the first failure alone. Their rates are comparable.
    pub focused: &'a BTreeMap<Schedule, Tally>,
    /// Priorities of the held threads.
    pub priorities: Priorities,
    /// Whether rendezvous at a plain store made the program fail. Only its order with later reads
    /// differs between one CPU and several.
    pub fails_at_store: bool,
}

impl Observations<'_> {
    fn failed(&self, schedule: Schedule) -> u64 {
        self.all.get(&schedule).map_or(0, Tally::failed)
    }

    /// Rate under the same holds where there are holds.
    fn rate(&self, schedule: Schedule) -> Option<Interval> {
        let tallies = if schedule.has_holds() { self.focused } else { self.all };
        tallies.get(&schedule).map(Tally::rate)
    }

    fn is_below(&self, one: Schedule, other: Schedule) -> bool {
        self.rate(one).zip(self.rate(other)).is_some_and(|(one, other)| one.hi < other.lo)
    }

    /// Whether the program fails more often under a schedule than under any holds.
    fn is_above_holds(&self, schedule: Schedule) -> bool {
        self.is_below(Schedule::OneCpuHolds, schedule) && self.is_below(Schedule::CpusHolds, schedule)
    }

    /// Whether splits make the program fail, and not the time that they take: holds have no effect,
    /// or a small one, because they let threads run at the same time.
    fn is_by_splits(&self) -> bool {
        let rates = self.rate(Schedule::CpusSplits).zip(self.rate(Schedule::CpusHolds));
        let dominate = rates.is_some_and(|(splits, holds)| splits.lo > DOMINANCE * holds.hi);
        self.is_above_holds(Schedule::CpusSplits) && (dominate || !self.holds_raise_the_rate())
    }

    /// Whether rendezvous at a store make the program fail, and holds have no effect: these, too,
    /// change nothing but the time.
    fn is_by_rendezvous(&self) -> bool {
        self.fails_at_store && self.is_above_holds(Schedule::CpusTogether) && !self.holds_raise_the_rate()
    }

    /// Whether the program fails more often under holds on several CPUs than by itself there. One
    /// failure counts if it never fails by itself: holds that seldom find a fault find it.
    fn holds_raise_the_rate(&self) -> bool {
        let (holds, alone) = (Schedule::CpusHolds, Schedule::Cpus);
        if self.failed(alone) == 0 { self.failed(holds) > 0 } else { self.is_below(alone, holds) }
    }
}

/// Concludes from the failures under each schedule.
pub fn verdict(observations: &Observations<'_>) -> Verdict {
    let failed = |schedule| observations.failed(schedule);
    if Schedule::ALL.into_iter().all(|schedule| failed(schedule) == 0) {
        return Verdict::NoFailure;
    }
    if failed(Schedule::OneCpu) + failed(Schedule::OneCpuHolds) > 0 {
        return Verdict::NotThreadSafe;
    }
    if observations.is_by_splits() {
        return Verdict::UnlockedUpdate;
    }
    // Two updates without LOCK at the same time are lost, too.
    if failed(Schedule::CpusSplits) == 0 && observations.is_by_rendezvous() {
        return Verdict::MemoryOrder;
    }
    let fails_by_holds = observations.holds_raise_the_rate();
    let (one, several) = if fails_by_holds {
        (Schedule::OneCpuHolds, Schedule::CpusHolds)
    } else {
        (Schedule::OneCpu, Schedule::Cpus)
    };
    match observations.priorities {
        _ if !observations.is_below(one, several) => Verdict::Unknown,
        Priorities::RealTime if fails_by_holds => Verdict::Priority,
        _ => Verdict::OnlyOnSeveralCpus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    fn verdict(tallies: &BTreeMap<Schedule, Tally>) -> Verdict {
        with_priorities(tallies, Priorities::Ordinary)
    }

    fn with_priorities(tallies: &BTreeMap<Schedule, Tally>, priorities: Priorities) -> Verdict {
        let fails_at_store = true;
        super::verdict(&Observations { all: tallies, focused: tallies, priorities, fails_at_store })
    }

    fn tallies(counts: [(u64, u64); 6]) -> BTreeMap<Schedule, Tally> {
        let tally = |(failed, runs)| {
            let failures =
                if failed > 0 { BTreeMap::from([(Failure::Deadlock, failed)]) } else { BTreeMap::new() };
            Tally { runs, failures }
        };
        Schedule::ALL.into_iter().zip(counts.map(tally)).collect()
    }

    #[test]
    fn no_failure_is_no_proof() {
        assert_eq!(verdict(&tallies([(0, 500); 6])), Verdict::NoFailure);
        assert_eq!(verdict(&BTreeMap::new()), Verdict::NoFailure);
    }

    #[test]
    fn a_failure_on_one_cpu_tells_the_reason() {
        assert_eq!(
            verdict(&tallies([(0, 50), (3, 50), (0, 50), (9, 50), (0, 50), (0, 50)])),
            Verdict::NotThreadSafe
        );
        assert_eq!(
            verdict(&tallies([(1, 50), (0, 50), (0, 50), (9, 50), (0, 50), (0, 50)])),
            Verdict::NotThreadSafe
        );
    }

    #[test]
    fn only_a_split_shows_an_unlocked_update() {
        let shown = [(0, 200), (0, 200), (0, 200), (0, 200), (60, 200), (0, 200)];
        assert_eq!(verdict(&tallies(shown)), Verdict::UnlockedUpdate);
        assert_eq!(
            verdict(&tallies([(0, 200), (1, 200), (0, 200), (0, 200), (60, 200), (0, 200)])),
            Verdict::NotThreadSafe
        );
        // A hold lets threads run at the same time, and one update of many is lost.
        assert_eq!(
            verdict(&tallies([(0, 167), (0, 147), (0, 167), (1, 146), (163, 165), (26, 167)])),
            Verdict::UnlockedUpdate
        );
        // Without runs on one CPU, or with holds that do the same, the reason is another.
        assert_eq!(
            verdict(&tallies([(0, 200), (0, 0), (0, 200), (0, 200), (60, 200), (0, 200)])),
            Verdict::Unknown
        );
        let held_too = [(0, 200), (0, 200), (0, 200), (60, 200), (60, 200), (0, 200)];
        assert_eq!(verdict(&tallies(held_too)), Verdict::OnlyOnSeveralCpus);
    }

    #[test]
    fn only_a_rendezvous_shows_the_order_of_memory() {
        let shown = [(0, 200), (0, 200), (0, 200), (0, 200), (0, 200), (60, 200)];
        assert_eq!(verdict(&tallies(shown)), Verdict::MemoryOrder);
        let tallies_shown = tallies(shown);
        let (all, focused, priorities) = (&tallies_shown, &tallies_shown, Priorities::Ordinary);
        let elsewhere = Observations { all, focused, priorities, fails_at_store: false };
        assert_eq!(super::verdict(&elsewhere), Verdict::Unknown);
        // An update without LOCK is lost at a rendezvous, too.
        let shown = [(0, 200), (0, 200), (0, 200), (0, 200), (60, 200), (60, 200)];
        assert_eq!(verdict(&tallies(shown)), Verdict::UnlockedUpdate);
    }

    /// Holds that seldom find a fault must not pass for holds that never do.
    #[test]
    fn a_failure_by_holds_is_none_by_rendezvous_alone() {
        let shown = [(0, 200), (0, 200), (0, 200), (3, 200), (0, 200), (90, 200)];
        assert_eq!(verdict(&tallies(shown)), Verdict::Unknown);
        let by_itself = [(0, 200), (0, 200), (15, 200), (19, 200), (0, 200), (120, 200)];
        assert_eq!(verdict(&tallies(by_itself)), Verdict::MemoryOrder);
    }

    /// At its sites a fault fails often, and elsewhere seldom.
    #[test]
    fn rates_are_compared_at_the_same_sites() {
        let all = tallies([(0, 200), (0, 90), (0, 200), (28, 90), (0, 0), (0, 0)]);
        let focused = tallies([(0, 0), (0, 30), (0, 0), (28, 30), (0, 0), (0, 0)]);
        let priorities = Priorities::RealTime;
        let observations = Observations { all: &all, focused: &focused, priorities, fails_at_store: false };
        assert_eq!(super::verdict(&observations), Verdict::Priority);
    }

    #[test]
    fn a_priority_excludes_on_one_cpu_alone() {
        let shown = tallies([(0, 200), (0, 200), (0, 200), (60, 200), (0, 0), (0, 200)]);
        assert_eq!(with_priorities(&shown, Priorities::RealTime), Verdict::Priority);
        assert_eq!(with_priorities(&shown, Priorities::Ordinary), Verdict::OnlyOnSeveralCpus);
        let few = tallies([(0, 200), (0, 2), (0, 200), (60, 200), (0, 0), (0, 200)]);
        assert_eq!(with_priorities(&few, Priorities::RealTime), Verdict::Unknown);
    }

    /// 0 of 200 against 6 of 200 proves nothing; against 60 of 200 it does.
    #[test]
    fn one_cpu_is_acquitted_by_enough_runs_alone() {
        assert_eq!(
            verdict(&tallies([(0, 200), (0, 200), (0, 200), (6, 200), (0, 50), (0, 50)])),
            Verdict::Unknown
        );
        assert_eq!(
            verdict(&tallies([(0, 200), (0, 200), (0, 200), (60, 200), (0, 50), (0, 50)])),
            Verdict::OnlyOnSeveralCpus
        );
        // Without a run in which another thread ran inside a hold, one CPU is not known.
        assert_eq!(
            verdict(&tallies([(0, 900), (0, 0), (0, 200), (60, 200), (0, 50), (0, 50)])),
            Verdict::Unknown
        );
    }
}
