//! Turns the texts of the command line into an executable plan, or into one clear line on why there
//! is none.
//!
//! The module decides and checks, and changes nothing. Each plan that it returns fits this machine.

mod debuginfod;
mod environment;
mod locks;
mod metrics;
mod new_study;
mod predict;
mod quota;
mod report;
mod run;
mod suite;
mod texts;
mod trace;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use morecores_machine::placement::CpuOrder;
use morecores_statistics::MIN_RUNS;
use morecores_study::topology::Topology;
use morecores_study::{Axis, AxisSetting, CPUS_AXIS, Command, InputSource, N_AXIS, Placement, Point};

pub(crate) use debuginfod::debuginfod_client;
pub(crate) use environment::notes_of_resumed;
pub(crate) use locks::{LocksOptions, ResumeLocksOptions, locks_command_line};
pub(crate) use metrics::note_of_older_figures;
pub(crate) use new_study::NewStudy;
pub(crate) use predict::{PredictOptions, WhatIfOptions, default_targets};
pub(crate) use report::{PlotFormat, ReportOptions};
pub(crate) use run::{ResumeOptions, RunOptions};
pub(crate) use suite::{SuiteOptions, study_in};
pub(crate) use texts::{percent, worth};
pub(crate) use trace::TraceOptions;

/// The fewest runs with a 95% interval (docs/methods/measure.md, "Median and its interval").
const LEAST_RUNS: u32 = MIN_RUNS as u32;

/// Most cells of a study. A choice: with one run a second, each round would take more than an hour.
const MOST_CELLS: usize = 4096;

/// Words of the command line as a command. `subcommand` is the subcommand of morecores that
/// received them.
fn command(words: &[OsString], shell: bool, subcommand: &str) -> Result<Command> {
    ensure!(
        !words.is_empty(),
        "no command given: morecores {subcommand} -- COMMAND, for example: morecores {subcommand} -- make -j{{n}}"
    );
    Ok(if shell {
        Command::Shell { line: words.join(OsStr::new(" ")) }
    } else {
        Command::Program { argv: words.to_vec() }
    })
}

/// Source of the command's standard input, of which nothing has been read yet.
fn input(path: Option<&Path>) -> InputSource {
    InputSource { path: path.map(Path::to_owned), content: None }
}

/// Order in which CPUs are added: that of a `--cpu-list`, or else that of a placement, which is
/// then returned too.
fn cpu_order(
    list: Option<&str>,
    placement: Placement,
    topology: &Topology,
) -> Result<(Option<Placement>, CpuOrder)> {
    Ok(match list {
        Some(list) => (None, CpuOrder::from_list(topology, list).context("--cpu-list")?),
        None => (Some(placement), CpuOrder::from_policy(topology, &topology.usable.cpus, placement)),
    })
}

/// Points of a plan at these counts, which ascend. `n` has the values of `{n}` at each count; none
/// stands for the count. Each is planned with each value on the `further` axes.
fn points(order: &CpuOrder, counts: &[usize], n: &[u32], further: &[Axis]) -> Result<Vec<Point>> {
    let listed = order.steps().len();
    if let Some(count) = counts.iter().find(|count| **count > listed) {
        bail!("--cpus asks for {count} CPUs, but --cpu-list has only {listed}");
    }
    let cpus: Vec<u32> =
        counts.iter().map(|count| (*count).try_into()).collect::<Result<_, _>>().context("--cpus")?;
    let n: Vec<AxisSetting> = match n {
        [] => vec![AxisSetting::same_as(CPUS_AXIS)],
        values => values.iter().map(|n| (*n).into()).collect(),
    };
    // The last axis varies fastest: rows that differ in a further axis alone stand together.
    let mut axes = vec![Axis::new(CPUS_AXIS, cpus), Axis::new(N_AXIS, n)];
    axes.extend_from_slice(further);
    let cells: usize = axes.iter().map(|axis| axis.values.len()).product();
    ensure!(
        cells <= MOST_CELLS,
        "{cells} combinations of CPU counts and the values of other axes: measure at most {MOST_CELLS}"
    );
    Ok(Point::from_axes(&axes, |cpus| {
        let count = cpus as usize;
        let before = counts.iter().copied().take_while(|before| *before < count).last().unwrap_or(0);
        (order.cpus(count), order.kinds_added(before, count))
    }))
}

/// Seed from the clock. The study keeps it, so that it can be given again.
fn clock_seed() -> u64 {
    // The low digits of the nanoseconds differ between runs, and six digits are easy to type.
    morecores_machine::clock::realtime().0 % 1_000_000
}
