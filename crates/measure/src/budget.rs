//! Durations of runs, and the runs that the time for a study allows.
//!
//! The module is pure: the caller reads the clock, and nothing is measured or ended here.

use std::collections::BTreeMap;

use morecores_study::{Nanos, Phase, Point, Run};

use crate::executor::Trial;

/// Assumed factor by which a traced run takes longer. A slower traced run is regarded as disturbed
/// (docs/methods/explain.md, "Tracing cost": 1% to 10% on programs with hundreds of thousands of
/// events a second).
const TRACED: f64 = 1.2;

/// Durations of runs by CPU count, each from the start of its preparation to the end of its
/// accounting.
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
    /// Durations of the counted runs of an earlier session, as far as their records show them:
    /// without `--prepare`.
    pub fn of_runs<'r>(counted: impl IntoIterator<Item = &'r Run>) -> Self {
        let mut costs = Self::default();
        for run in counted {
            costs.add(run.phase, run.cpus, run.elapsed_ns);
        }
        costs
    }

    /// Adds a run and its duration. A traced run says nothing about the other runs.
    pub fn add(&mut self, phase: Phase, cpus: u32, took: Nanos) {
        let taken = self.taken.entry(cpus).or_default();
        match phase {
            Phase::Warmup => taken.warmup = Some(took),
            Phase::Timed => taken.timed.push(took),
            Phase::Traced => {}
        }
    }

    /// Expected duration of a run at a CPU count: the median of the timed runs; else the duration
    /// of the warm-up run; else the duration at the nearest count, under the assumption of ideal
    /// scaling. `None` before the first run.
    pub fn run(&self, cpus: u32) -> Option<Nanos> {
        let known = |cpus: &u32| self.taken.get(cpus).and_then(Taken::usual);
        known(&cpus).or_else(|| {
            let nearest = self.taken.keys().filter(|other| known(other).is_some());
            let nearest = *nearest.min_by_key(|other| other.abs_diff(cpus))?;
            let seconds = known(&nearest)?.as_secs_f64() * f64::from(nearest) / f64::from(cpus.max(1));
            Some(Nanos::from_secs_f64(seconds))
        })
    }

    /// Expected total duration of one run of each point. `None` before the first run.
    pub fn runs<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Option<Nanos> {
        points.into_iter().map(|point| self.run(point.cpus)).sum()
    }

    /// Expected total duration of one traced run of each point.
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

/// Time budget of a study, and the time used so far.
///
/// A run that would not end in time is not started. The order of importance is: one timed run of
/// each CPU count, their traces, further rounds, warm-up runs. A run of unknown duration is
/// started.
#[derive(Clone, Debug)]
pub struct Budget {
    began: Nanos,
    limit: Option<Nanos>,
    costs: Costs,
    /// Points that are still to be traced at the end.
    traces: Vec<Point>,
}

impl Budget {
    /// Creates a budget that starts at `began`. `done` are the counted runs of earlier sessions of
    /// the study; `traces` are still to be made.
    pub fn new<'r>(
        began: Nanos,
        limit: Option<Nanos>,
        done: impl IntoIterator<Item = &'r Run>,
        traces: Vec<Point>,
    ) -> Self {
        Self { began, limit, costs: Costs::of_runs(done), traces }
    }

    /// Notes the duration of a run.
    pub fn add(&mut self, trial: &Trial, took: Nanos) {
        self.costs.add(trial.phase, trial.point.cpus, took);
        if trial.phase == Phase::Traced {
            self.traces.retain(|point| (point.cpus, point.n) != (trial.point.cpus, trial.point.n));
        }
    }

    /// Time limit for the whole study, if any.
    pub fn limit(&self) -> Option<Nanos> {
        self.limit
    }

    /// Whether a warm-up run may begin: a round of `points` and the traces must fit after it.
    pub fn allows_warmup(&self, now: Nanos, point: &Point, points: &[Point]) -> bool {
        let run = self.costs.run(point.cpus);
        self.allows(now, run.zip(self.round_and_traces(points)).map(|(run, rest)| run + rest))
    }

    /// Whether a mandatory run may begin.
    pub fn allows_run(&self, now: Nanos, point: &Point) -> bool {
        self.allows(now, self.costs.run(point.cpus))
    }

    /// Whether a further run of each of `points` may begin: the traces must fit after it.
    pub fn allows_round(&self, now: Nanos, points: &[Point]) -> bool {
        self.allows(now, self.round_and_traces(points))
    }

    /// Whether a traced run may begin.
    pub fn allows_traced_run(&self, now: Nanos, point: &Point) -> bool {
        self.allows(now, self.costs.traced_runs([point]))
    }

    /// Expected duration of one run of each of `points` and of the missing traces.
    pub fn round_and_traces(&self, points: &[Point]) -> Option<Nanos> {
        Some(self.costs.runs(points)? + self.costs.traced_runs(&self.traces)?)
    }

    fn allows(&self, now: Nanos, work: Option<Nanos>) -> bool {
        self.limit.is_none_or(|limit| now.since(self.began) + work.unwrap_or(Nanos(1)) <= limit)
    }
}
