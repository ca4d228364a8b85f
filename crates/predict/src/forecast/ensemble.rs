//! Many replays of one program: what a single one takes for certain is drawn anew for each.
//!
//! Drawn are: how long each thread's work takes, from run to run; how long a thread keeps its CPU, where the trace does not tell;
//! how the slowdown by other busy CPUs goes on beyond what was measured, and how much longer locks are then held; and how much of the
//! work that came with more threads than CPUs goes again where each has one.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use morecores_study::Nanos;

use super::evidence::{Evidence, Measured};
use super::locked::{Growth, Locked, growth};
use super::traced::TracedProgram;
use crate::replay::{Inflation, Program, Shape, replay};

/// How many replays: quantiles at 5 and 95% are then the third smallest and largest, and steady to some tenths of the spread.
const DRAWS: u64 = 40;

/// Standard deviation of how long one thread's work takes from run to run, where nothing is known: that of compiler runs on a
/// quiet machine.
const JITTER: f64 = 0.02;

/// What the second busy CPU adds to the time of a piece of work, where one count alone was measured; below zero stands for nothing.
const UNKNOWN_SECOND: Range<f64> = -0.06..0.08;

/// How much higher that may be for work in the kernel, whose locks, counters and address spaces all CPUs share: source 003 found kernels
/// for several CPUs to take 6% longer on one, and here a second CPU adds a fifth where little else is done.
const UNKNOWN_KERNEL: f64 = 0.25;

/// How much longer a lock is held, at most, for each busy CPU beyond those traced, where that is not known: what it protects was last
/// written on another CPU, and comes from there the slower the more there are.
const MOST_GROWTH: f64 = 0.12;

/// Slices drawn from: `base_slice_ns` of the fair scheduler on one, two, and eight or more CPUs (`kernel/sched/fair.c`).
const SLICES: [Nanos; 3] = [Nanos(700_000), Nanos(1_400_000), Nanos(2_800_000)];

/// Shapes of slowdown drawn from: what is shared is mostly felt less by each CPU more than by the one before.
const SHAPES: [Shape; 3] = [Shape::Logarithmic, Shape::Logarithmic, Shape::Linear];

/// Replays of one program.
pub(super) struct Ensemble<'e> {
    evidence: &'e Evidence,
    program: &'e TracedProgram,
    /// With its locks.
    whole: Program,
    /// What is known of how each of them is held longer on more CPUs.
    growth: Vec<Option<Growth>>,
    /// Of CPU time with so many CPUs busy on average, relative to one.
    inflation: Vec<(f64, f64)>,
}

/// What they say of one count.
pub(super) struct Told {
    /// Elapsed time in seconds.
    pub(super) median: f64,
    /// Standard deviation of its logarithm, towards less and towards more.
    pub(super) spread: [f64; 2],
    /// Waits that were cut short in one replay, over threads: the most of all replays.
    pub(super) forced: f64,
}

impl<'e> Ensemble<'e> {
    /// Of `program`; the slowdown is fitted to the `known` points.
    pub(super) fn new(evidence: &'e Evidence, program: &'e TracedProgram, known: &[Measured]) -> Self {
        let inflation = inflation(evidence, known);
        let usual = Inflation::fit(Shape::Logarithmic, &inflation);
        let Locked { whole, .. } = Locked::of(evidence, program, usual);
        let growth = growth(evidence, program, usual);
        Self { evidence, program, whole, growth, inflation }
    }

    /// Elapsed time on `cpus`, from what was measured on as many as were traced.
    pub(super) fn elapsed(&self, measured: Measured, cpus: u32) -> Told {
        let told_more = self.evidence.told_more(self.program);
        let crowding = self.evidence.crowding(self.program).ln();
        let most = UNKNOWN_SECOND.end + UNKNOWN_KERNEL * measured.kernel.unwrap_or(0.0);
        let unknown_second = UNKNOWN_SECOND.start..most;
        let ratio = |draw: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(draw);
            let program = &self.whole;
            // The first draw has the usual shape, and every thread works as long as it did.
            let shape = match draw {
                0 => Shape::Logarithmic,
                _ => SHAPES[rng.random_range(0..SHAPES.len())],
            };
            let inflation = match self.inflation.as_slice() {
                [] => Inflation { shape, second: rng.random_range(unknown_second.clone()).max(0.0) },
                measured => Inflation::fit(shape, measured),
            };
            let pace = pace(program.threads.len(), &mut rng, if draw == 0 { 0.0 } else { JITTER });
            let slice = SLICES[rng.random_range(0..SLICES.len())];
            let unknown = rng.random_range(0.0..MOST_GROWTH);
            let growth: Vec<f64> = self
                .growth
                .iter()
                .map(|known| drawn(unknown, *known, rng.random_range(0.001..0.999)))
                .collect();
            let goes: f64 = rng.random();
            let traced = self.program.cpus;
            let on = |cpus| {
                let mut machine = self.program.machine(cpus, inflation);
                machine.pace.clone_from(&pace);
                machine.growth.clone_from(&growth);
                machine.grows_beyond = traced;
                machine.slice = self.program.demands.slice.unwrap_or(slice);
                let replayed = replay(program, &machine);
                (replayed.elapsed.as_secs_f64(), replayed.forced)
            };
            let ((there, forced), (here, _)) = (on(cpus), on(traced));
            ((there / here).ln() - goes * crowding, forced)
        };
        let (mut ratios, forced): (Vec<f64>, Vec<u32>) = (0..DRAWS).into_par_iter().map(ratio).unzip();
        ratios.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
        let middle = at(0.5);
        let spread = [(middle - at(0.05)) / super::Z90, (at(0.95) - middle) / super::Z90];
        let most_forced = forced.into_iter().max().unwrap_or(0);
        let forced = f64::from(most_forced) / self.whole.threads.len().max(1) as f64;
        Told { median: measured.elapsed * told_more * middle.exp(), spread, forced }
    }
}

/// The likeliest slowdown by all that was measured.
pub(super) fn usual_inflation(evidence: &Evidence) -> Inflation {
    Inflation::fit(Shape::Logarithmic, &inflation(evidence, &evidence.points))
}

/// How much longer a lock is held for each busy CPU more: what would be drawn were nothing known, and what is, each by its precision.
/// `chance` is where in what the latter leaves open.
fn drawn(unknown: f64, known: Option<Growth>, chance: f64) -> f64 {
    let Some(known) = known else { return unknown };
    let Ok(normal) = Normal::new(known.mean, known.deviation) else { return unknown };
    // Of a uniform distribution.
    let variance = MOST_GROWTH.powi(2) / 12.0;
    let weight = variance / (variance + known.deviation.powi(2));
    (weight * normal.inverse_cdf(chance) + (1.0 - weight) * unknown).max(0.0)
}

/// A program with its locks, as it is replayed.
pub(super) fn whole(evidence: &Evidence, program: &TracedProgram) -> Program {
    Locked::of(evidence, program, usual_inflation(evidence)).whole
}

/// Factors of each thread's work.
fn pace(threads: usize, rng: &mut ChaCha8Rng, deviation: f64) -> Vec<f64> {
    let Ok(normal) = Normal::new(0.0, deviation.max(f64::MIN_POSITIVE)) else { return Vec::new() };
    if deviation == 0.0 {
        return Vec::new();
    }
    (0..threads).map(|_| normal.inverse_cdf(rng.random_range(0.001..0.999)).exp()).collect()
}

/// How CPU time grew with the CPUs that were busy, from the smallest count on; empty where that is not known.
pub(super) fn inflation(evidence: &Evidence, known: &[Measured]) -> Vec<(f64, f64)> {
    let Some((first, work)) = known.first().and_then(|first| Some((first, first.work?))) else {
        return Vec::new();
    };
    if first.cpus != 1 || !evidence.is_time {
        return Vec::new();
    }
    known[1..].iter().filter_map(|point| Some((point.work? / point.elapsed, point.work? / work))).collect()
}
