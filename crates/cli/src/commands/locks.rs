//! `morecores locks`: plans a study of locks, makes it while watching for signals, keeps it and
//! shows it.

mod keep;
mod progress;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use morecores_machine::{clock, host};
use morecores_measure::control::Control;
use morecores_measure::lock_cell::ProcessLaboratory;
use morecores_measure::lock_sweep::{LockFinish, LockSweepError, lock_sweep};
use morecores_report as report;
use morecores_study::lock::{
    LOCK_STUDY_SCHEMA, LockClosing, LockHeader, LockPlan, LockStudy, LockStudyWriter,
};
use morecores_study::{Host, StopReason};
use morecores_view::locks_view;
use morecores_view::page::PageLocks;

use super::derive::study_name;
use super::signals::EndAfterMeasuring;
use super::watch::{self, Clock, Limits, Watched};
use super::work;
use crate::args::{FormatArgs, LocksArgs};
use crate::options::{LocksOptions, ResumeLocksOptions, typed};
use crate::{exit, terminal};
use keep::CellsKeeper;
use progress::LockProgress;

pub(crate) fn locks(args: &LocksArgs) -> Result<u8> {
    ensure!(!args.format.hyperfine_json, NOT_HYPERFINE);
    let control = Arc::new(Control::default());
    let Begun { study, writer, mut laboratory } = match ResumeLocksOptions::new(args)? {
        Some(options) => resume(&options, &control)?,
        None => begin(args, &control)?,
    };
    let path = writer.path().to_owned();
    if study.header.plan.cpus.len() < 2 && !args.quiet {
        terminal::note(
            "only one CPU is usable: handing a lock over, an owner taken off its CPU and the way of a cache line are left \
             out, which take two",
        );
    }
    let progress = Arc::new(LockProgress::new(&study, args.quiet));
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
    "--hyperfine-json is of the runs of a command, and a study of locks has none: use --json or --csv";

/// Study that is ready to be measured, its writer and its laboratory.
struct Begun {
    study: LockStudy,
    writer: LockStudyWriter,
    laboratory: ProcessLaboratory,
}

fn laboratory(plan: &LockPlan, control: &Arc<Control>) -> Result<ProcessLaboratory> {
    Ok(ProcessLaboratory::new(&work::program(), plan, Arc::clone(control))?)
}

/// Creates a new study.
fn begin(args: &LocksArgs, control: &Arc<Control>) -> Result<Begun> {
    let host = host::read();
    let LocksOptions { plan, study } = LocksOptions::new(args, &host.topology)?;
    let laboratory = laboratory(&plan, control)?;
    let header = LockHeader {
        schema: LOCK_STUDY_SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created_at_ns: clock::realtime(),
        plan,
        host,
        closing: None,
        unknown: serde_json::Map::new(),
    };
    let writer = study.create(|path| LockStudyWriter::create(path, header.clone()))?;
    Ok(Begun { study: LockStudy { header, runs: Vec::new(), damaged_lines: 0 }, writer, laboratory })
}

/// Opens an existing study to resume it.
fn resume(options: &ResumeLocksOptions, control: &Arc<Control>) -> Result<Begun> {
    let before = LockStudy::read(&options.study)?;
    let (then, now) = (&before.header.host, host::read());
    let of = |host: &Host| (host.hostname.clone(), host.cpu_model.clone());
    ensure!(
        of(then) == of(&now),
        "{} was made on {} ({}); a study is of one machine: make a new one here",
        options.study.display(),
        then.hostname,
        then.cpu_model
    );
    let plan = &before.header.plan;
    ensure!(
        plan.cpus.is_subset(&now.topology.usable.cpus),
        "CPUs {} of the study are not all usable any more",
        plan.cpus
    );
    let laboratory = laboratory(plan, control)?;
    let (study, writer) = LockStudyWriter::resume(&options.study, |header| options.adjust(header))?;
    Ok(Begun { study, writer, laboratory })
}

/// Measures the cells. It runs on a separate thread, which does nothing else.
fn measure(
    study: &LockStudy,
    writer: LockStudyWriter,
    laboratory: &mut ProcessLaboratory,
    control: &Control,
    progress: &LockProgress,
) -> Result<LockFinish> {
    let mut keeper = CellsKeeper::new(writer, progress);
    laboratory.look_before();
    let plan = &study.header.plan;
    let finish = match lock_sweep(plan, &study.runs, laboratory, &mut keeper, &Clock(control)) {
        Ok(finish) => finish,
        Err(error) => {
            // A new study without a cell would only block the next attempt.
            keeper.abandon()?;
            return Err(match error {
                LockSweepError::Laboratory(error) => error.into(),
                LockSweepError::Keep(error) => anyhow::Error::from(error),
            });
        }
    };
    keeper.close(LockClosing {
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
    watched: Watched<LockFinish>,
    after: &EndAfterMeasuring,
) -> Result<u8> {
    let signal = watched.signal;
    let LockFinish { reason, failed } = watched.result?;
    if let Some(signal) = signal.filter(|_| reason != StopReason::Interrupted) {
        // The signal came too late to stop a cell.
        after.end(signal);
    }
    if !args.quiet {
        print(&LockStudy::read(path)?, path, &args.format, args.wide)?;
    }
    if let Some((cell, error)) = failed.first() {
        let more = match failed.len() - 1 {
            0 => String::new(),
            more => format!("; nor could {more} more"),
        };
        terminal::note(&format!("{} could not be measured: {error}{more}", progress::in_words(cell)));
    }
    Ok(match reason {
        StopReason::Interrupted => {
            terminal::note(&format!("stopped; go on with: morecores locks --resume {}", path.display()));
            signal.map_or(exit::COMMAND_FAILED, exit::by_signal)
        }
        _ if failed.is_empty() => exit::SUCCESS,
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
pub(super) fn on_page(study: &LockStudy, path: &Path) -> PageLocks {
    report::page_locks(&study_name(path), &typed(&study.header.plan), locks_view(study))
}
