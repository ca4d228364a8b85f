//! Quantities that a single replay takes as certain and no trace shows: their ranges, and the draw
//! of each.
//!
//! A draw holds:
//!
//! - the time slice of a thread, if the trace does not show it;
//! - the shape of the slowdown by other busy CPUs beyond the measured counts, and the growth of
//!   lock hold times;
//! - the capacity of the machine beyond the measured counts;
//! - the share of the extra work from oversubscription that disappears with one CPU per thread.
//!
//! A wider range gives a wider band. This module replays nothing.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use morecores_study::Nanos;

use super::capacity::{Capacity, CapacityRange};
use super::even::even_quantile;
use crate::forecast::locked_program::HoldGrowth;
use crate::forecast::traced_program::TracedProgram;
use crate::replay::{Inflation, Machine, Shape};

/// Number of draws. With 40 replays the 5% and 95% quantiles are the third smallest and largest
/// values, steady to some tenths of the spread.
pub(in crate::forecast) const DRAWS: u64 = 40;

/// Range of the extra time of a piece of work with a second busy CPU, if only one count was
/// measured. Values below zero count as zero.
const UNKNOWN_SLOWDOWN: Range<f64> = -0.06..0.08;

/// Increase of that range's upper end for work in the kernel, where all CPUs share locks, counters
/// and address spaces. Source 003 found that multiprocessor kernels take 6% longer on one CPU. In
/// this project's measurements, a second CPU adds a fifth to work that is mostly in the kernel.
const UNKNOWN_KERNEL_SLOWDOWN: f64 = 0.25;

/// Step of the quantiles of the slowdown: the golden ratio, without the whole number.
const EVEN_STEP: f64 = 0.618_033_988_749_894_9;

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

/// Known facts about the quantities to draw.
pub(in crate::forecast) struct DrawRanges<'a> {
    /// Pairs of the mean number of busy CPUs and the CPU time relative to one CPU.
    pub(in crate::forecast) inflation: &'a [(f64, f64)],
    /// Share of the CPU time in the kernel, if known.
    pub(in crate::forecast) kernel: Option<f64>,
    /// Known growth of each lock's hold time with more CPUs.
    pub(in crate::forecast) hold_growth: &'a [Option<HoldGrowth>],
    /// Known facts about the CPUs of the predicted machine.
    pub(in crate::forecast) capacity: CapacityRange<'a>,
}

/// One value of each quantity.
pub(in crate::forecast) struct Draw {
    pub(in crate::forecast) inflation: Inflation,
    /// Time slice, for a program whose trace does not show it.
    pub(in crate::forecast) slice: Nanos,
    /// Growth of each lock's hold time per busy CPU beyond the traced ones.
    pub(in crate::forecast) hold_growth: Vec<f64>,
    /// Share of the extra work from oversubscription that disappears.
    pub(in crate::forecast) vanishing_share: f64,
    /// Capacity of the machine.
    pub(in crate::forecast) capacity: Capacity,
}

impl Draw {
    /// Machine with `cpus` CPUs like those of a traced run, with the values of this draw.
    pub(in crate::forecast) fn machine(&self, traced: &TracedProgram, cpus: u32) -> Machine {
        let mut machine = traced.machine(cpus, self.inflation);
        self.capacity.slow_down(&mut machine.slowdown);
        // Without the growth that needs more CPUs, draws for the traced CPUs are often equal.
        let hold_growth = if cpus > traced.cpus { self.hold_growth.clone() } else { Vec::new() };
        Machine {
            hold_growth,
            growth_threshold: traced.cpus,
            slice: traced.demands.slice.unwrap_or(self.slice),
            ..machine
        }
    }
}

impl DrawRanges<'_> {
    /// Draw with this number. The first draw uses the usual shape.
    pub(in crate::forecast) fn draw(&self, number: u64) -> Draw {
        let mut rng = ChaCha8Rng::seed_from_u64(number);
        let shape = match number {
            0 => Shape::Logarithmic,
            _ => SHAPES[rng.random_range(0..SHAPES.len())],
        };
        let most = UNKNOWN_SLOWDOWN.end + UNKNOWN_KERNEL_SLOWDOWN * self.kernel.unwrap_or(0.0);
        let inflation = match self.inflation {
            [] => {
                let range = UNKNOWN_SLOWDOWN.start..most;
                let slowdown = range.start + even_quantile(number, EVEN_STEP) * (range.end - range.start);
                Inflation { shape, second: slowdown.max(0.0) }
            }
            measured => Inflation::fit(shape, measured),
        };
        let slice = SLICES[rng.random_range(0..SLICES.len())];
        let unknown = rng.random_range(0.0..MAX_GROWTH);
        let hold_growth = self
            .hold_growth
            .iter()
            .map(|known| draw_growth(unknown, *known, rng.random_range(0.001..0.999)))
            .collect();
        let (vanishing_share, capacity) = (rng.random(), self.capacity.draw(number));
        Draw { inflation, slice, hold_growth, vanishing_share, capacity }
    }
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
