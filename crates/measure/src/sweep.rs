//! The loop over rounds: orders runs, hands each to whoever keeps them, and stops when enough is known.
//!
//! Knows neither processes nor files nor statistics: all three are passed in, so that the loop is tested with
//! none of them. It goes on where the runs already made left off.

use morecores_study::{Nanos, Phase, Plan, Point, Run, StopReason};

use crate::budget::Budget;
use crate::done_once::done_once;
use crate::executor::{ExecuteError, Executor, Outcome, Trial};
use crate::schedule::{Stream, round_order};

/// Whether the samples so far suffice. The argument holds, for each point of the plan, the values of its
/// successful timed runs in the order made.
pub type Enough<'a> = dyn FnMut(&[Vec<f64>]) -> bool + 'a;

/// Takes each run as it ends.
pub trait Keeper {
    /// What keeping can fail with.
    type Error;

    /// A run is about to begin.
    fn begins(&mut self, trial: &Trial);

    /// A run has ended: to be kept before the next begins.
    ///
    /// # Errors
    /// Where it cannot be kept; the sweep ends.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), Self::Error>;
}

/// The instant, and whether to stop.
pub trait Pulse {
    /// The monotonic clock.
    fn now(&self) -> Nanos;

    /// Whether the user asked to stop.
    fn is_interrupted(&self) -> bool;

    /// Whether the time for all runs is used up, so that the run under way was ended.
    fn is_out_of_time(&self) -> bool {
        false
    }
}

/// Why a sweep could not go on.
#[derive(Debug)]
pub enum SweepError<K> {
    /// A run could not be made.
    Execute(ExecuteError),
    /// A run could not be kept.
    Keep(K),
}

/// How a sweep ended.
#[derive(Debug)]
pub struct Finish {
    /// Why.
    pub reason: StopReason,
    /// The run that failed, where one ended the sweep.
    pub failed: Option<Outcome>,
}

/// The value that a sweep is about: the metric where there is one, the elapsed time in seconds elsewhere.
pub fn value_of(run: &Run) -> f64 {
    run.metric.unwrap_or_else(|| run.elapsed_ns.as_secs_f64())
}

/// Makes the runs of `plan` that are not among `done`, as far as `budget` allows, which learns what they take.
///
/// # Errors
/// [`SweepError`]; all runs before were kept.
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
    /// Number of the next run.
    next: u32,
    budget: &'a mut Budget,
    /// The successful runs up to the first timed round.
    early: Vec<Run>,
}

impl<K: Keeper> Sweep<'_, K> {
    fn go(mut self, done: &[Run], enough: &mut Enough<'_>) -> Result<Finish, SweepError<K::Error>> {
        let finish = |reason| Ok(Finish { reason, failed: None });
        let mut samples = self.samples(done);
        // Where timed runs are done, warm-up runs that are missing were left out for want of time.
        let is_warm = done.iter().any(|run| run.phase == Phase::Timed);
        for round in 0..if is_warm { 0 } else { self.plan.warmup } {
            if let Some(finish) = self.round(Phase::Warmup, round, done, &mut samples)? {
                return Ok(finish);
            }
        }
        for round in 0..self.plan.stop.max_runs {
            let missing = self.missing(done, round);
            if !missing.is_empty() {
                // Of the first round each run is made that there is time for; a further one is made as a whole.
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

    /// Makes the runs of one round that are not done; a finish where the sweep must not go on.
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
                // What stopped the study ended the user's --prepare rather than the command.
                (Err(_), Some(finish)) => return Ok(Some(finish)),
                // A run that was cut short by our own end is no measurement, and no failure of the command's.
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

    /// End of the sweep, if something from outside has stopped it.
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

    /// Whether the first run left the later ones next to nothing to do, where that is not what is to be measured. A
    /// study with further rounds was begun before this was looked at, or gone on with in spite of it.
    fn is_already_done(&self, done: &[Run]) -> bool {
        let has_further_rounds = done.iter().any(|run| run.phase == Phase::Timed && run.round > 0);
        !self.plan.incremental && !has_further_rounds && done_once(&self.early).is_some()
    }

    /// The points that have no run in a timed round.
    fn missing(&self, done: &[Run], round: u32) -> Vec<Point> {
        let is_done = |point: &Point| {
            done.iter().any(|r| {
                r.phase == Phase::Timed && r.round == round && (r.cpus, r.n) == (point.cpus, point.n)
            })
        };
        self.plan.points.iter().filter(|point| !is_done(point)).cloned().collect()
    }
}

/// The successful ones of the first runs of a study, up to the first timed round: by them it is told whether the command
/// does its work only once.
pub fn early<'a>(plan: &'a Plan, runs: &'a [Run]) -> impl Iterator<Item = &'a Run> {
    runs.iter().filter(move |run| is_early(plan, run))
}

fn is_early(plan: &Plan, run: &Run) -> bool {
    run.counts(plan) && (run.phase == Phase::Warmup || run.round == 0)
}
