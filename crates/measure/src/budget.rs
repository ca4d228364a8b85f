//! What runs take, and which of them the time for a study allows.
//!
//! Pure: the clock is the caller's, and nothing is measured or ended here.

use std::collections::BTreeMap;

use morecores_study::{Nanos, Phase, Point, Run};

use crate::executor::Trial;

/// Factor by which a traced run is taken to last longer: one that is slower than this is measured as disturbed
/// (docs/methods/explain.md, "Tracing cost": 1% to 10% on programs with hundreds of thousands of events
/// a second).
const TRACED: f64 = 1.2;

/// What runs took, by CPU count: each from the start of its preparation to the end of its accounting.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    taken: BTreeMap<u32, Taken>,
}

#[derive(Clone, Debug, Default)]
struct Taken {
    warmup: Option<Nanos>,
    timed: Vec<Nanos>,
}

impl Costs {
    /// Times of runs of an earlier session that count, as far as their records tell: without `--prepare`.
    pub fn of_runs<'r>(counted: impl IntoIterator<Item = &'r Run>) -> Self {
        let mut costs = Self::default();
        for run in counted {
            costs.add(run.phase, run.cpus, run.elapsed_ns);
        }
        costs
    }

    /// Adds a run that took so long. A traced one tells nothing of the others.
    pub fn add(&mut self, phase: Phase, cpus: u32, took: Nanos) {
        let taken = self.taken.entry(cpus).or_default();
        match phase {
            Phase::Warmup => taken.warmup = Some(took),
            Phase::Timed => taken.timed.push(took),
            Phase::Traced => {}
        }
    }

    /// Expected time of a run at a CPU count: the median of the timed ones, else what its warm-up took, else the time at
    /// the nearest count as if the command scaled ideally. None before the first run.
    pub fn run(&self, cpus: u32) -> Option<Nanos> {
        let known = |cpus: &u32| self.taken.get(cpus).and_then(Taken::usual);
        known(&cpus).or_else(|| {
            let nearest = self.taken.keys().filter(|other| known(other).is_some());
            let nearest = *nearest.min_by_key(|other| other.abs_diff(cpus))?;
            let seconds = known(&nearest)?.as_secs_f64() * f64::from(nearest) / f64::from(cpus.max(1));
            Some(Nanos::from_secs_f64(seconds))
        })
    }

    /// Expected time of one run of each point. None before the first run.
    pub fn runs<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Option<Nanos> {
        points.into_iter().map(|point| self.run(point.cpus)).sum()
    }

    /// Expected time of one traced run of each point.
    pub fn traced_runs<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Option<Nanos> {
        self.runs(points).map(|time| Nanos::from_secs_f64(time.as_secs_f64() * TRACED))
    }
}

impl Taken {
    fn usual(&self) -> Option<Nanos> {
        let mut timed = self.timed.clone();
        timed.sort_unstable();
        timed.get(timed.len() / 2).copied().or(self.warmup)
    }
}

/// The time for a study, and what of it is used.
///
/// What does not end in time is not begun, in this order of importance: one timed run of each CPU count, their traces,
/// further rounds, warm-up runs. A run of which nothing is known yet is begun.
#[derive(Clone, Debug)]
pub struct Budget {
    began: Nanos,
    limit: Option<Nanos>,
    costs: Costs,
    /// Points that are to be traced at the end.
    traces: Vec<Point>,
}

impl Budget {
    /// A budget that began at an instant, for a study of which the runs of earlier sessions that count are `done`; `traces`
    /// are still to be made.
    pub fn new<'r>(
        began: Nanos,
        limit: Option<Nanos>,
        done: impl IntoIterator<Item = &'r Run>,
        traces: Vec<Point>,
    ) -> Self {
        Self { began, limit, costs: Costs::of_runs(done), traces }
    }

    /// Notes what a run took.
    pub fn add(&mut self, trial: &Trial, took: Nanos) {
        self.costs.add(trial.phase, trial.point.cpus, took);
        if trial.phase == Phase::Traced {
            self.traces.retain(|point| (point.cpus, point.n) != (trial.point.cpus, trial.point.n));
        }
    }

    /// The whole time, where it is limited.
    pub fn limit(&self) -> Option<Nanos> {
        self.limit
    }

    /// Whether a warm-up run may begin: whether a round of `points` and the traces fit behind it.
    pub fn allows_warmup(&self, now: Nanos, point: &Point, points: &[Point]) -> bool {
        let run = self.costs.run(point.cpus);
        self.allows(now, run.zip(self.round_and_traces(points)).map(|(run, rest)| run + rest))
    }

    /// Whether a run that must be made may begin.
    pub fn allows_run(&self, now: Nanos, point: &Point) -> bool {
        self.allows(now, self.costs.run(point.cpus))
    }

    /// Whether a further run of each of `points` may begin: whether the traces fit behind it.
    pub fn allows_round(&self, now: Nanos, points: &[Point]) -> bool {
        self.allows(now, self.round_and_traces(points))
    }

    /// Whether a traced run may begin.
    pub fn allows_traced_run(&self, now: Nanos, point: &Point) -> bool {
        self.allows(now, self.costs.traced_runs([point]))
    }

    /// Expected time of one run of each of `points` and of the traces that are missing.
    pub fn round_and_traces(&self, points: &[Point]) -> Option<Nanos> {
        Some(self.costs.runs(points)? + self.costs.traced_runs(&self.traces)?)
    }

    fn allows(&self, now: Nanos, work: Option<Nanos>) -> bool {
        self.limit.is_none_or(|limit| now.since(self.began) + work.unwrap_or(Nanos(1)) <= limit)
    }
}
