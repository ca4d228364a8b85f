//! `morecores run`: plans a sweep, makes it while watching for signals, keeps it and shows it.

mod done_once;
mod from_scratch;
mod time;
mod trace_phase;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use morecores_machine::{clock, host};
use morecores_measure::budget::{Budget, Costs};
use morecores_measure::control::Control;
use morecores_measure::environment::Environment;
use morecores_measure::executor::{ExecuteError, Outcome, ProcessExecutor};
use morecores_measure::input::Input;
use morecores_measure::program;
use morecores_measure::sweep::{AfterRound, Finish, PreviousRuns, SweepError, TimedRounds, sweep};
use morecores_report::{Style, cpus};
use morecores_statistics::{Decision, Rounds};
use morecores_study::{
    Cell, Closing, Command, Exit, InCell, Nanos, Phase, Plan, Point, Run, StopReason, Study, StudyWriter,
    TraceMode,
};
use morecores_view::memory_kills::killed_for_memory;
use morecores_view::round_rule;

use crate::args::RunArgs;
use crate::options::{ResumeOptions, RunOptions, debuginfod_client, note_of_older_figures, notes_of_resumed};
use crate::tracer::{self, DebugFiles, TraceRequest};
use crate::{exit, terminal};

use self::trace_phase::{TraceOutcome, TracePhase, missing_traces, timed_runs};
use super::display::Bar;
use super::input;
use super::loaded_study::{LoadedStudy, Purpose};
use super::marks;
use super::memory_speed;
use super::progress::{Progress, RunningResults};
use super::recorder::{StudyRecorder, new_header};
use super::resume::{ensure_same_machine, resume_line};
use super::signals::EndAfterMeasuring;
use super::traced_run::{advice, describe_end, has_cut_short_trace};
use super::watch::{self, Clock, Limits, WatchedResult};

pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let debuginfod = debuginfod_client(args.debuginfod)?;
    let (study, writer, input) = if args.resume { resume(args)? } else { begin(args)? };
    let path = writer.path().to_owned();
    let plan = &study.header.plan;
    let began = clock::monotonic();
    let limits = Limits { run: plan.timeout, end: plan.stop.max_time.map(|time| began + time) };
    let counted = || study.runs.iter().filter(|run| run.counts(plan));
    let traces: Vec<Cell> = missing_traces(&study, &timed_runs(&study.runs, &study.header.plan))
        .iter()
        .map(InCell::cell)
        .collect();
    let budget = Budget::new(began, plan.stop.time(), counted(), traces.clone());
    let experiment = plan.experiment();
    let earlier = PreviousRuns::new(&experiment, &study.runs, |run: &Run| run.counts(plan));
    let bar = if args.quiet { Bar::hidden() } else { Bar::new() };
    let progress = Progress::new(experiment, earlier, RunningResults::new(&study.header), bar);
    progress.set_start(Costs::from_runs(counted()), traces, |so_far| {
        study.runs.iter().for_each(|run| so_far.count_run(run));
    });
    let control = Arc::new(Control::default());
    let debug_files = debuginfod.map(|client| DebugFiles::new(client, Arc::clone(&control)));
    let after = EndAfterMeasuring::with_study(&path);
    let watched = watch::run_watched(limits, control, progress, &after, move |control, progress| {
        measure(&study, writer, input, budget, debug_files.as_ref(), control, progress)
    })?;
    finish(args, &path, watched, &after)
}

/// Creates a new study.
fn begin(args: &RunArgs) -> Result<(Study, StudyWriter, Input)> {
    let mut host = host::read();
    let RunOptions { command, mut plan, input_limit, notes, study } = RunOptions::new(args, &host.topology)?;
    let environment = Environment::from_this_process(&plan);
    let mut mark_notes = BTreeSet::new();
    for point in &plan.points {
        program::image(&command, point, &environment)?;
        mark_notes.extend(marks::note(&program::file(&command, point, &environment)?, point.cpus));
    }
    refuse_where_not_traceable(&command, &plan)?;
    let (input, note) = input::open(&mut plan.input, input_limit)?;
    let notes = notes.into_iter().chain(note).chain(mark_notes);
    host.memory_speed = memory_speed::for_study(&host.topology, &plan);
    let header = new_header(command, plan, host);
    let writer = study.create(|path| StudyWriter::create(path, header.clone()))?;
    terminal::notes(notes.filter(|_| !args.quiet));
    Ok((Study::new(header), writer, input))
}

/// Refuses `--trace on` and `--locks exact` if full tracing is unavailable, before anything is run
/// or written.
fn refuse_where_not_traceable(command: &Command, plan: &Plan) -> Result<()> {
    let needs_full = plan.trace == TraceMode::On || plan.locks.are_exact();
    let Some(point) = plan.points.last().filter(|_| needs_full) else { return Ok(()) };
    let wanted = TraceRequest::new(command, plan, point)?;
    tracer::check_full(&wanted).context(if plan.locks.are_exact() { "--locks exact" } else { "--trace on" })
}

/// Opens an existing study to resume it.
fn resume(args: &RunArgs) -> Result<(Study, StudyWriter, Input)> {
    let options = ResumeOptions::new(args)?;
    let existing = StudyWriter::open(&options.study)?;
    let before = &existing.study;
    options.check(&before.header)?;
    let cpu_sets = before.header.plan.points.iter().map(|point| &point.cpu_set);
    ensure_same_machine(&options.study, &before.header.host, &host::read(), cpu_sets)?;
    let notes = options.trace_notes(&before.traces).into_iter();
    let notes = notes.chain(notes_of_resumed(&before.header.plan));
    let notes = notes.chain(note_of_older_figures(&before.runs));
    terminal::notes(notes.filter(|_| !args.quiet));
    let input = input::reopen(&before.header, options.input.as_deref(), options.input_limit)?;
    let cut_short = has_cut_short_trace(before);
    let mut plan = before.header.plan.clone();
    options.adjust(&mut plan);
    refuse_where_not_traceable(&before.header.subject, &plan)?;
    let (mut study, writer) = existing.resume(|header| header.plan = plan)?;
    if cut_short {
        // A trace that was cut short counts as missing: the first complete trace replaces it.
        study.traces.clear();
    }
    Ok((study, writer, input))
}

/// Result of the measuring thread.
#[derive(Debug)]
struct Measurement {
    finish: Finish<Point, Outcome, ExecuteError>,
    traced: TraceOutcome,
    /// Expected time of one more round and of the missing traces.
    needs: Option<Nanos>,
}

/// Makes the runs. It runs on a separate thread, which does nothing else.
fn measure(
    study: &Study,
    writer: StudyWriter,
    input: Input,
    mut budget: Budget,
    debug_files: Option<&DebugFiles>,
    control: &Arc<Control>,
    progress: &Progress<RunningResults>,
) -> Result<Measurement> {
    let header = &study.header;
    let mut executor = match ProcessExecutor::new(&header.subject, &header.plan, input, Arc::clone(control)) {
        Ok(executor) => executor,
        Err(error) => {
            writer.discard()?;
            return Err(error.into());
        }
    };
    time::start_note(&header.plan.stop).iter().for_each(|note| progress.print_note(note));
    executor.recall(&study.runs);
    let mut recorder = StudyRecorder::new(writer, progress);
    let set_up = match executor.set_up() {
        // The signal or the time limit ended the set-up; the sweep notices that and stops.
        Err(_) if control.is_interrupted() || control.is_out_of_time() => Ok(()),
        set_up => set_up.map_err(anyhow::Error::from),
    };
    let swept = set_up.and_then(|()| {
        let rule = round_rule(&header.plan);
        let (experiment, clock) = (header.plan.experiment(), Clock(control));
        let mut rounds_rule = |TimedRounds { made, samples, disturbed }: &TimedRounds<'_>| {
            let rounds = Rounds { made: *made, samples, disturbed };
            match rule.decide(&rounds) {
                Decision::Continue => AfterRound::Continue { without: rule.left_out(&rounds) },
                Decision::Answered => AfterRound::End(StopReason::Precise),
                Decision::RunsExhausted => AfterRound::End(StopReason::RunsExhausted),
            }
        };
        let earlier = PreviousRuns::new(&experiment, &study.runs, |run: &Run| run.counts(&header.plan));
        sweep(&experiment, earlier, &mut executor, &mut recorder, &mut rounds_rule, &mut budget, &clock)
            .map_err(SweepError::into_inner::<anyhow::Error>)
    });
    // Other programs are read before the tracer works, so that its work is not counted among
    // theirs.
    let other_programs = executor.other_programs();
    let traced = match &swept {
        Ok(finish) if ended_well(finish.reason) => {
            let timed = timed_runs(study.runs.iter().chain(recorder.runs()), &header.plan);
            let next = (study.runs.len() + recorder.runs().len()) as u32;
            let (path, open) = (recorder.path(), &tracer::open);
            TracePhase { study, path, timed, next, open, debug_files, control, progress }
                .make(&mut executor, &mut budget)
        }
        _ => TraceOutcome::default(),
    };
    // The clean-up also follows a failure: it removes the user's files and restores the system.
    let cleaned = executor.clean_up();
    for error in executor.restore_system() {
        terminal::note(&format!("cannot {error}; the next start of morecores tries again"));
    }
    let finish = match swept {
        Ok(finish) => finish,
        Err(error) => {
            // A new study without a run would only block the next attempt.
            recorder.abandon()?;
            return Err(error);
        }
    };
    let ended_at_ns = clock::realtime();
    recorder.close(Closing {
        ended_at_ns,
        reason: finish.reason,
        other_programs,
        quiet: executor.quiet(),
    })?;
    cleaned?;
    let is_unfinished = finish.reason == StopReason::TimeExhausted;
    let round: Vec<Cell> = header.plan.points.iter().filter(|_| is_unfinished).map(InCell::cell).collect();
    let needs = budget.round_and_traces(&round);
    Ok(Measurement { finish, traced, needs })
}

/// Whether the study has all the timed runs of its plan.
fn ended_well(reason: StopReason) -> bool {
    matches!(reason, StopReason::Precise | StopReason::RunsExhausted | StopReason::TimeExhausted)
}

/// Shows the results and reports how the study ended.
fn finish(
    args: &RunArgs,
    path: &Path,
    watched: WatchedResult<Measurement>,
    after: &EndAfterMeasuring,
) -> Result<u8> {
    let signal = watched.signal;
    let Measurement { finish: Finish { reason, failed, .. }, traced, needs } = watched.result?;
    if let Some(signal) = signal.filter(|_| ended_well(reason) && !traced.interrupted) {
        // The signal came too late to stop a run.
        after.end(signal);
    }
    let mut study = Study::read(path)?;
    // The first two words are the program's name and `run`.
    let words: Vec<OsString> = env::args_os().skip(2).collect();
    if reason == StopReason::AlreadyDone {
        terminal::notes(done_once::notes(&study, path, args, &words));
        return Ok(exit::COMMAND_FAILED);
    }
    let worth_showing = failed.is_none() || study.runs.len() > 1;
    let mut status = exit::SUCCESS;
    if worth_showing && (!args.quiet || args.answer.exit_answer) {
        let mut loaded = LoadedStudy::new(study, path, Purpose::Figures);
        if !args.quiet {
            loaded.predict_as_planned();
            let style = Style { wide: args.wide, ..terminal::style() };
            terminal::print(&morecores_report::run_report(&loaded.view, Some(path), &style))?;
            terminal::notes(&loaded.unread);
        }
        if args.answer.exit_answer {
            status = exit::answer_status(loaded.view.verdict.answer);
        }
        study = loaded.study;
    }
    if let Some(outcome) = failed {
        report_failure(&study, &outcome);
        if !worth_showing || args.quiet {
            terminal::note(&format!("the measurements are kept in {}", path.display()));
        }
        return Ok(exit::COMMAND_FAILED);
    }
    if !args.quiet || study.header.plan.trace == TraceMode::On {
        terminal::notes(&traced.notes);
    }
    if reason == StopReason::Interrupted || traced.interrupted {
        terminal::note(&format!("stopped; continue with: {}", resume_line("run", path, "")));
        return Ok(signal.map_or(exit::COMMAND_FAILED, exit::signal_status));
    }
    if !args.quiet && (reason == StopReason::TimeExhausted || traced.out_of_time) {
        let warning = done_once::warning(&study, path, args, &words);
        terminal::notes(&warning);
        terminal::note(&time::end_note(&study.header.plan.stop, needs, path));
    }
    if reason == StopReason::TimeExhausted && study.runs.iter().all(|run| run.phase != Phase::Timed) {
        return Ok(exit::COMMAND_FAILED);
    }
    Ok(status)
}

/// Prints the end of a failed command's output and reports how the command ended.
fn report_failure(study: &Study, outcome: &Outcome) {
    terminal::quote_end(&outcome.output);
    let run = &outcome.run;
    let ignore = "--ignore-failure continues and only counts such runs";
    let advice = match (advice(outcome, &study.header.plan), run.exit) {
        (Some(success), Exit::Code(_)) => format!("{success}; {ignore}"),
        (Some(advice), _) => advice,
        (None, _) => ignore.to_owned(),
    };
    terminal::note(&format!(
        "the command {} at {} (run {}); {advice}",
        describe_end(outcome),
        cpus(run.cpus),
        run.index + 1
    ));
    let point = study.header.plan.point(&run.cell());
    let killed = run.tree.killed_for_memory.as_ref().and(point);
    if let Some(warning) = killed.and_then(|point| killed_for_memory(study, point)) {
        terminal::note(&morecores_report::warning_sentence(&warning));
    }
}
