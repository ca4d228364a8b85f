//! `morecores locks`: plans a study of locks, makes it while watching for signals, keeps it and
//! shows it. `morecores tune-spin`: how long a lock spins here.

mod progress_text;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use morecores_lock_lab::{CELL_PROGRAM, LockCellError, ProcessLaboratory};
use morecores_machine::{clock, host};
use morecores_measure::budget::Budget;
use morecores_measure::control::Control;
use morecores_measure::sweep::{Finish, PreviousRuns, after_all_runs, sweep};
use morecores_report::Style;
use morecores_study::lock::{
    Laboratory, LockCell, LockHeader, LockPlan, LockRun, LockStudy, LockStudyWriter,
};
use morecores_study::{Closing, StopReason};

use super::display::Bar;
use super::progress::Progress;
use super::recorder::{StudyRecorder, new_header};
use super::resume::{ensure_same_machine, resume_line};
use super::show::{ShownStudy, check_format_of_locks};
use super::signals::EndAfterMeasuring;
use super::watch::{self, Clock, Limits, WatchedResult};
use crate::args::{LocksArgs, TuneSpinArgs};
use crate::options::{LocksOptions, ResumeLocksOptions};
use crate::{exit, programs, terminal};
use progress_text::{LockProgressText, cell_name, expected_costs};

pub(crate) fn locks(args: &LocksArgs) -> Result<u8> {
    check_format_of_locks(&args.format)?;
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
    let bar = if args.quiet { Bar::hidden() } else { Bar::new() };
    let progress = Progress::new(experiment, earlier, LockProgressText, bar);
    progress.set_start(expected_costs(&study.header.plan), Vec::new(), |_| {});
    let after = EndAfterMeasuring::with_study(&path);
    let watched =
        watch::run_watched(Limits::default(), control, progress, &after, move |control, progress| {
            measure(&study, writer, &mut laboratory, control, progress)
        })?;
    finish(args, &path, watched, &after)
}

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
    let existing = LockStudyWriter::open(&options.study)?;
    let LockHeader { plan, host, .. } = &existing.study.header;
    ensure_same_machine(&options.study, host, &host::read(), [&plan.cpus])?;
    let laboratory = laboratory(plan, control)?;
    let (study, writer) = existing.resume(|header| options.adjust(header))?;
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
    laboratory.watch_quiet_machine();
    let experiment = study.header.plan.experiment();
    let earlier = PreviousRuns::new(&experiment, &study.runs, |_| true);
    let (mut all_runs, mut budget, clock) =
        (after_all_runs(&experiment), Budget::unlimited(), Clock(control));
    let swept = sweep(&experiment, earlier, laboratory, &mut recorder, &mut all_runs, &mut budget, &clock);
    let finish = match swept {
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
        other_programs: laboratory.other_programs(),
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
        ShownStudy::read(path)?.print(&args.format, &Style { wide: args.wide, ..terminal::style() })?;
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

/// `morecores tune-spin`: prints the spin time of the lock `adaptive` here, and its derivation.
pub(crate) fn tune_spin(args: &TuneSpinArgs) -> Result<u8> {
    let tuning = morecores_lock_lab::measure_spin_tuning();
    if args.json {
        terminal::print_json(&tuning)?;
    } else {
        terminal::print(&morecores_report::spin_tuning_report(&tuning, &terminal::style()))?;
    }
    Ok(exit::SUCCESS)
}
