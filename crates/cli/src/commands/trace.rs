//! `morecores trace`: traces one run and shows where its CPUs went. It makes a study only on
//! request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use morecores_machine::{clock, host};
use morecores_measure::control::Control;
use morecores_measure::environment::Environment;
use morecores_measure::executor::{Outcome, ProcessExecutor};
use morecores_measure::input::Input;
use morecores_measure::program;
use morecores_measure::sweep::{PreviousRuns, Trial};
use morecores_report::cpus;
use morecores_study::trace::TraceHeader;
use morecores_study::{Closing, Header, Phase, Run, StopReason, StudyWriter};
use tempfile::TempDir;

use super::display::Bar;
use super::input;
use super::loaded_study::view_of_trace;
use super::marks;
use super::progress::{Progress, RunningResults};
use super::recorder::new_header;
use super::signals::EndAfterMeasuring;
use super::traced_run::{CUT_SHORT, TracedRun, advice, describe_end, missing_causes_note};
use super::watch::{self, Limits};
use crate::args::TraceArgs;
use crate::options::{TraceOptions, debuginfod_client};
use crate::tracer::{self, DebugFiles, TraceRequest};
use crate::{exit, terminal};

pub(crate) fn trace(args: &TraceArgs) -> Result<u8> {
    let host = host::read();
    let TraceOptions { command, plan, notes, study } = TraceOptions::new(args, &host.topology)?;
    let debuginfod = debuginfod_client(args.debuginfod)?;
    let (point, environment) = (&plan.points[0], Environment::from_this_process(&plan));
    program::image(&command, point, &environment)?;
    let mark = marks::note(&program::file(&command, point, &environment)?, point.cpus);
    TraceRequest::new(&command, &plan, &plan.points[0])?;
    terminal::notes(notes.iter().chain(&mark));
    let input = input::open_for_one_run(&plan.input)?;
    let limits = Limits { run: plan.timeout, end: None };
    let arch = host.arch.clone();
    let requested_plan = plan.clone();
    let header = new_header(command, plan, host);
    let place = Place::new(study)?;
    let writer = StudyWriter::create(&place.path, header.clone())?;

    let progress = Progress::new(
        header.plan.experiment(),
        PreviousRuns::default(),
        RunningResults::new(&header),
        Bar::new(),
    );
    let control = Arc::new(Control::default());
    let debug_files = debuginfod.map(|client| DebugFiles::new(client, Arc::clone(&control)));
    let after = place.end_after_measuring();
    let watched = watch::run_watched(limits, control, progress, &after, move |control, progress| {
        make(&header, writer, input, debug_files.as_ref(), control, progress)
    })?;
    let Some(TraceOutput { outcome, header, interrupted, note }) = watched.result? else {
        // The run was stopped before there was anything to trace.
        return Ok(watched.signal.map_or(exit::COMMAND_FAILED, exit::signal_status));
    };
    if let Some(signal) = watched.signal.filter(|_| !interrupted) {
        // The signal came too late to stop the run.
        after.end(signal);
    }
    show(args, &place, &header, &arch, note.as_deref())?;
    let run = &outcome.run;
    if let Some(survivors) = survivors(run, args.keep) {
        terminal::note(&survivors);
    }
    if !run.counts(&requested_plan) {
        terminal::quote_end(&outcome.output);
    }
    // An interruption takes precedence over success: a server that is asked to end may end well,
    // but was cut short.
    if interrupted {
        terminal::note(CUT_SHORT);
        return Ok(watched.signal.map_or(exit::COMMAND_FAILED, exit::signal_status));
    }
    if run.counts(&requested_plan) {
        return Ok(exit::SUCCESS);
    }
    let advice = advice(&outcome, &requested_plan).map(|advice| format!("; {advice}")).unwrap_or_default();
    terminal::note(&format!("the command {} at {}{advice}", describe_end(&outcome), cpus(run.cpus)));
    Ok(exit::COMMAND_FAILED)
}

/// Message on the processes that outlived the command; none if there were none.
fn survivors(run: &Run, kept: bool) -> Option<String> {
    let names: BTreeSet<&str> = run.survivors.iter().map(String::as_str).collect();
    let became = if kept { "were left running (--keep)" } else { "were ended; --keep leaves them" };
    (!names.is_empty()).then(|| {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        format!("processes outlived the command and {became}: {names}. The trace ends with the command")
    })
}

/// Traced run.
struct TraceOutput {
    outcome: Outcome,
    header: TraceHeader,
    /// Whether a signal came before the run ended.
    interrupted: bool,
    /// Additional note for the user.
    note: Option<String>,
}

/// Location of the trace: permanent, or temporary until the trace has been shown.
struct Place {
    path: PathBuf,
    until_shown: Option<TempDir>,
}

impl Place {
    fn new(study: Option<PathBuf>) -> Result<Self> {
        if let Some(path) = study {
            return Ok(Self { path, until_shown: None });
        }
        let dir = tempfile::Builder::new()
            .prefix("morecores-")
            .tempdir()
            .context("cannot make a directory for the trace: name another place with TMPDIR or -o")?;
        Ok(Self { path: dir.path().join("trace.study"), until_shown: Some(dir) })
    }

    /// Response to a signal before the trace is shown.
    fn end_after_measuring(&self) -> EndAfterMeasuring {
        match &self.until_shown {
            Some(directory) => EndAfterMeasuring::without_study(directory.path()),
            None => EndAfterMeasuring::with_study(&self.path),
        }
    }

    /// Path of a trace that is kept; none for a temporary one.
    fn output_path(&self) -> Option<&Path> {
        self.until_shown.is_none().then_some(self.path.as_path())
    }
}

/// Makes the run. It runs on a separate thread, which does nothing else.
fn make(
    header: &Header,
    writer: StudyWriter,
    input: Input,
    debug_files: Option<&DebugFiles>,
    control: &Arc<Control>,
    progress: &Progress<RunningResults>,
) -> Result<Option<TraceOutput>> {
    let traced = attempt(header, &writer, input, debug_files, control, progress);
    match traced {
        Ok(None) => {
            writer.discard()?;
            Ok(None)
        }
        Ok(Some(traced)) => {
            let ended_at_ns = clock::realtime();
            let reason = if traced.interrupted { StopReason::Interrupted } else { StopReason::RunsExhausted };
            writer.close(Closing { ended_at_ns, reason, other_programs: Vec::new(), quiet: None })?;
            Ok(Some(traced))
        }
        Err(error) => {
            // A study without content would only block the next attempt.
            writer.discard()?;
            Err(error)
        }
    }
}

fn attempt(
    header: &Header,
    writer: &StudyWriter,
    input: Input,
    debug_files: Option<&DebugFiles>,
    control: &Arc<Control>,
    progress: &Progress<RunningResults>,
) -> Result<Option<TraceOutput>> {
    let point = &header.plan.points[0];
    let wanted = TraceRequest::new(&header.subject, &header.plan, point)?;
    let mut tracer = tracer::open(&wanted, writer.path())?;
    let mut executor = ProcessExecutor::new(&header.subject, &header.plan, input, Arc::clone(control))?;
    if control.is_interrupted() {
        return Ok(None);
    }
    let trial = Trial { index: 0, round: 0, phase: Phase::Traced, cell: point.clone() };
    progress.on_begin(&trial);
    let traced = TracedRun::make(&mut executor, &mut tracer, &trial);
    let interrupted = control.is_interrupted();
    for error in executor.restore_system() {
        terminal::note(&format!("cannot {error}; the next start of morecores tries again"));
    }
    let traced = match traced {
        // The signal ended the user's `--prepare` rather than the command.
        Err(_) if interrupted => return Ok(None),
        traced => traced?,
    };
    let outcome = traced.outcome.clone();
    let (header, note) = (traced.keep(debug_files)?, missing_causes_note(&tracer));
    Ok(Some(TraceOutput { outcome, header, interrupted, note }))
}

fn show(args: &TraceArgs, place: &Place, header: &TraceHeader, arch: &str, note: Option<&str>) -> Result<()> {
    let view = view_of_trace(&place.path, header, arch)?;
    if args.json {
        terminal::print_json(&view)?;
    } else {
        terminal::print(&morecores_report::trace_report(&view, place.output_path(), &terminal::style()))?;
    }
    if let Some(note) = note {
        terminal::note(note);
    }
    Ok(())
}
