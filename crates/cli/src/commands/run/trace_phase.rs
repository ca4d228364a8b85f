//! Traced runs of a study, made after the timed runs have ended well: a round with one run of each
//! CPU count and those for a prediction, then further rounds of the CPU counts.
//!
//! A failure here becomes a note and leaves the study as it is: its timed runs are on disk.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use morecores_machine::clock::monotonic;
use morecores_measure::budget::Budget;
use morecores_measure::control::Control;
use morecores_measure::executor::ProcessExecutor;
use morecores_measure::schedule::{Stream, round_order};
use morecores_measure::sweep::Trial;
use morecores_report::{cpus, duration, point_name};
use morecores_statistics::median;
use morecores_study::trace::{TraceHeader, trace_events_path};
use morecores_study::{Cell, Exit, InCell, Nanos, Phase, Plan, Point, Run, Study, TraceMode};
use morecores_view::traced_points;

use super::super::progress::{Progress, RunningResults};
use super::super::traced_run::{TracedRun, describe_end, missing_causes_note};
use crate::tracer::{DebugFiles, Open, TraceRequest};

/// Time limit of a run for a prediction: this multiple of the longest timed run, plus
/// `LIMIT_LEAST`. A program with more threads than CPUs takes hardly longer if it waits in the
/// kernel, and may never end if it spins.
const LIMIT_TIMES: f64 = 3.0;
const LIMIT_LEAST: Nanos = Nanos::from_millis(5_000);

/// Relative slowdown above which a traced run is repeated. A slower traced run was disturbed, or
/// has waits that the timed runs lack. The value is a choice: twice the overhead that causes a
/// warning.
const SLOWER: f64 = 0.2;
/// Least such difference in seconds. The tracer itself makes each run, however short, 0.1 to 0.2 ms
/// longer (docs/methods/explain.md, "Speedup stack"): five times as much.
const SLOWER_BY: f64 = 0.001;
/// Largest number of attempts at one trace.
const ATTEMPTS: u32 = 3;

/// Size of the traces of the first round above which there is no further one. A choice: three
/// rounds then stay below 100 MiB, and a reader of the study decodes them in seconds.
const LARGE_ROUND: u64 = 32 << 20;

/// Outcome of the traced runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TraceOutcome {
    /// Notes for the user, in chronological order.
    pub(super) notes: Vec<String>,
    /// Whether the user stopped the tracing.
    pub(super) interrupted: bool,
    /// Whether the time for the study was too short for all traced runs.
    pub(super) out_of_time: bool,
}

/// Inputs of the traced runs.
pub(super) struct TracePhase<'a> {
    pub(super) study: &'a Study,
    /// Path of the study.
    pub(super) path: &'a Path,
    /// Successful timed runs of this session and of earlier ones.
    pub(super) timed: Vec<&'a Run>,
    /// Index of the first traced run.
    pub(super) next: u32,
    pub(super) open: &'a Open,
    /// Debug files of servers, if the user wants them.
    pub(super) debug_files: Option<&'a DebugFiles>,
    pub(super) control: &'a Control,
    pub(super) progress: &'a Progress<RunningResults>,
}

/// Progress of the traced runs over the rounds.
#[derive(Debug, Default)]
struct Session {
    /// Index of the next traced run.
    index: u32,
    /// Names of the points for which the time was too short.
    without_time: Vec<String>,
    /// Cells whose traced run failed.
    failed: Vec<Cell>,
}

impl TracePhase<'_> {
    /// Makes the missing traced runs for which there is time.
    pub(super) fn make(&self, executor: &mut ProcessExecutor, budget: &mut Budget) -> TraceOutcome {
        let mut traced = TraceOutcome::default();
        let mut session = Session { index: self.next, ..Session::default() };
        let rounds = self.rounds();
        let mut wanted = missing_traces(self.study, &self.timed);
        let further = (1..rounds).flat_map(|repetition| self.points_of_round(repetition, &session));
        self.progress.set_traces(wanted.iter().cloned().chain(further).map(|point| point.cell()).collect());
        for repetition in 0..rounds {
            if repetition > 0 {
                wanted = self.points_of_round(repetition, &session);
                if wanted.is_empty() {
                    continue;
                }
                if let Some(why) = self.obstacle_to_round(&wanted, budget) {
                    traced.note(format!("traced {} of each count, not {rounds}: {why}", runs(repetition)));
                    break;
                }
            }
            if !self.make_round(
                repetition,
                std::mem::take(&mut wanted),
                &mut session,
                executor,
                budget,
                &mut traced,
            ) {
                break;
            }
        }
        self.control.set_limit(None);
        traced.out_of_time |= self.control.is_out_of_time() || !session.without_time.is_empty();
        if !session.without_time.is_empty() {
            let points = session.without_time.join("; ");
            traced.note(format!("not traced, because the time was too short: {points}"));
        }
        traced
    }

    /// Number of rounds of traced runs.
    fn rounds(&self) -> u32 {
        let longest = self.timed.iter().map(|run| run.elapsed_ns).max().unwrap_or_default();
        self.study.header.plan.traced_runs(longest)
    }

    /// Points of the sweep without a trace of this number, in the shuffled order of the round. A
    /// point whose first trace failed is left out.
    fn points_of_round(&self, repetition: u32, session: &Session) -> Vec<Point> {
        let plan = &self.study.header.plan;
        let traced = traced_points(plan, &self.timed);
        let order = round_order(plan.seed, Stream::Traced, repetition, traced.len());
        let points = order.into_iter().filter_map(|at| traced.get(at).copied());
        let is_missing = |point: &&Point| {
            let cell = point.cell();
            let has_one = |trace: &TraceHeader| trace.run.cell() == cell && trace.repetition == repetition;
            !session.failed.contains(&cell) && !self.study.traces.iter().any(has_one)
        };
        let is_traced = plan.trace != TraceMode::Off;
        points.filter(|_| is_traced).filter(is_missing).cloned().collect()
    }

    /// Reason why a further round of traced runs is not made; none if it is.
    fn obstacle_to_round(&self, points: &[Point], budget: &Budget) -> Option<&'static str> {
        let cells: Vec<Cell> = points.iter().map(InCell::cell).collect();
        if self.control.is_out_of_time() || !budget.allows_traced_runs(monotonic(), &cells) {
            return Some("the time was too short for more");
        }
        let size =
            |cell: &Cell| fs::metadata(trace_events_path(self.path, cell, 0)).map_or(0, |file| file.len());
        let is_large = cells.iter().map(size).sum::<u64>() > LARGE_ROUND;
        (is_large && self.study.header.plan.requested_traced_runs.is_none())
            .then_some("the traces are large; --traced-runs sets the number")
    }

    /// Makes one traced run of each of `points`. Returns whether another round may follow.
    fn make_round(
        &self,
        repetition: u32,
        points: Vec<Point>,
        session: &mut Session,
        executor: &mut ProcessExecutor,
        budget: &mut Budget,
        traced: &mut TraceOutcome,
    ) -> bool {
        let is_beyond = |point: &Point| !self.study.header.plan.points.contains(point);
        let beyond = points.iter().filter(|point| is_beyond(point)).count();
        let mut is_limited = false;
        for point in points {
            if self.control.is_interrupted() {
                traced.interrupted = true;
                return false;
            }
            let (began, waited) = (monotonic(), self.time_of_transfers());
            if self.control.is_out_of_time() || !budget.allows_traced_run(began, &point.cell()) {
                session.without_time.push(name(&point));
                continue;
            }
            if is_beyond(&point) && !is_limited {
                self.limit_time(beyond);
                is_limited = true;
            }
            let mut trial = Trial { index: session.index, round: 0, phase: Phase::Traced, cell: point };
            let mut attempts = Attempts::new(&self.timed, &trial.cell);
            match self.trace_point(&mut trial, repetition, &mut attempts, executor, budget) {
                Ok(_) if self.control.is_interrupted() => traced.interrupted = true,
                Ok(note) => note.into_iter().for_each(|note| traced.note(note)),
                Err(_) if self.control.is_interrupted() => traced.interrupted = true,
                // The time limit ended the user's `--prepare`.
                Err(_) if self.control.is_out_of_time() => session.without_time.push(name(&trial.cell)),
                Err(error) => {
                    // An obstacle to tracing one CPU count is also one for the others: a program, a
                    // buffer, a full disk.
                    let is_first = session.index == self.next;
                    let from =
                        if is_first { String::new() } else { format!(" from {} on", cpus(trial.cell.cpus)) };
                    let what = if repetition == 0 { "not traced" } else { "not traced again" };
                    traced.note(format!("{what}{from}: {error:#}"));
                    return false;
                }
            }
            if attempts.best.is_none() {
                session.failed.push(trial.cell.cell());
            }
            // Further runs find the debug files in the cache.
            let transfers = self.time_of_transfers().since(waited);
            budget.add(trial.phase, &trial.cell.cell(), monotonic().since(began + transfers));
            session.index += 1;
        }
        self.control.set_limit(None);
        session.without_time.is_empty() && !traced.interrupted
    }

    /// Time that the transfers of debug files took so far.
    fn time_of_transfers(&self) -> Nanos {
        self.debug_files.map_or(Nanos::ZERO, DebugFiles::time_of_transfers)
    }

    /// Limits the time of each run for a prediction, and announces the cost of these runs. With
    /// more threads than CPUs a run can take any time, since threads may wait for each other in
    /// loops.
    fn limit_time(&self, runs: usize) {
        let times: Vec<f64> = self.timed.iter().map(|run| run.elapsed_ns.as_secs_f64()).collect();
        let (Some(usual), Some(longest)) = (median(&times), times.iter().copied().reduce(f64::max)) else {
            return;
        };
        let limit = Nanos::from_secs_f64(LIMIT_TIMES * longest) + LIMIT_LEAST;
        self.control.set_limit(Some(limit));
        self.progress.print_note(&format!(
            "--predict: {runs} more traced run{}, some {} each; one that takes {} is ended",
            if runs == 1 { "" } else { "s" },
            duration(usual),
            duration(limit.as_secs_f64()),
        ));
    }

    /// Makes one traced run, and repeats it while it is much slower than the timed runs and there
    /// is time. Returns a note for the user, if there is one.
    fn trace_point(
        &self,
        trial: &mut Trial<Point>,
        repetition: u32,
        attempts: &mut Attempts,
        executor: &mut ProcessExecutor,
        budget: &Budget,
    ) -> anyhow::Result<Option<String>> {
        loop {
            self.progress.on_begin(trial);
            let note = self.attempt(trial, repetition, attempts, executor)?;
            let has_time =
                !self.control.is_out_of_time() && budget.allows_traced_run(monotonic(), &trial.cell.cell());
            if !attempts.needs_another() || self.control.is_interrupted() || !has_time {
                return Ok(note);
            }
            trial.round += 1;
        }
    }

    /// Makes one attempt at a traced run, and keeps the trace if the run succeeded and was the
    /// fastest so far. Returns a note for the user, if there is one.
    fn attempt(
        &self,
        trial: &Trial<Point>,
        repetition: u32,
        attempts: &mut Attempts,
        executor: &mut ProcessExecutor,
    ) -> anyhow::Result<Option<String>> {
        let point = &trial.cell;
        let plan = &self.study.header.plan;
        let for_prediction =
            !plan.predict.is_empty() && (!receives_n(self.study) || plan.oversubscribed().contains(point));
        let request = TraceRequest::new(&self.study.header.subject, plan, point)?;
        let wanted = TraceRequest { syscalls: plan.syscalls || for_prediction, repetition, ..request };
        let mut tracer = (self.open)(&wanted, self.path)?;
        let traced_run = TracedRun::make(executor, &mut tracer, trial)?;
        if self.control.is_interrupted() {
            // The attempt is dropped even if the command itself ended well: a server cut short by
            // Ctrl-C does.
            return Ok(None);
        }
        if !traced_run.outcome.run.counts(plan) {
            let is_first = attempts.give_up();
            if !is_first {
                // The existing trace stays.
                return Ok(None);
            }
            let limited = self.control.limit().filter(|_| traced_run.outcome.run.exit == Exit::TimedOut);
            let how = match limited {
                _ if self.control.is_out_of_time() => "was ended at the time limit of the study".to_owned(),
                Some(limit) => format!("had not ended after {}", duration(limit.as_secs_f64())),
                None => describe_end(&traced_run.outcome),
            };
            return Ok(Some(format!("the traced run at {} {how}: its trace is not kept", name(point))));
        }
        // The trace records its lost events, and every report of its figures mentions them.
        if attempts.is_best(traced_run.outcome.run.elapsed_ns.as_secs_f64()) {
            traced_run.keep(self.debug_files)?;
        }
        Ok(missing_causes_note(&tracer))
    }
}

/// Points of a study that still lack their first trace: those of its sweep, chosen by its `timed`
/// runs, then those for its prediction.
pub(super) fn missing_traces(study: &Study, timed: &[&Run]) -> Vec<Point> {
    let plan = &study.header.plan;
    if plan.trace == TraceMode::Off {
        return Vec::new();
    }
    let beyond = if receives_n(study) { plan.oversubscribed() } else { Vec::new() };
    let traced = traced_points(plan, timed);
    points_without_trace(traced, &study.traces)
        .chain(points_without_trace(&beyond, &study.traces))
        .cloned()
        .collect()
}

/// Whether the command was told the number of CPUs.
fn receives_n(study: &Study) -> bool {
    study.header.plan.tells_n(&study.header.subject)
}

/// Successful timed runs among `runs`.
pub(super) fn timed_runs<'a>(runs: impl IntoIterator<Item = &'a Run>, plan: &Plan) -> Vec<&'a Run> {
    let is_timed = |run: &&Run| run.phase == Phase::Timed && run.counts(plan);
    runs.into_iter().filter(is_timed).collect()
}

/// Number of runs: `1 run`, `2 runs`.
fn runs(count: u32) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// Name of a point.
fn name(point: &Point) -> String {
    point_name(point.cpus, point.n, &point.axes)
}

/// Attempts at one trace: the best time, and whether another attempt is worth its time.
#[derive(Debug)]
struct Attempts {
    /// Median elapsed time of the timed runs, in seconds; none without timed runs.
    usual: Option<f64>,
    best: Option<f64>,
    left: u32,
}

impl Attempts {
    fn new(timed: &[&Run], point: &Point) -> Self {
        let runs_of_point = timed.iter().filter(|run| run.cell() == point.cell());
        let times: Vec<f64> = runs_of_point.map(|run| run.elapsed_ns.as_secs_f64()).collect();
        Self { usual: median(&times), best: None, left: ATTEMPTS }
    }

    /// Records an attempt's time in seconds and returns whether the attempt is the best so far.
    fn is_best(&mut self, seconds: f64) -> bool {
        self.left -= 1;
        let is_best = self.best.is_none_or(|best| seconds < best);
        if is_best {
            self.best = Some(seconds);
        }
        is_best
    }

    /// Forbids further attempts and returns whether none has succeeded.
    fn give_up(&mut self) -> bool {
        self.left = 0;
        self.best.is_none()
    }

    /// Whether the best attempt is still much slower than the timed runs, and an attempt is left.
    fn needs_another(&self) -> bool {
        let is_slow = |(best, usual): (f64, f64)| best > (1.0 + SLOWER) * usual && best - usual > SLOWER_BY;
        self.left > 0 && self.best.zip(self.usual).is_some_and(is_slow)
    }
}

/// Points that have no trace yet.
fn points_without_trace<'a>(
    points: impl IntoIterator<Item = &'a Point>,
    traces: &'a [TraceHeader],
) -> impl Iterator<Item = &'a Point> {
    let has_one = move |point: &&Point| traces.iter().any(|trace| trace.run.cell() == point.cell());
    points.into_iter().filter(move |point| !has_one(point))
}

impl TraceOutcome {
    /// Adds a note. Equal notes for several CPU counts appear once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
