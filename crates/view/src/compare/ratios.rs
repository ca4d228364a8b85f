//! Ratios of a comparison, and the decision on which of them are differences.
//!
//! A ratio is a difference if it meets three conditions. Its interval, at its part of the
//! probability of error, excludes 1. The ratio exceeds the noise floors of both studies. The ratio
//! is not below the requested minimum. This module knows samples of numbers, not studies.

use crate::{Difference, Estimate};
use morecores_study::{Better, Cell, InCell, RoundValue};

use super::Ratio;
use crate::types::find_base;
use morecores_statistics::{
    Design, Interval, median, noise_floor, paired_ratio_interval_with_alpha, ratio_interval_with_alpha,
    round_ratios, values,
};

/// Runs of both studies in one cell.
#[derive(Clone, Debug)]
pub(super) struct PairedSamples {
    pub(super) cell: Cell,
    pub(super) base: Vec<RoundValue>,
    pub(super) new: Vec<RoundValue>,
    pub(super) base_design: Design,
    pub(super) new_design: Design,
}

impl InCell for PairedSamples {
    fn cell(&self) -> Cell {
        self.cell.clone()
    }
}

impl PairedSamples {
    /// Returns the larger noise floor of the two studies.
    fn noise_floor(&self) -> Option<f64> {
        Some(noise_floor(&values(&self.base))?.max(noise_floor(&values(&self.new))?))
    }
}

/// Speedup within one of the two studies.
#[derive(Debug)]
struct SideSpeedup {
    value: f64,
    interval: Option<Interval>,
    noise_floor: Option<f64>,
}

/// Tests of all ratios of one comparison. The number of ratios enters each test.
#[derive(Debug)]
pub(super) struct RatioTests<'a> {
    samples: &'a [PairedSamples],
    ratios: u32,
    better: Better,
    minimum_difference: f64,
}

impl<'a> RatioTests<'a> {
    pub(super) fn new(samples: &'a [PairedSamples], better: Better, minimum_difference: f64) -> Self {
        let mut tests = Self { samples, ratios: 0, better, minimum_difference };
        let speedups = samples.iter().filter_map(|samples| tests.speedup_base(samples)).count();
        tests.ratios = (samples.len() + speedups) as u32;
        tests
    }

    /// Returns the smallest common count with the same values on further axes, the base of the
    /// speedup of these samples; none for the base itself.
    fn speedup_base(&self, samples: &PairedSamples) -> Option<&'a PairedSamples> {
        find_base(self.samples, &samples.cell).filter(|base| base.cell != samples.cell)
    }

    /// Returns the number of ratios: one for each cell, and one speedup for each cell that is not
    /// the base of the speedups.
    pub(super) fn ratios(&self) -> u32 {
        self.ratios
    }

    /// Returns the ratio of NEW to BASE in one cell.
    pub(super) fn ratio(&self, samples: &PairedSamples) -> Ratio {
        let (value, interval) = self.quotient(
            &values(&samples.new),
            samples.new_design,
            &values(&samples.base),
            samples.base_design,
        );
        self.judge_ratio(value, interval, samples.noise_floor(), self.better)
    }

    /// Returns the speedup of BASE, the speedup of NEW, and the ratio of NEW's to BASE's. Returns
    /// none at the base of the speedups.
    ///
    /// The interval is that of Zou & Donner (Statistics in Medicine 27, 2008, "method of variance
    /// estimates recovery") for the difference of two independent estimates. Here these are the
    /// logarithms of the speedups. Each side contributes the part of its own interval that points
    /// away from the other side.
    pub(super) fn speedup(&self, samples: &PairedSamples) -> Option<(f64, f64, Ratio)> {
        let first = self.speedup_base(samples)?;
        let base = self.speedup_of_side(&first.base, &samples.base, samples.base_design);
        let new = self.speedup_of_side(&first.new, &samples.new, samples.new_design);
        let interval =
            new.interval.zip(base.interval).map(|(n, b)| log_difference((new.value, n), (base.value, b)));
        let floor = new.noise_floor.zip(base.noise_floor).map(|(n, b)| n.max(b));
        Some((
            base.value,
            new.value,
            self.judge_ratio(new.value / base.value, interval, floor, Better::Higher),
        ))
    }

    /// Returns the speedup within one study, as [`morecores_statistics::speedup`] estimates it, at
    /// its part of the probability of error.
    fn speedup_of_side(&self, first: &[RoundValue], here: &[RoundValue], design: Design) -> SideSpeedup {
        if let Some(paired) = round_ratios(first, here, self.better) {
            let ratios = &paired.ratios;
            let alpha = design.ratio_alpha(ratios.len());
            return SideSpeedup {
                value: median(ratios).unwrap_or(f64::NAN),
                interval: alpha.and_then(|alpha| {
                    paired_ratio_interval_with_alpha(ratios, alpha / f64::from(self.ratios.max(1)))
                }),
                noise_floor: noise_floor(ratios),
            };
        }
        let (first, here) = (values(first), values(here));
        let (value, interval) = match self.better {
            Better::Lower => self.quotient(&first, design, &here, design),
            Better::Higher => self.quotient(&here, design, &first, design),
        };
        let floors = noise_floor(&first).zip(noise_floor(&here));
        let noise_floor = floors.map(|(a, b)| a.ln_1p().hypot(b.ln_1p()).exp_m1());
        SideSpeedup { value, interval, noise_floor }
    }

    /// Returns the ratio of two medians and its interval, at its part of the probability of error.
    fn quotient(
        &self,
        above: &[f64],
        above_design: Design,
        below: &[f64],
        below_design: Design,
    ) -> (f64, Option<Interval>) {
        let value = median(above).zip(median(below)).map_or(f64::NAN, |(a, b)| a / b);
        let alpha = above_design.ratio_alpha(above.len()).zip(below_design.ratio_alpha(below.len()));
        let interval = alpha.and_then(|(a, b)| {
            ratio_interval_with_alpha(above, below, a.max(b) / f64::from(self.ratios.max(1)))
        });
        (value, interval)
    }

    fn judge_ratio(
        &self,
        value: f64,
        interval: Option<Interval>,
        floor: Option<f64>,
        better: Better,
    ) -> Ratio {
        let beyond = |limit: f64| value.ln().abs() > limit.ln_1p();
        let difference = match (interval, floor) {
            (Some(interval), Some(floor)) => {
                let is_one = !interval.contains(1.0) && beyond(floor) && beyond(self.minimum_difference);
                match (is_one, (value > 1.0) == (better == Better::Higher)) {
                    (false, _) => Difference::None,
                    (true, true) => Difference::Better,
                    (true, false) => Difference::Worse,
                }
            }
            _ => Difference::Unknown,
        };
        let ci95 = interval.map(Interval::ends);
        Ratio { estimate: Estimate { value, ci95 }, noise_floor: floor, difference }
    }
}

/// Returns the interval of the quotient of two positive estimates with intervals of their own (Zou
/// & Donner 2008, on logarithms).
pub(crate) fn log_difference(above: (f64, Interval), below: (f64, Interval)) -> Interval {
    let ((a, a_interval), (b, b_interval)) = (above, below);
    let middle = (a / b).ln();
    let down = (a / a_interval.lo).ln().hypot((b_interval.hi / b).ln());
    let up = (a_interval.hi / a).ln().hypot((b / b_interval.lo).ln());
    Interval { lo: (middle - down).exp(), hi: (middle + up).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::Coordinates;

    /// An exact side leaves the interval of the other side. Two equal sides widen it by the square
    /// root of two.
    #[test]
    fn the_interval_of_a_quotient_keeps_both_parts() {
        let exact = (2.0, Interval { lo: 2.0, hi: 2.0 });
        let wide = (3.0, Interval { lo: 2.7, hi: 3.6 });
        let alone = log_difference(wide, exact);
        assert!((alone.lo - 1.35).abs() < 1e-12 && (alone.hi - 1.8).abs() < 1e-12, "{alone:?}");
        let e = 1.1_f64;
        let even = (1.0, Interval { lo: 1.0 / e, hi: e });
        let both = log_difference(even, even);
        let expected = (2.0_f64.sqrt() * e.ln()).exp();
        assert!((both.hi - expected).abs() < 1e-12 && (both.lo - 1.0 / expected).abs() < 1e-12, "{both:?}");
    }

    fn rounds(values: &[f64]) -> Vec<RoundValue> {
        values.iter().zip(0..).map(|(&value, round)| RoundValue { round, value }).collect()
    }

    fn samples(cpus: u32, base: &[f64], new: &[f64]) -> PairedSamples {
        let design = Design::Fixed;
        PairedSamples {
            cell: Cell::from_counts(cpus, cpus, &Coordinates::new()),
            base: rounds(base),
            new: rounds(new),
            base_design: design,
            new_design: design,
        }
    }

    #[test]
    fn the_better_direction_depends_on_the_metric() {
        let ten = [1.0, 1.001, 1.002, 0.999, 0.998, 1.0, 1.001, 0.999, 1.0, 1.0];
        let more = ten.map(|v| v * 1.1);
        let both = [samples(1, &ten, &ten), samples(2, &ten, &more)];
        for (better, expected) in [(Better::Lower, Difference::Worse), (Better::Higher, Difference::Better)] {
            let tests = RatioTests::new(&both, better, 0.0);
            assert_eq!(tests.ratios(), 3);
            assert_eq!(tests.ratio(&both[1]).difference, expected);
            assert_eq!(tests.ratio(&both[0]).difference, Difference::None);
            let (base, new, speedup) = tests.speedup(&both[1]).expect("two counts");
            assert_eq!(speedup.difference, expected, "{base} {new}");
            assert!(tests.speedup(&both[0]).is_none());
        }
        // The difference of 10% lies below a requested minimum of 20%.
        assert_eq!(RatioTests::new(&both, Better::Lower, 0.2).ratio(&both[1]).difference, Difference::None);
    }

    #[test]
    fn too_few_runs_give_no_verdict() {
        let few = [samples(1, &[1.0; 5], &[9.0; 5])];
        assert_eq!(RatioTests::new(&few, Better::Lower, 0.0).ratio(&few[0]).difference, Difference::Unknown);
    }
}
