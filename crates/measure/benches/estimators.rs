//! Splits of the CPU time of short processes into user and system time by each estimator on this
//! machine. Exit records must agree with the cgroup, and `getrusage` must report far less kernel
//! time.
//!
//! The exit status is 1 if they do not. The bench is part of `make accuracy`, and runs as root. The
//! tests check the properties that hold on any machine.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

use std::process::ExitCode;
use std::sync::Arc;

use morecores_machine::process;
use morecores_measure::control::Control;
use morecores_measure::executor::{Accounting, ProcessExecutor};
use morecores_measure::input::Input;
use morecores_measure::sweep::{Executor, Trial};
use morecores_study::*;

/// Shell line that runs 500 processes of half a millisecond.
const LINE: &str = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done";

/// Number of runs by each estimator: about 1,000 ticks.
const RUNS: u32 = 6;

const ESTIMATORS: [CpuEstimator; 3] =
    [CpuEstimator::Cgroup, CpuEstimator::Taskstats, CpuEstimator::Getrusage];

fn main() -> ExitCode {
    let mut runs = [const { Vec::new() }; 3];
    // The estimators take turns, so that other work on the machine affects all of them alike.
    for index in 0..RUNS {
        for (runs, estimator) in runs.iter_mut().zip(ESTIMATORS) {
            runs.push(run(index, estimator));
        }
    }
    for (runs, estimator) in runs.iter().zip(ESTIMATORS) {
        if runs.iter().any(|cpu| cpu.estimator != estimator) {
            println!(
                "skipped: {estimator:?} is not to be had here: it needs root and, for cgroups, version 2"
            );
            return ExitCode::SUCCESS;
        }
    }
    let [(cgroup, cgroup_s), (exits, exits_s), (getrusage, _)] = runs.each_ref().map(|runs| sums(runs));
    println!("in the kernel: cgroup {cgroup:.3}, exit records {exits:.3}, getrusage {getrusage:.3}");
    println!("CPU time: cgroup {cgroup_s:.3} s, exit records {exits_s:.3} s");
    // Chance causes a difference of 2 points; CPUs that are taken away with their ticks cause up to
    // 14. getrusage counts a process shorter than a tick as user time only.
    let right =
        (exits - cgroup).abs() < 0.2 && getrusage < 0.6 * exits && (exits_s / cgroup_s - 1.0).abs() < 0.25;
    println!("{}", if right { "ok" } else { "MISS" });
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(index: u32, estimator: CpuEstimator) -> CpuTime {
    let cpu_set = process::affinity(0).unwrap();
    let point = Point { cpu_set: cpu_set.clone(), ..morecores_testkit::point(cpu_set.len() as u32) };
    let plan = Plan { trace: TraceMode::Off, ..morecores_testkit::plan(vec![point.clone()]) };
    let command = Command::Shell { line: LINE.into() };
    let (control, only) = (Arc::new(Control::default()), Accounting::Only(estimator));
    let mut executor =
        ProcessExecutor::with_accounting(&command, &plan, Input::none(), control, only).unwrap();
    let outcome = executor.execute(&Trial { index, round: index, phase: Phase::Timed, cell: point }).unwrap();
    assert_eq!(outcome.run.exit, Exit::Code(0), "{}", outcome.output);
    outcome.run.cpu
}

/// Share of kernel time over all runs, and total CPU time in seconds.
fn sums(runs: &[CpuTime]) -> (f64, f64) {
    let system: f64 = runs.iter().map(|cpu| cpu.system_ns.as_secs_f64()).sum();
    let user: f64 = runs.iter().map(|cpu| cpu.user_ns.as_secs_f64()).sum();
    (system / (user + system), user + system)
}
