//! Loop over rounds: orders runs, passes each to the keeper, and stops when enough is known.
//!
//! The loop knows neither processes nor files nor statistics. All three are passed in, so that
//! tests of the loop need none of them. The loop continues after the runs that were already made.

use morecores_study::{Nanos, Phase, Plan, Point, Run, StopReason};

use crate::budget::Budget;
use crate::done_once::done_once;
use crate::executor::{ExecuteError, Executor, Outcome, Trial};
use crate::schedule::{Stream, round_order};

/// Rule that decides whether the samples suffice. The argument holds the values of the successful
/// timed runs for each point of the plan, in the order of the runs.
pub type Enough<'a> = dyn FnMut(&[Vec<f64>]) -> bool + 'a;

/// Receives each run when it ends.
pub trait Keeper {
    /// Error of keeping a run.
    type Error;

    /// Notes the start of a run.
    fn begins(&mut self, trial: &Trial);

    /// Keeps a run that has ended, before the next one begins.
    ///
    /// # Errors
    /// The run cannot be kept; the sweep ends.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), Self::Error>;
}

/// Clock, and requests to stop.
pub trait Pulse {
    /// Reads the monotonic clock.
    fn now(&self) -> Nanos;

    /// Whether the user asked to stop.
    fn is_interrupted(&self) -> bool;

    /// Whether the time for all runs is used up, so that the run in progress was ended.
    fn is_out_of_time(&self) -> bool {
        false
    }
}

/// Reason for which a sweep could not continue.
#[derive(Debug)]
pub enum SweepError<K> {
    /// A run could not be made.
    Execute(ExecuteError),
    /// A run could not be kept.
    Keep(K),
}

/// End of a sweep.
#[derive(Debug)]
pub struct Finish {
    /// Reason for the end.
    pub reason: StopReason,
    /// Failed run, if one ended the sweep.
    pub failed: Option<Outcome>,
}

/// Value that a sweep is about: the metric if there is one, otherwise the elapsed time in seconds.
pub fn value_of(run: &Run) -> f64 {
    run.metric.unwrap_or_else(|| run.elapsed_ns.as_secs_f64())
}

/// Makes the runs of `plan` that are not among `done`, as far as `budget` allows. The budget learns
/// the durations of the runs.
///
/// # Errors
/// [`SweepError`]; all earlier runs were kept.
pub fn sweep<K: Keeper>(
    plan: &Plan,
    done: &[Run],
    executor: &mut dyn Executor,
    keeper: &mut K,
    enough: &mut Enough<'_>,
    budget: &mut Budget,
    pulse: &dyn Pulse,
) -> Result<Finish, SweepError<K::Error>> {
    let early = early(plan, done).cloned().collect();
    Sweep { plan, executor, keeper, pulse, next: done.len() as u32, budget, early }.go(done, enough)
}

struct Sweep<'a, K> {
    plan: &'a Plan,
    executor: &'a mut dyn Executor,
    keeper: &'a mut K,
    pulse: &'a dyn Pulse,
    /// Index of the next run.
    next: u32,
    budget: &'a mut Budget,
    /// Successful runs up to and including the first timed round.
    early: Vec<Run>,
}

impl<K: Keeper> Sweep<'_, K> {
    fn go(mut self, done: &[Run], enough: &mut Enough<'_>) -> Result<Finish, SweepError<K::Error>> {
        let finish = |reason| Ok(Finish { reason, failed: None });
        let mut samples = self.samples(done);
        // If timed runs exist, missing warm-up runs were left out for lack of time.
        let is_warm = done.iter().any(|run| run.phase == Phase::Timed);
        for round in 0..if is_warm { 0 } else { self.plan.warmup } {
            if let Some(finish) = self.round(Phase::Warmup, round, done, &mut samples)? {
                return Ok(finish);
            }
        }
        for round in 0..self.plan.stop.max_runs {
            let missing = self.missing(done, round);
            if !missing.is_empty() {
                // In the first round, each run is made for which there is time. A further round is
                // made only as a whole.
                if round > 0 && !self.budget.allows_round(self.pulse.now(), &missing) {
                    return finish(StopReason::TimeExhausted);
                }
                if let Some(finish) = self.round(Phase::Timed, round, done, &mut samples)? {
                    return Ok(finish);
                }
            }
            if round == 0 && self.is_already_done(done) {
                return finish(StopReason::AlreadyDone);
            }
            let precise = self.plan.stop.precision.is_some() && round + 1 >= self.plan.stop.min_runs;
            if precise && enough(&samples) {
                return finish(StopReason::Precise);
            }
        }
        finish(StopReason::RunsExhausted)
    }

    /// Makes the missing runs of one round; returns a finish if the sweep must not continue.
    fn round(
        &mut self,
        phase: Phase,
        round: u32,
        done: &[Run],
        samples: &mut [Vec<f64>],
    ) -> Result<Option<Finish>, SweepError<K::Error>> {
        let stream = if phase == Phase::Timed { Stream::Timed } else { Stream::Warmup };
        let mut left_out = false;
        let is_done = |cpus: u32, n: u32| {
            done.iter().any(|r| r.phase == phase && r.round == round && r.cpus == cpus && r.n == n)
        };
        for position in round_order(self.plan.seed, stream, round, self.plan.points.len()) {
            let point = &self.plan.points[position];
            if is_done(point.cpus, point.n) {
                continue;
            }
            if let Some(finish) = self.stopped() {
                return Ok(Some(finish));
            }
            let began = self.pulse.now();
            let is_allowed = match (phase, round) {
                (Phase::Timed, 0) => self.budget.allows_run(began, point),
                (Phase::Timed, _) => true,
                _ => self.budget.allows_warmup(began, point, &self.plan.points),
            };
            if !is_allowed {
                left_out = true;
                continue;
            }
            let trial = Trial { index: self.next, round, phase, point: point.clone() };
            self.keeper.begins(&trial);
            let outcome = match (self.executor.execute(&trial), self.stopped()) {
                // The event that stopped the study ended the user's --prepare, and not the command.
                (Err(_), Some(finish)) => return Ok(Some(finish)),
                // A run that this process cut short is no measurement, and no failure of the
                // command.
                (Ok(outcome), Some(finish)) if !outcome.run.counts(self.plan) => return Ok(Some(finish)),
                (executed, _) => executed.map_err(SweepError::Execute)?,
            };
            self.keeper.ended(&outcome).map_err(SweepError::Keep)?;
            self.next += 1;
            if !outcome.run.counts(self.plan) {
                if self.plan.ignore_failure {
                    continue;
                }
                return Ok(Some(Finish { reason: StopReason::RunFailed, failed: Some(outcome) }));
            }
            self.budget.add(&trial, self.pulse.now().since(began));
            if is_early(self.plan, &outcome.run) {
                self.early.push(outcome.run.clone());
            }
            if phase == Phase::Timed {
                samples[position].push(value_of(&outcome.run));
            }
        }
        let is_short = left_out && phase == Phase::Timed;
        Ok(is_short.then_some(Finish { reason: StopReason::TimeExhausted, failed: None }))
    }

    /// End of the sweep, if an external request has stopped it.
    fn stopped(&self) -> Option<Finish> {
        let reason = if self.pulse.is_interrupted() {
            StopReason::Interrupted
        } else if self.pulse.is_out_of_time() {
            StopReason::TimeExhausted
        } else {
            return None;
        };
        Some(Finish { reason, failed: None })
    }

    fn samples(&self, done: &[Run]) -> Vec<Vec<f64>> {
        let of = |cpus, n| {
            let runs = done.iter().filter(move |r| r.phase == Phase::Timed && r.cpus == cpus && r.n == n);
            runs.filter(|r| r.counts(self.plan)).map(value_of).collect()
        };
        self.plan.points.iter().map(|point| of(point.cpus, point.n)).collect()
    }

    /// Whether the first run left the later ones next to nothing to do, and the plan does not
    /// measure exactly that. A study with further rounds is exempt: it began before this check
    /// existed, or continued despite it.
    fn is_already_done(&self, done: &[Run]) -> bool {
        let has_further_rounds = done.iter().any(|run| run.phase == Phase::Timed && run.round > 0);
        !self.plan.incremental && !has_further_rounds && done_once(&self.early).is_some()
    }

    /// Points that have no run in a timed round.
    fn missing(&self, done: &[Run], round: u32) -> Vec<Point> {
        let is_done = |point: &Point| {
            done.iter().any(|r| {
                r.phase == Phase::Timed && r.round == round && (r.cpus, r.n) == (point.cpus, point.n)
            })
        };
        self.plan.points.iter().filter(|point| !is_done(point)).cloned().collect()
    }
}

/// Successful runs of a study up to and including the first timed round. They show whether the
/// command does its work only once.
pub fn early<'a>(plan: &'a Plan, runs: &'a [Run]) -> impl Iterator<Item = &'a Run> {
    runs.iter().filter(move |run| is_early(plan, run))
}

fn is_early(plan: &Plan, run: &Run) -> bool {
    run.counts(plan) && (run.phase == Phase::Warmup || run.round == 0)
}
