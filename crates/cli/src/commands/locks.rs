//! `morecores locks`: plans a study of locks, makes it while watching for signals, keeps it and
//! shows it.

mod progress_text;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use morecores_lock_lab::{CELL_PROGRAM, LockCellError, ProcessLaboratory, locks_view};
use morecores_machine::{clock, host};
use morecores_measure::budget::Budget;
use morecores_measure::control::Control;
use morecores_measure::sweep::{Finish, PreviousRuns, sweep};
use morecores_report as report;
use morecores_study::lock::{Laboratory, LockCell, LockPlan, LockRun, LockStudy, LockStudyWriter};
use morecores_study::{Closing, StopReason};
use morecores_view::page::PageLocks;

use super::loaded_study::study_name;
use super::progress::Progress;
use super::recorder::{StudyRecorder, new_header};
use super::resume::{ensure_same_machine, resume_line};
use super::signals::EndAfterMeasuring;
use super::watch::{self, Clock, Limits, WatchedResult};
use crate::args::{FormatArgs, LocksArgs};
use crate::options::{LocksOptions, ResumeLocksOptions, locks_command_line};
use crate::{exit, programs, terminal};
use progress_text::{LockProgressText, cell_name, expected_costs};

pub(crate) fn locks(args: &LocksArgs) -> Result<u8> {
    ensure!(!args.format.hyperfine_json, NOT_HYPERFINE);
    let control = Arc::new(Control::default());
    let PreparedStudy { study, writer, mut laboratory } = match ResumeLocksOptions::new(args)? {
        Some(options) => resume(&options, &control)?,
        None => begin(args, &control)?,
    };
    let path = writer.path().to_owned();
    if study.header.plan.cpus.len() < 2 && !args.quiet {
        terminal::note(
            "only one CPU is usable: the handoff, the preempted owner and the path of a cache line are not measured, \
             because each needs two",
        );
    }
    let experiment = study.header.plan.experiment();
    let earlier = PreviousRuns::new(&experiment, &study.runs, |_| true);
    let progress = Arc::new(Progress::new(experiment, earlier, LockProgressText, args.quiet));
    progress.starts(expected_costs(&study.header.plan), Vec::new(), |_| {});
    let after = EndAfterMeasuring::with_study(&path);
    let watched = {
        let (control, progress) = (Arc::clone(&control), Arc::clone(&progress));
        let (limits, shared) = (Limits::default(), Arc::clone(&control));
        watch::until_done(limits, shared, Arc::clone(&progress), after.clone(), move || {
            measure(&study, writer, &mut laboratory, &control, &progress)
        })?
    };
    finish(args, &path, watched, &after)
}

const NOT_HYPERFINE: &str =
    "--hyperfine-json describes runs of a command, but a study of locks has none: use --json or --csv";

/// Study that is ready to be measured, its writer and its laboratory.
struct PreparedStudy {
    study: LockStudy,
    writer: LockStudyWriter,
    laboratory: ProcessLaboratory,
}

fn laboratory(plan: &LockPlan, control: &Arc<Control>) -> Result<ProcessLaboratory> {
    let program = programs::find_file(CELL_PROGRAM.as_ref()).unwrap_or_else(|| CELL_PROGRAM.into());
    Ok(ProcessLaboratory::new(&program, plan, Arc::clone(control))?)
}

/// Creates a new study.
fn begin(args: &LocksArgs, control: &Arc<Control>) -> Result<PreparedStudy> {
    let host = host::read();
    let LocksOptions { plan, study } = LocksOptions::new(args, &host.topology)?;
    let laboratory = laboratory(&plan, control)?;
    let header = new_header(Laboratory::Locks, plan, host);
    let writer = study.create(|path| LockStudyWriter::create(path, header.clone()))?;
    Ok(PreparedStudy { study: LockStudy::new(header), writer, laboratory })
}

/// Opens an existing study to resume it.
fn resume(options: &ResumeLocksOptions, control: &Arc<Control>) -> Result<PreparedStudy> {
    let before = LockStudy::read(&options.study)?;
    let plan = &before.header.plan;
    ensure_same_machine(&options.study, &before.header.host, &host::read(), [&plan.cpus])?;
    let laboratory = laboratory(plan, control)?;
    let (study, writer) = LockStudyWriter::resume(&options.study, |header| options.adjust(header))?;
    Ok(PreparedStudy { study, writer, laboratory })
}

type LockFinish = Finish<LockCell, LockRun, LockCellError>;

/// Measures the cells. It runs on a separate thread, which does nothing else.
fn measure(
    study: &LockStudy,
    writer: LockStudyWriter,
    laboratory: &mut ProcessLaboratory,
    control: &Control,
    progress: &Progress<LockProgressText>,
) -> Result<LockFinish> {
    let mut recorder = StudyRecorder::new(writer, progress);
    laboratory.look_before();
    let experiment = study.header.plan.experiment();
    let earlier = PreviousRuns::new(&experiment, &study.runs, |_| true);
    let (mut never, mut budget, clock) = (|_: &[Vec<f64>]| false, Budget::unlimited(), Clock(control));
    let finish = match sweep(&experiment, earlier, laboratory, &mut recorder, &mut never, &mut budget, &clock)
    {
        Ok(finish) => finish,
        Err(error) => {
            // A new study without a cell would only block the next attempt.
            recorder.abandon()?;
            return Err(error.into_inner());
        }
    };
    recorder.close(Closing {
        ended_at_ns: clock::realtime(),
        reason: finish.reason,
        neighbours: laboratory.neighbours(),
        quiet: laboratory.quiet(),
    })?;
    Ok(finish)
}

/// Shows the measured cells and reports how the study ended.
fn finish(
    args: &LocksArgs,
    path: &Path,
    watched: WatchedResult<LockFinish>,
    after: &EndAfterMeasuring,
) -> Result<u8> {
    let signal = watched.signal;
    let Finish { reason, left_out, .. } = watched.result?;
    if let Some(signal) = signal.filter(|_| reason != StopReason::Interrupted) {
        // The signal came too late to stop a cell.
        after.end(signal);
    }
    if !args.quiet {
        print(&LockStudy::read(path)?, path, &args.format, args.wide)?;
    }
    if let Some((cell, error)) = left_out.first() {
        let more = match left_out.len() - 1 {
            0 => String::new(),
            1 => "; another cell could not be measured either".to_owned(),
            more => format!("; {more} other cells could not be measured either"),
        };
        terminal::note(&format!("{} could not be measured: {error}{more}", cell_name(cell)));
    }
    Ok(match reason {
        StopReason::Interrupted => {
            terminal::note(&format!("stopped; continue with: {}", resume_line("locks", path, "")));
            signal.map_or(exit::COMMAND_FAILED, exit::signal_status)
        }
        _ if left_out.is_empty() => exit::SUCCESS,
        _ => exit::COMMAND_FAILED,
    })
}

/// Shows the study of locks at `path`.
pub(super) fn print(study: &LockStudy, path: &Path, format: &FormatArgs, wide: bool) -> Result<()> {
    ensure!(!format.hyperfine_json, NOT_HYPERFINE);
    let view = locks_view(study);
    let text = if format.json {
        report::locks_json(&view)?
    } else if format.csv {
        let mut bytes = Vec::new();
        report::locks_csv(&view, &mut bytes)?;
        String::from_utf8(bytes)?
    } else if format.markdown {
        let mut text = String::new();
        report::locks_markdown(&view, &mut text)?;
        text
    } else {
        report::locks_report(&view, Some(path), &terminal::style(wide))
    };
    terminal::print(&text)
}

/// Study of locks at `path` for a page.
pub(super) fn page_data(study: &LockStudy, path: &Path) -> PageLocks {
    report::page_locks(&study_name(path), &locks_command_line(&study.header.plan), locks_view(study))
}
