//! Corpus of programs whose elapsed time on any number of CPUs is known from a simulator.
//! Predictions are tuned on it and scored by it.
//!
//! The corpus is independent of the predictor: nothing in it uses a model or a replay of the crate,
//! or was written after one. A trace holds only the events that the tracer would have recorded of
//! the simulated run: no job sizes, no lock owners.
//!
//! ```text
//! seed ─> generator ─> Program ─┬─> truth(program, m): median of 5 runs, cpus = n = m
//!                               └─> trace(program, size, seed, mode): a header and its events
//! ```
// Each test binary includes this module and uses a part of it.
#![allow(dead_code, unused_imports)]

mod features;
mod generator;
mod machine;
mod program;
mod simulator;

use std::ops::Range;

use morecores_study::Nanos;

pub(crate) use features::{Feature, generate_varied_program};
pub(crate) use generator::generate_program;
pub(crate) use machine::{Capacity, MachineCosts, Memory, Siblings};
pub(crate) use program::{Device, HeldWait, Job, Lock, LockKind, Phase, Program, Step, Style, Wakes};
pub(crate) use simulator::{Outcome, Size, Trace, TraceDetail, simulate};

/// Seeds of the programs for tuning a predictor.
pub(crate) const TUNING: Range<u64> = 0..200;
/// Seeds of further tuning programs: a gain on the first 200 may be chance.
pub(crate) const MORE_TUNING: Range<u64> = 200..600;
/// Seeds of the programs for scoring. Nobody looks at them while tuning.
pub(crate) const SCORING: Range<u64> = 1000..1200;

/// Number of runs whose median is a truth.
const RUNS: u64 = 5;
/// First noise seed of traces, so that no traced run is one of the runs of the truth.
const TRACED: u64 = 1 << 32;

/// Programs of these seeds; use [`TUNING`] or [`SCORING`].
/// [`generate_varied_program`] gives other programs for the same seeds.
pub(crate) fn corpus(seeds: Range<u64>) -> impl Iterator<Item = Program> {
    seeds.map(generate_program)
}

/// Elapsed time on `size` CPUs with `{n}` equal to `size`: the median of five untraced runs.
pub(crate) fn truth(program: &Program, size: u32) -> Nanos {
    median_times(program, size).0
}

/// Median elapsed time and median CPU time of five untraced runs.
pub(crate) fn median_times(program: &Program, size: u32) -> (Nanos, Nanos) {
    let size = Size { cpus: size, n: size };
    let run = |seed| {
        let run = simulate(program, size, seed, TraceDetail::Untraced);
        (run.elapsed, run.threads.iter().map(|(_, time)| *time).sum::<Nanos>())
    };
    let (elapsed, work): (Vec<_>, Vec<_>) = (0..RUNS).map(run).unzip();
    (median(elapsed), median(work))
}

fn median(values: Vec<Nanos>) -> Nanos {
    Nanos::median(values).expect("runs")
}

/// Trace of one more run, which is none of the runs of the truth.
pub(crate) fn trace(program: &Program, size: Size, seed: u64, mode: TraceDetail) -> Trace {
    simulate(program, size, TRACED + seed, mode).trace.expect("this run is watched")
}
