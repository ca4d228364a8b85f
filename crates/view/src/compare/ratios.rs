//! Ratios of a comparison, and the decision on which of them are differences.
//!
//! All ratios are tested together. A ratio is a difference if its interval excludes 1 and if it is
//! not below the requested minimum. This module knows samples of numbers, not studies.

use crate::{Difference, Estimate};
use morecores_study::{Better, Cell, InCell, RoundValue};

use crate::types::find_base;
use morecores_statistics::{
    Design, Interval, joint_intervals, joint_speedup, median, noise_floor, ratio_interval_with_alpha,
    speedup, values,
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
    pub(super) fn noise_floor(&self) -> Option<f64> {
        Some(noise_floor(&values(&self.base))?.max(noise_floor(&values(&self.new))?))
    }
}

/// Ratio and its verdict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) estimate: Estimate,
    pub(super) difference: Difference,
}

/// Ratios of one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRatios {
    /// Ratio of NEW to BASE.
    pub(super) values: Ratio,
    /// Speedup of BASE, speedup of NEW, and the ratio of NEW's to BASE's; none at the base of the
    /// speedups.
    pub(super) speedup: Option<(f64, f64, Ratio)>,
}

/// Speedups of both studies in one cell, over the smallest common count with the same values on
/// further axes.
struct SpeedupSamples<'a> {
    first: &'a PairedSamples,
    here: &'a PairedSamples,
    better: Better,
}

/// Returns the ratios of each cell, in the order of `samples`, tested together. A relative
/// difference below `minimum_difference` does not count as a difference.
pub(super) fn cell_ratios(
    samples: &[PairedSamples],
    better: Better,
    minimum_difference: f64,
) -> Vec<CellRatios> {
    let speedup = |here| {
        let first = find_base(samples, &PairedSamples::cell(here)).filter(|first| first.cell != here.cell)?;
        Some(SpeedupSamples { first, here, better })
    };
    let speedups: Vec<SpeedupSamples<'_>> = samples.iter().filter_map(speedup).collect();
    let interval = |index: usize, share| match index.checked_sub(samples.len()) {
        None => samples[index].interval(share),
        Some(index) => speedups[index].interval(share),
    };
    let intervals = joint_intervals(samples.len() + speedups.len(), interval, 1.0);
    let (of_values, of_speedups) = intervals.split_at(samples.len());
    let judge = |value, interval, better| judge_ratio(value, interval, better, minimum_difference);
    let speedup_of = |here: &PairedSamples| {
        let (speedup, interval) =
            speedups.iter().zip(of_speedups).find(|(speedup, _)| std::ptr::eq(speedup.here, here))?;
        let [base, new] = speedup.values();
        Some((base, new, judge(new / base, *interval, Better::Higher)))
    };
    samples
        .iter()
        .zip(of_values)
        .map(|(here, interval)| CellRatios {
            values: judge(here.value(), *interval, better),
            speedup: speedup_of(here),
        })
        .collect()
}

impl PairedSamples {
    /// Returns the ratio of the medians, NEW to BASE.
    fn value(&self) -> f64 {
        median(&values(&self.new)).zip(median(&values(&self.base))).map_or(f64::NAN, |(new, base)| new / base)
    }

    /// Returns its interval at a share of the probability of error.
    fn interval(&self, share: f64) -> Option<Interval> {
        let (new, base) = (values(&self.new), values(&self.base));
        quotient_interval((&new, self.new_design), (&base, self.base_design), share)
    }
}

impl SpeedupSamples<'_> {
    /// Returns the speedups of BASE and of NEW.
    fn values(&self) -> [f64; 2] {
        let Self { first, here, better } = self;
        let value = |first: &[RoundValue], here: &[RoundValue], design| {
            speedup(first, here, *better, design).map_or(f64::NAN, |speedup| speedup.value)
        };
        [value(&first.base, &here.base, here.base_design), value(&first.new, &here.new, here.new_design)]
    }

    /// Returns the interval of the ratio of NEW's speedup to BASE's, at a share of the probability
    /// of error.
    ///
    /// It is that of Zou & Donner (Statistics in Medicine 27, 2008, "method of variance estimates
    /// recovery") for the difference of two independent estimates. Here these are the logarithms of
    /// the speedups. Each side contributes the part of its own interval that points away from the
    /// other side.
    fn interval(&self, share: f64) -> Option<Interval> {
        let Self { first, here, better } = self;
        let [base_value, new_value] = self.values();
        let within = |first: &[RoundValue], here: &[RoundValue], design| {
            joint_speedup(first, here, *better, design, share)?.interval
        };
        let base = within(&first.base, &here.base, here.base_design)?;
        let new = within(&first.new, &here.new, here.new_design)?;
        Some(log_difference((new_value, new), (base_value, base)))
    }
}

/// Returns the interval of the ratio of two medians at a share of the probability of error; each
/// sample comes with the design that decided its number of runs.
fn quotient_interval(above: (&[f64], Design), below: (&[f64], Design), share: f64) -> Option<Interval> {
    let alpha = |(values, design): (&[f64], Design)| design.joint_ratio_alpha(values.len(), share);
    ratio_interval_with_alpha(above.0, below.0, alpha(above)?.max(alpha(below)?))
}

fn judge_ratio(value: f64, interval: Option<Interval>, better: Better, minimum_difference: f64) -> Ratio {
    let difference = match interval {
        None => Difference::Unknown,
        Some(interval) if interval.contains(1.0) => Difference::None,
        Some(_) if value.ln().abs() <= minimum_difference.ln_1p() => Difference::None,
        Some(_) if (value > 1.0) == (better == Better::Higher) => Difference::Better,
        Some(_) => Difference::Worse,
    };
    Ratio { estimate: Estimate { value, ci95: interval.map(Interval::ends) }, difference }
}

/// Returns the interval of the difference `a - b` of two independent estimates with intervals of
/// their own (Zou & Donner 2008). Each estimate contributes the part of its interval that points
/// away from the other one.
pub(super) fn difference_interval(a: (f64, Interval), b: (f64, Interval)) -> Interval {
    let ((a, a_interval), (b, b_interval)) = (a, b);
    Interval {
        lo: a - b - (a - a_interval.lo).hypot(b_interval.hi - b),
        hi: a - b + (a_interval.hi - a).hypot(b - b_interval.lo),
    }
}

/// Returns the interval of the quotient of two positive estimates with intervals of their own: the
/// difference of their logarithms.
pub(crate) fn log_difference(above: (f64, Interval), below: (f64, Interval)) -> Interval {
    let logarithm =
        |(value, Interval { lo, hi }): (f64, Interval)| (value.ln(), Interval { lo: lo.ln(), hi: hi.ln() });
    let Interval { lo, hi } = difference_interval(logarithm(above), logarithm(below));
    Interval { lo: lo.exp(), hi: hi.exp() }
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
            let [first, second] = cell_ratios(&both, better, 0.0)[..] else { panic!("two cells") };
            assert_eq!(second.values.difference, expected);
            assert_eq!(first.values.difference, Difference::None);
            let (base, new, speedup) = second.speedup.expect("two counts");
            assert_eq!(speedup.difference, expected, "{base} {new}");
            assert!(first.speedup.is_none());
        }
        // The difference of 10% lies below a requested minimum of 20%.
        assert_eq!(cell_ratios(&both, Better::Lower, 0.2)[1].values.difference, Difference::None);
    }

    /// Six runs are enough for one ratio, and too few for the three ratios of two counts.
    #[test]
    fn too_few_runs_for_the_level_give_no_verdict() {
        let difference =
            |samples: &[PairedSamples]| cell_ratios(samples, Better::Lower, 0.0)[0].values.difference;
        let runs = |runs: usize| samples(1, &vec![1.0; runs], &vec![9.0; runs]);
        assert_eq!(difference(&[runs(5)]), Difference::Unknown);
        assert_eq!(difference(&[runs(6)]), Difference::Worse);
        let second = |runs: usize| samples(2, &vec![1.0; runs], &vec![9.0; runs]);
        assert_eq!(difference(&[runs(6), second(6)]), Difference::Unknown);
        assert_eq!(difference(&[runs(7), second(7)]), Difference::Worse);
        // When the count with seven runs is told apart, half of the probability is left for each of
        // the others. Six runs need 3.1% of the 5%.
        assert_eq!(difference(&[runs(6), second(7)]), Difference::Unknown);
    }

    /// The verdict and the interval never contradict each other: a difference excludes 1, and the
    /// absence of one includes it.
    #[test]
    fn verdicts_agree_with_their_intervals() {
        let ten = [1.0, 1.01, 1.02, 0.99, 0.98, 1.0, 1.01, 0.99, 1.0, 1.0];
        let by = |factor: f64| ten.map(|v| v * factor);
        let cells = [
            samples(1, &ten, &by(1.3)),
            samples(2, &ten, &by(1.02)),
            samples(4, &ten, &by(1.015)),
            samples(8, &ten, &ten),
        ];
        let ratios = cell_ratios(&cells, Better::Lower, 0.0);
        let all = ratios.iter().flat_map(|cell| [Some(cell.values), cell.speedup.map(|s| s.2)]).flatten();
        for ratio in all {
            let [low, high] = ratio.estimate.ci95.expect("ten runs");
            assert_eq!(ratio.difference == Difference::None, low <= 1.0 && 1.0 <= high, "{ratio:?}");
        }
        // The other ratios get the share of those that are told apart, so that the interval is
        // narrower than with one seventh.
        let alone = cells[3].interval(1.0 / 7.0).expect("ten runs");
        assert!(ratios[3].values.estimate.ci95.expect("ten runs")[1] < alone.hi);
    }
}
