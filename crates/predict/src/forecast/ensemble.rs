//! Ensemble of replays of one program: each replay draws the quantities that a single replay takes
//! as certain.
//!
//! Each replay draws:
//!
//! - the variation of each thread's work from run to run;
//! - the time slice of a thread, if the trace does not show it;
//! - the shape of the slowdown by other busy CPUs beyond the measured counts, and the growth of
//!   lock hold times;
//! - the share of the extra work from oversubscription that disappears with one CPU per thread.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use morecores_study::Nanos;

use super::evidence::{Evidence, MeasuredPoint};
use super::locked_program::{HoldGrowth, LockedProgram, hold_growth};
use super::traced_program::TracedProgram;
use crate::replay::{Inflation, Program, Shape, replay};

/// Number of replays. With 40 replays the 5% and 95% quantiles are the third smallest and largest
/// values, steady to some tenths of the spread.
const DRAWS: u64 = 40;

/// Standard deviation of one thread's work from run to run, when it is unknown: the value for
/// compiler runs on a quiet machine.
const JITTER: f64 = 0.02;

/// Range of the extra time of a piece of work beside a second busy CPU, when only one count was
/// measured. Values below zero count as zero.
const UNKNOWN_SLOWDOWN: Range<f64> = -0.06..0.08;

/// Increase of that range's upper end for work in the kernel, where all CPUs share locks, counters
/// and address spaces. Source 003 found that multiprocessor kernels take 6% longer on one CPU. In
/// this project's measurements, a second CPU adds a fifth to work that is mostly in the kernel.
const UNKNOWN_KERNEL_SLOWDOWN: f64 = 0.25;

/// Upper limit of the growth of a lock's hold time per busy CPU beyond the traced ones, when the
/// growth is unknown. Another CPU last wrote the protected data, and fetching it takes longer with
/// more CPUs.
const MAX_GROWTH: f64 = 0.12;

/// Time slices to draw from: `base_slice_ns` of the fair scheduler on one, two, and eight or more
/// CPUs (`kernel/sched/fair.c`).
const SLICES: [Nanos; 3] = [Nanos(700_000), Nanos(1_400_000), Nanos(2_800_000)];

/// Slowdown shapes to draw from. On a shared resource each further CPU usually adds less slowdown
/// than the one before, so the logarithmic shape appears twice.
const SHAPES: [Shape; 3] = [Shape::Logarithmic, Shape::Logarithmic, Shape::Linear];

/// Replays of one program with drawn parameters.
pub(super) struct Ensemble<'e> {
    evidence: &'e Evidence,
    program: &'e TracedProgram,
    /// Program with its locks.
    program_with_locks: Program,
    /// Known growth of each lock's hold time with more CPUs.
    hold_growth: Vec<Option<HoldGrowth>>,
    /// Pairs of the mean number of busy CPUs and the CPU time relative to one CPU.
    inflation: Vec<(f64, f64)>,
}

/// Result of the replays at one CPU count.
pub(super) struct ReplayForecast {
    /// Median elapsed time in seconds.
    pub(super) median: f64,
    /// Standard deviation of the logarithm of elapsed time, towards less and towards more.
    pub(super) spread: [f64; 2],
    /// Forced waits per thread in one replay: the maximum over all replays.
    pub(super) forced_waits: f64,
}

impl<'e> Ensemble<'e> {
    /// Prepares the replays of `program` and fits the slowdown to the `known` points.
    pub(super) fn new(evidence: &'e Evidence, program: &'e TracedProgram, known: &[MeasuredPoint]) -> Self {
        let inflation = measured_inflation(evidence, known);
        let likely = Inflation::fit(Shape::Logarithmic, &inflation);
        let LockedProgram { program: program_with_locks, .. } =
            LockedProgram::calibrate(evidence, program, likely);
        let hold_growth = hold_growth(evidence, program, likely);
        Self { evidence, program, program_with_locks, hold_growth, inflation }
    }

    /// Elapsed time on `cpus` CPUs, scaled from `measured`, the point at the traced count.
    pub(super) fn elapsed(&self, measured: MeasuredPoint, cpus: u32) -> ReplayForecast {
        let elapsed_ratio = self.evidence.elapsed_ratio(self.program);
        let oversubscription = self.evidence.oversubscription_cost(self.program).ln();
        let most = UNKNOWN_SLOWDOWN.end + UNKNOWN_KERNEL_SLOWDOWN * measured.kernel.unwrap_or(0.0);
        let unknown_slowdown = UNKNOWN_SLOWDOWN.start..most;
        let ratio = |draw: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(draw);
            let program = &self.program_with_locks;
            // The first draw uses the usual shape and leaves the work of every thread unchanged.
            let shape = match draw {
                0 => Shape::Logarithmic,
                _ => SHAPES[rng.random_range(0..SHAPES.len())],
            };
            let inflation = match self.inflation.as_slice() {
                [] => Inflation { shape, second: rng.random_range(unknown_slowdown.clone()).max(0.0) },
                measured => Inflation::fit(shape, measured),
            };
            let pace = draw_pace(program.threads.len(), &mut rng, if draw == 0 { 0.0 } else { JITTER });
            let slice = SLICES[rng.random_range(0..SLICES.len())];
            let unknown = rng.random_range(0.0..MAX_GROWTH);
            let growth: Vec<f64> = self
                .hold_growth
                .iter()
                .map(|known| draw_growth(unknown, *known, rng.random_range(0.001..0.999)))
                .collect();
            let vanishing_share: f64 = rng.random();
            let traced = self.program.cpus;
            let replay_on = |cpus| {
                let mut machine = self.program.machine(cpus, inflation);
                machine.pace.clone_from(&pace);
                machine.hold_growth.clone_from(&growth);
                machine.growth_threshold = traced;
                machine.slice = self.program.demands.slice.unwrap_or(slice);
                let replayed = replay(program, &machine);
                (replayed.elapsed.as_secs_f64(), replayed.forced_waits)
            };
            let ((target_elapsed, forced), (traced_elapsed, _)) = (replay_on(cpus), replay_on(traced));
            ((target_elapsed / traced_elapsed).ln() - vanishing_share * oversubscription, forced)
        };
        let (mut ratios, forced): (Vec<f64>, Vec<u32>) = (0..DRAWS).into_par_iter().map(ratio).unzip();
        ratios.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
        let middle = quantile(0.5);
        let spread = [(middle - quantile(0.05)) / super::Z90, (quantile(0.95) - middle) / super::Z90];
        let most_forced = forced.into_iter().max().unwrap_or(0);
        let forced = f64::from(most_forced) / self.program_with_locks.threads.len().max(1) as f64;
        ReplayForecast {
            median: measured.elapsed * elapsed_ratio * middle.exp(),
            spread,
            forced_waits: forced,
        }
    }
}

/// Most likely slowdown, from all measured points.
pub(super) fn likely_inflation(evidence: &Evidence) -> Inflation {
    Inflation::fit(Shape::Logarithmic, &measured_inflation(evidence, &evidence.points))
}

/// Growth of a lock's hold time per further busy CPU: the mean of the draw for an unknown lock and
/// the draw from the known distribution, weighted by precision. `chance` is the quantile in the
/// known distribution.
fn draw_growth(unknown: f64, known: Option<HoldGrowth>, chance: f64) -> f64 {
    let Some(known) = known else { return unknown };
    let Ok(normal) = Normal::new(known.mean, known.deviation) else { return unknown };
    // Variance of a uniform distribution.
    let variance = MAX_GROWTH.powi(2) / 12.0;
    let weight = variance / (variance + known.deviation.powi(2));
    (weight * normal.inverse_cdf(chance) + (1.0 - weight) * unknown).max(0.0)
}

/// Program with its locks, ready for replay.
pub(super) fn program_with_locks(evidence: &Evidence, program: &TracedProgram) -> Program {
    LockedProgram::calibrate(evidence, program, likely_inflation(evidence)).program
}

/// Random factor on the work of each thread.
fn draw_pace(threads: usize, rng: &mut ChaCha8Rng, deviation: f64) -> Vec<f64> {
    let Ok(normal) = Normal::new(0.0, deviation.max(f64::MIN_POSITIVE)) else { return Vec::new() };
    if deviation == 0.0 {
        return Vec::new();
    }
    (0..threads).map(|_| normal.inverse_cdf(rng.random_range(0.001..0.999)).exp()).collect()
}

/// Growth of CPU time with the number of busy CPUs, relative to one CPU; empty when it is unknown.
pub(super) fn measured_inflation(evidence: &Evidence, known: &[MeasuredPoint]) -> Vec<(f64, f64)> {
    let Some((first, work)) = known.first().and_then(|first| Some((first, first.work?))) else {
        return Vec::new();
    };
    if first.cpus != 1 || !evidence.is_time {
        return Vec::new();
    }
    known[1..].iter().filter_map(|point| Some((point.work? / point.elapsed, point.work? / work))).collect()
}
