//! Programs whose elapsed time on any number of CPUs is known, because a simulator tells it: what predictions are
//! tuned on and scored by.
//!
//! Independent of what it judges: nothing here uses, or was written after, a model or a replay of the crate. A trace
//! holds what the tracer would have told of the simulated run and nothing else: no sizes of jobs, no owner of a lock.
//!
//! ```text
//! seed ─> generator ─> Program ─┬─> truth(program, m): median of five untraced runs with cpus = n = m
//!                               └─> trace(program, size, seed, watch): a header and its events
//! ```
// Each test binary holds this module and uses a part of it.
#![allow(dead_code, unused_imports)]

mod generator;
mod program;
mod simulator;

use std::ops::Range;

use morecores_study::Nanos;

pub(crate) use generator::generate;
pub(crate) use program::{Device, Gear, Job, Lock, LockKind, Memory, Phase, Program, Step, Style};
pub(crate) use simulator::{Outcome, Size, Trace, Watch, simulate};

/// Seeds of the programs that a predictor may be tuned on.
pub(crate) const TUNING: Range<u64> = 0..200;
/// Of more such programs: what 200 of them gain may be chance.
pub(crate) const MORE_TUNING: Range<u64> = 200..600;
/// Seeds of the programs that it is scored by, at which nobody looks while tuning.
pub(crate) const SCORING: Range<u64> = 1000..1200;

/// Runs whose median is a truth.
const RUNS: u64 = 5;
/// Where the noise seeds of traces begin, so that no traced run is one of those of the truth.
const TRACED: u64 = 1 << 32;

/// The programs of these seeds; use [`TUNING`] or [`SCORING`].
pub(crate) fn corpus(seeds: Range<u64>) -> impl Iterator<Item = Program> {
    seeds.map(generate)
}

/// The elapsed time on `size` CPUs with as much for `{n}`: the median of five untraced runs.
pub(crate) fn truth(program: &Program, size: u32) -> Nanos {
    measured(program, size).0
}

/// The same, and the median of their CPU time.
pub(crate) fn measured(program: &Program, size: u32) -> (Nanos, Nanos) {
    let size = Size { cpus: size, n: size };
    let run = |seed| {
        let run = simulate(program, size, seed, Watch::Untraced);
        (run.elapsed, run.threads.iter().map(|(_, time)| *time).sum::<Nanos>())
    };
    let (elapsed, work): (Vec<_>, Vec<_>) = (0..RUNS).map(run).unzip();
    (median(elapsed), median(work))
}

fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values[values.len() / 2]
}

/// What the tracer tells of one more run, which is none of those of the truth.
pub(crate) fn trace(program: &Program, size: Size, seed: u64, watch: Watch) -> Trace {
    simulate(program, size, TRACED + seed, watch).trace.expect("this run is watched")
}
