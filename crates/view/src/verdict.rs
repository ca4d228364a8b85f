//! Decision of a study's answer: yes, no or unknown.
//!
//! Pure: the answer follows from the intervals of the speedups and from the choices below. No words
//! here; `report` words the answer.

mod validity;

use morecores_statistics::{Design, Interval, MIN_RUNS, rounds_until_apart, worthwhile_speedup};
use morecores_study::{MOST_TAKEN, StopReason};

use crate::{Answer, PointView, Reason, Verdict, View, Warning};

pub use validity::{
    OutsideTime, OversubscribedBase, invalid_baseline, oversubscribed_base, time_outside_cpus,
};

/// Smallest share of a CPU that an added CPU must bring to be worth it, unless the user gives
/// another: 1.25 times for two CPUs instead of one. A choice.
pub const DEFAULT_WORTH: f64 = 0.25;

/// Ratio of two speedups above which the smaller one is about as good. A choice.
const AS_GOOD: f64 = 0.95;

/// Larger count with the speedup from which it is worth its CPUs.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    point: &'a PointView,
    /// Growth in CPUs over the smallest count, minus one.
    added: f64,
    bound: f64,
    /// Whether others took too much CPU time at this count or at the smallest one.
    is_disturbed: bool,
}

/// Decides the answer of a view from its points, one for each CPU count, its warnings and its plan.
pub fn verdict(view: &View) -> Verdict {
    let worth = view.plan.worth.unwrap_or(DEFAULT_WORTH);
    let unknown = |reason| Verdict { reason, worth, ..Verdict::default() };
    if view.closing.as_ref().is_some_and(|closing| closing.reason == StopReason::AlreadyDone) {
        return unknown(Reason::AlreadyDone);
    }
    let (base, largest) = match view.points.as_slice() {
        [] => return unknown(Reason::NothingMeasured),
        [base, .., largest] if largest.cpus > base.cpus => (base, largest),
        _ => return unknown(Reason::OneCount),
    };
    if time_outside_cpus(view).is_some() {
        return unknown(Reason::RanOutsideCpus);
    }
    let has_zeros = [base, largest].iter().any(|point| point.deciding_summary().min <= 0.0);
    if largest.speedup.ci95.is_none() && has_zeros {
        return unknown(Reason::ZeroFigures);
    }
    if invalid_baseline(view).is_some() {
        return unknown(Reason::NoBaseline).with_point(largest);
    }
    let candidate = |point| Candidate::new(base, point, worth);
    let candidates: Vec<Candidate<'_>> =
        view.points.iter().filter(|point| point.cpus > base.cpus).map(candidate).collect();
    let undecided = unknown(Reason::default());
    yes(&candidates, undecided)
        .or_else(|| no(view, &candidates, undecided))
        .unwrap_or_else(|| not_told(view, &candidates, undecided))
}

/// Yes, if some count is worth its CPUs.
fn yes(candidates: &[Candidate<'_>], undecided: Verdict) -> Option<Verdict> {
    let is_worth_it = |c: &&Candidate<'_>| !c.is_disturbed && c.low().is_some_and(|low| low >= c.bound);
    let fastest = candidates.iter().filter(is_worth_it).max_by(|a, b| a.speedup().total_cmp(&b.speedup()))?;
    let enough = enough(candidates);
    let shown = enough.unwrap_or(fastest).point;
    let up_to = enough.map(|candidate| candidate.point.cpus);
    let verdict = Verdict { answer: Answer::Yes, reason: Reason::WorthIt, up_to, ..undecided };
    Some(verdict.with_point(shown))
}

/// Smallest count that is about as good as every larger one. None if the intervals do not show it.
fn enough<'c, 'v>(candidates: &'c [Candidate<'v>]) -> Option<&'c Candidate<'v>> {
    let is_enough = |place: usize| {
        let (this, rest) = (&candidates[place], &candidates[place..]);
        let ratio = this.point.ratio_to_larger.and_then(|ratio| ratio.ci95);
        let best = || candidates.iter().all(|other| other.speedup() <= this.speedup());
        let is_as_good = match ratio {
            Some([low, _]) => low > AS_GOOD,
            // The largest count: it is needed as long as no other was faster.
            None => place + 1 == candidates.len() && best() && this.low().is_some_and(|low| low > 1.0),
        };
        is_as_good && !rest.iter().any(|candidate| candidate.is_disturbed)
    };
    (0..candidates.len()).find(|place| is_enough(*place)).map(|place| &candidates[place])
}

/// No, if no count is worth its CPUs.
fn no(view: &View, candidates: &[Candidate<'_>], undecided: Verdict) -> Option<Verdict> {
    let is_not_worth_it = |c: &Candidate<'_>| !c.is_disturbed && c.high().is_some_and(|high| high < c.bound);
    let largest = candidates.last().filter(|_| candidates.iter().all(is_not_worth_it))?;
    let gains = candidates.iter().filter(|c| c.low().is_some_and(|low| low > 1.0));
    let best = gains.max_by(|a, b| a.speedup().total_cmp(&b.speedup()));
    let is_unused =
        |w: &Warning| matches!(w, Warning::ThreadsDidNotFollow { cpus, .. } if *cpus == largest.point.cpus);
    let (reason, shown) = match best {
        Some(best) => (Reason::NotWorthIt, best),
        None if largest.high().is_some_and(|high| high < 1.0) => (Reason::Slower, largest),
        None if view.warnings.iter().any(is_unused) => (Reason::UnusedCpus, largest),
        None => (Reason::NotWorthIt, largest),
    };
    Some(Verdict { answer: Answer::No, reason, ..undecided }.with_point(shown.point))
}

/// Unknown, with the reason and the number of rounds that would tell. The count that is nearest to
/// being worth its CPUs stands for all.
fn not_told(view: &View, candidates: &[Candidate<'_>], undecided: Verdict) -> Verdict {
    let is_open = |c: &&Candidate<'_>| c.is_disturbed || c.high().is_none_or(|high| high >= c.bound);
    let open: Vec<&Candidate<'_>> = candidates.iter().filter(is_open).collect();
    let nearest = open.iter().max_by(|a, b| a.gain_of_a_cpu().total_cmp(&b.gain_of_a_cpu()));
    let Some(shown) = nearest else { return undecided };
    let design = Design::from_stop(&view.plan.stop);
    let rounds = |candidate: &&Candidate<'_>| candidate.rounds_needed(design);
    let (reason, rounds_needed) = if shown.is_disturbed {
        (Reason::CpusTaken, None)
    } else if shown.low().is_none() {
        (Reason::TooFewRuns, Some(MIN_RUNS))
    } else if shown.speedup() > shown.bound {
        let above = open.iter().filter(|c| c.speedup() > c.bound && !c.is_disturbed);
        (Reason::WideInterval, above.filter_map(rounds).min())
    } else {
        // Every open count must be shown to be below its bound.
        let all: Option<Vec<usize>> = open.iter().map(rounds).collect();
        (Reason::WideInterval, all.and_then(|rounds| rounds.into_iter().max()))
    };
    let rounds_needed = rounds_needed.and_then(|rounds| u32::try_from(rounds).ok());
    Verdict { reason, rounds_needed, ..undecided }.with_point(shown.point)
}

impl<'a> Candidate<'a> {
    fn new(base: &PointView, point: &'a PointView, worth: f64) -> Self {
        let added = f64::from(point.cpus) / f64::from(base.cpus) - 1.0;
        let is_disturbed = [base, point].iter().any(|point| point.taken_share() > MOST_TAKEN);
        Self { point, added, bound: worthwhile_speedup(worth, base.cpus, point.cpus), is_disturbed }
    }

    fn speedup(&self) -> f64 {
        self.point.speedup.value
    }

    fn low(&self) -> Option<f64> {
        self.point.speedup.ci95.map(|[low, _]| low)
    }

    fn high(&self) -> Option<f64> {
        self.point.speedup.ci95.map(|[_, high]| high)
    }

    /// Share of itself that each added CPU brings.
    fn gain_of_a_cpu(&self) -> f64 {
        (self.speedup() - 1.0) / self.added
    }

    /// Number of rounds after which the interval no longer contains the bound, if the estimate
    /// stays. None if that takes too many rounds, or if there is no interval.
    fn rounds_needed(&self, design: Design) -> Option<usize> {
        let [lo, hi] = self.point.speedup.ci95?;
        let runs = self.point.runs as usize;
        rounds_until_apart(design, runs, self.speedup(), Interval { lo, hi }, self.bound)
    }
}

impl Verdict {
    fn with_point(self, point: &PointView) -> Self {
        let (cpus, speedup) = (Some(point.cpus), Some(point.speedup.value));
        Self { cpus, speedup, ci95: point.speedup.ci95, ..self }
    }
}
