//! Cells of a study of locks, by their measurement and round.
//!
//! This module gives access and medians. The modules that compute a figure explain its meaning.

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::Nanos;
use morecores_study::lock::{ContentionSample, LockCell, LockName, LockPlan, LockRun, LockSample, LockStudy};
use morecores_view::{Estimate, Measurement, median_estimate};

use super::points::busy_cpus;
use morecores_statistics::Design;
use morecores_statistics::median;

/// Point of contention: number of threads, hold and think, both in nanoseconds.
pub(super) type ContentionPoint = (u32, u64, u64);

/// Cells of a study.
pub(super) struct Cells<'a> {
    pub(super) plan: &'a LockPlan,
    by_cell: BTreeMap<LockCell, BTreeMap<u32, &'a LockRun>>,
}

impl<'a> Cells<'a> {
    /// Collects the cells of `study`. A resumed study may hold a cell twice in a round; the last
    /// one counts.
    pub(super) fn from_study(study: &'a LockStudy) -> Self {
        let mut by_cell: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for run in &study.runs {
            by_cell.entry(run.cell).or_default().insert(run.round, run);
        }
        Self { plan: &study.header.plan, by_cell }
    }

    /// Returns the measured runs.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'a LockRun> + '_ {
        self.by_cell.values().flat_map(BTreeMap::values).copied()
    }

    /// Returns the number of CPUs of the plan.
    pub(super) fn cpus(&self) -> u32 {
        u32::try_from(self.plan.cpus.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of rounds with at least one cell.
    pub(super) fn rounds(&self) -> u32 {
        let rounds: BTreeSet<u32> = self.by_cell.values().flat_map(|rounds| rounds.keys().copied()).collect();
        rounds.len() as u32
    }

    /// Returns whether every planned cell was measured.
    pub(super) fn are_complete(&self) -> bool {
        let is_there =
            |round: u32, cell: &LockCell| self.by_cell.get(cell).is_some_and(|at| at.contains_key(&round));
        let experiment = self.plan.experiment();
        (0..self.plan.rounds)
            .all(|round| experiment.cells_of_round(round).into_iter().all(|cell| is_there(round, cell)))
    }

    /// Returns the share of the CPUs' time that the hypervisor took during the measurements of
    /// contention; none if it does not tell.
    pub(super) fn steal(&self) -> Option<f64> {
        let (mut stolen, mut whole) = (0.0, 0.0);
        for run in self.runs() {
            if let (LockSample::Contention(contention), Some(steal)) = (&run.sample, run.steal_ns) {
                stolen += steal.as_secs_f64();
                whole += contention.window_ns.as_secs_f64() * f64::from(self.cpus());
            }
        }
        (whole > 0.0).then(|| stolen / whole)
    }

    /// Returns the points of the plan, sorted by threads, then hold, then think.
    pub(super) fn points(&self) -> Vec<ContentionPoint> {
        let points = self.plan.points().into_iter().map(|(threads, hold, think)| (threads, hold.0, think.0));
        let points: BTreeSet<ContentionPoint> = points.collect();
        points.into_iter().collect()
    }

    /// Returns the value of `figure` for each round of `cell`.
    pub(super) fn values(&self, cell: LockCell, figure: impl Fn(&LockSample) -> Option<f64>) -> Rounds {
        let rounds = self.by_cell.get(&cell).into_iter().flatten();
        Rounds(
            rounds
                .filter_map(|(round, run)| Some((*round, figure(&run.sample).filter(|v| v.is_finite())?)))
                .collect(),
        )
    }

    /// Returns the times of single operations in nanoseconds.
    pub(super) fn times(&self, cell: LockCell) -> Rounds {
        self.values(cell, |sample| match sample {
            LockSample::Time { ns } => Some(*ns),
            _ => None,
        })
    }

    /// Returns the value of `figure` for each round of the contention for `lock` at a point, from
    /// the measurements that time no waits.
    pub(super) fn contention(
        &self,
        lock: LockName,
        at: ContentionPoint,
        figure: impl Fn(&ContentionSample) -> Option<f64>,
    ) -> Rounds {
        self.contention_values(contention_cell(lock, at, false), figure)
    }

    /// Returns the value of `figure` for each round of a cell of contention.
    fn contention_values(&self, cell: LockCell, figure: impl Fn(&ContentionSample) -> Option<f64>) -> Rounds {
        self.values(cell, |sample| match sample {
            LockSample::Contention(contention) => figure(contention),
            _ => None,
        })
    }

    /// Returns the holds per second of all threads together.
    pub(super) fn rates(&self, lock: LockName, at: ContentionPoint) -> Rounds {
        self.contention(lock, at, |contention| Some(contention.rate()))
    }

    /// Returns the longest wait of any thread that waits for `lock` at a point while every wait
    /// is timed, in nanoseconds.
    pub(super) fn longest_wait(&self, lock: LockName, at: ContentionPoint) -> Option<u64> {
        let longest = self.contention_values(contention_cell(lock, at, true), longest_wait);
        longest.0.into_values().reduce(f64::max).map(|ns| ns as u64)
    }
}

fn contention_cell(lock: LockName, (threads, hold, think): ContentionPoint, watched: bool) -> LockCell {
    LockCell::Contention { lock, threads, hold_ns: Nanos(hold), think_ns: Nanos(think), watched }
}

/// Returns the longest wait of any thread in nanoseconds; none if no wait was timed.
fn longest_wait(contention: &ContentionSample) -> Option<f64> {
    contention.longest_waits_ns.as_ref()?.iter().map(|wait| wait.0 as f64).reduce(f64::max)
}

/// Returns the figures of a run for the list of cells. Timing every wait slows the lock down, so
/// that such a run has the longest wait in place of the rate.
pub(super) fn measurements(run: &LockRun) -> Vec<Measurement<'static>> {
    let measurement = |name, unit, value| Measurement { name, unit: Some(unit), value };
    match &run.sample {
        LockSample::Time { ns } => vec![measurement("time", "ns", *ns)],
        LockSample::Contention(contention) if is_watched(run.cell) => {
            longest_wait(contention).map(|ns| measurement("longest_wait", "ns", ns)).into_iter().collect()
        }
        LockSample::Contention(contention) => vec![
            measurement("holds", "1/s", contention.rate()),
            measurement("busy_cpus", "CPUs", busy_cpus(contention)),
        ],
        LockSample::Preempted { waited_ns, burned_ns, waits } => vec![
            measurement("wait", "ns", waited_ns.0 as f64 / *waits as f64),
            measurement("burned", "CPUs", burned_ns.0 as f64 / waited_ns.0 as f64),
        ],
    }
}

/// Returns whether every wait in this cell is timed.
fn is_watched(cell: LockCell) -> bool {
    matches!(cell, LockCell::Contention { watched: true, .. })
}

/// Values by round, for the rounds that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rounds(pub(super) BTreeMap<u32, f64>);

impl Rounds {
    fn values(&self) -> Vec<f64> {
        self.0.values().copied().collect()
    }

    /// Returns the median over rounds.
    pub(super) fn median(&self) -> Option<f64> {
        median(&self.values())
    }

    /// Returns the median over rounds with its interval; none without a round.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        median_estimate(&self.values(), Design::Fixed)
    }

    /// Returns the ratio in each round that both have. A round in which `below` is zero has no
    /// ratio.
    pub(super) fn ratio_to(&self, below: &Self) -> Self {
        self.combine(below, |a, b| (b > 0.0).then(|| a / b))
    }

    /// Combines the two values of each round that both have.
    fn combine(&self, other: &Self, combine: impl Fn(f64, f64) -> Option<f64>) -> Self {
        let pairs = self.0.iter().filter_map(|(round, a)| Some((*round, combine(*a, *other.0.get(round)?)?)));
        Self(pairs.collect())
    }

    /// Returns the geometric mean in each round that all of `all` have.
    pub(super) fn geometric_mean(all: &[Self]) -> Self {
        let Some((first, rest)) = all.split_first() else { return Self::default() };
        let logarithms = |rounds: &Self| Self(rounds.0.iter().map(|(r, v)| (*r, v.ln())).collect());
        let sum = rest
            .iter()
            .fold(logarithms(first), |sum, next| sum.combine(&logarithms(next), |a, b| Some(a + b)));
        Self(sum.0.into_iter().map(|(round, sum)| (round, (sum / all.len() as f64).exp())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[(u32, f64)]) -> Rounds {
        Rounds(values.iter().copied().collect())
    }

    #[test]
    fn pairs_are_of_the_same_round() {
        let (a, b) = (rounds(&[(0, 2.0), (1, 9.0), (3, 4.0)]), rounds(&[(0, 1.0), (2, 5.0), (3, 8.0)]));
        assert_eq!(a.ratio_to(&b), rounds(&[(0, 2.0), (3, 0.5)]));
        assert_eq!(a.ratio_to(&rounds(&[(0, 0.0)])), Rounds::default());
    }

    #[test]
    fn geometric_means_use_rounds_common_to_all() {
        let all = [rounds(&[(0, 2.0), (1, 3.0)]), rounds(&[(0, 8.0)])];
        let mean = Rounds::geometric_mean(&all);
        assert_eq!(mean.0.len(), 1);
        assert!((mean.0[&0] - 4.0).abs() < 1e-12);
        assert_eq!(Rounds::geometric_mean(&[]), Rounds::default());
        // A lock without a single hold has a share of zero, not a missing share.
        assert_eq!(Rounds::geometric_mean(&[rounds(&[(0, 0.0)]), rounds(&[(0, 8.0)])]), rounds(&[(0, 0.0)]));
    }

    #[test]
    fn six_rounds_have_an_interval_and_five_do_not() {
        let estimate = |n: u32| rounds(&(0..n).map(|i| (i, f64::from(i))).collect::<Vec<_>>()).estimate();
        assert_eq!(estimate(0), None);
        assert_eq!(estimate(5), Some(Estimate { value: 2.0, ci95: None }));
        assert_eq!(estimate(6), Some(Estimate { value: 2.5, ci95: Some([0.0, 5.0]) }));
    }
}
