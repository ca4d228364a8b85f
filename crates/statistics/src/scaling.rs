//! Speedup, efficiency and serial fraction, with their intervals.
//!
//! The formulas take the runs of two CPU counts. They do not explain where the program lost its
//! time.

use std::collections::BTreeMap;

use morecores_study::{Better, RoundValue};

use crate::design::Design;
use crate::interval::Interval;
use crate::ratio::{paired_ratio_interval_with_alpha, ratio_interval_with_alpha};
use crate::rounds::{round_ratios, values};
use crate::summary::median;

/// Speedup, efficiency or serial fraction, with its 95% interval. Dimensionless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalingRatio {
    /// Point estimate.
    pub value: f64,
    /// 95% interval of the value, from the noise of the runs; `None` for fewer than
    /// [`MIN_RUNS`](crate::MIN_RUNS) runs on either side.
    pub interval: Option<Interval>,
}

impl ScalingRatio {
    /// The ratio and its interval, multiplied by a constant.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let interval = self.interval.map(|i| Interval { lo: i.lo * factor, hi: i.hi * factor });
        Self { value: self.value * factor, interval }
    }
}

/// Speedup of the runs `runs` over the runs `base`: the median of the speedups within the rounds,
/// `T(base)/T(n)` for times, `X(n)/X(base)` for rates. Where [`round_ratios`] finds no pairs, the
/// speedup is the ratio of the two medians. `None` if either sample is empty or the speedup is not
/// positive. `base` and `runs` must be different runs: the base has no measured speedup over
/// itself, and its point is 1 by definition.
pub fn speedup(
    base: &[RoundValue],
    runs: &[RoundValue],
    better: Better,
    design: Design,
) -> Option<ScalingRatio> {
    joint_speedup(base, runs, better, design, 1.0)
}

/// Speedup as in [`speedup`], with an interval that has only a `share` of the probability of error.
/// Under a stopping rule, or with few runs, there may be no interval for so small a probability.
pub fn joint_speedup(
    base: &[RoundValue],
    runs: &[RoundValue],
    better: Better,
    design: Design,
    share: f64,
) -> Option<ScalingRatio> {
    let alpha = |runs: usize| design.joint_ratio_alpha(runs, share);
    let estimate = match round_ratios(base, runs, better) {
        Some(paired) => ScalingRatio {
            value: median(&paired.ratios)?,
            interval: alpha(paired.ratios.len())
                .and_then(|alpha| paired_ratio_interval_with_alpha(&paired.ratios, alpha)),
        },
        None => speedup_of_medians(&values(base), &values(runs), better, alpha)?,
    };
    (estimate.value.is_finite() && estimate.value > 0.0).then_some(estimate)
}

/// Speedup of each of `runs`, in their order: its ratio to the base's run of the same round, or
/// `None` without such a run. Where [`round_ratios`] finds no pairs, it is the ratio to the median
/// of `base`.
pub fn run_speedups(base: &[RoundValue], runs: &[RoundValue], better: Better) -> Vec<Option<f64>> {
    let of_rounds: Option<BTreeMap<u32, f64>> =
        round_ratios(base, runs, better).map(|_| base.iter().map(|run| (run.round, run.value)).collect());
    let median = median(&values(base));
    let speedup = |run: &RoundValue| {
        let base = match &of_rounds {
            Some(of_rounds) => of_rounds.get(&run.round).copied(),
            None => median,
        }?;
        let speedup = match better {
            Better::Lower => base / run.value,
            Better::Higher => run.value / base,
        };
        (speedup.is_finite() && speedup > 0.0).then_some(speedup)
    };
    runs.iter().map(speedup).collect()
}

/// Speedup as the ratio of the medians of two samples that no round relates. `alpha` is the
/// probability of a miss that a number of runs allows.
fn speedup_of_medians(
    base: &[f64],
    runs: &[f64],
    better: Better,
    alpha: impl Fn(usize) -> Option<f64>,
) -> Option<ScalingRatio> {
    let (numerator, denominator) = match better {
        Better::Lower => (base, runs),
        Better::Higher => (runs, base),
    };
    let value = median(numerator)? / median(denominator)?;
    let alpha = alpha(numerator.len()).zip(alpha(denominator.len())).map(|(above, below)| above.max(below));
    let interval = alpha.and_then(|alpha| ratio_interval_with_alpha(numerator, denominator, alpha));
    Some(ScalingRatio { value, interval })
}

/// Efficiency `S(n)/n` of a speedup on `cpus` CPUs; `None` for zero CPUs.
pub fn efficiency(speedup: ScalingRatio, cpus: u32) -> Option<ScalingRatio> {
    let share = |s: f64| s / f64::from(cpus);
    let interval = speedup.interval.map(|i| Interval { lo: share(i.lo), hi: share(i.hi) });
    (cpus > 0).then_some(ScalingRatio { value: share(speedup.value), interval })
}

/// Serial fraction `(1/S - 1/n) / (1 - 1/n)` of a speedup on `cpus` CPUs: Karp & Flatt, *Measuring
/// parallel processor performance*, CACM 33(5), 1990. `None` below two CPUs, where the fraction is
/// not defined.
///
/// The fraction is negative for a speedup above the number of CPUs, and above 1 for a slowdown. The
/// fraction falls as the speedup rises, so that the ends of the interval swap.
pub fn serial_fraction(speedup: ScalingRatio, cpus: u32) -> Option<ScalingRatio> {
    let per_cpu = 1.0 / f64::from(cpus);
    let fraction = |s: f64| (1.0 / s - per_cpu) / (1.0 - per_cpu);
    let interval = speedup.interval.map(|i| Interval { lo: fraction(i.hi), hi: fraction(i.lo) });
    (cpus > 1).then_some(ScalingRatio { value: fraction(speedup.value), interval })
}

/// Serial fraction `(n - S) / (n - 1)` of a scaled speedup `S` on `cpus` CPUs, which do `cpus`
/// times the work of one: the part of the time on `cpus` CPUs that they do not share (J. L.
/// Gustafson, *Reevaluating Amdahl's Law*, CACM 31(5), 1988). `None` below two CPUs.
pub fn scaled_serial_fraction(speedup: ScalingRatio, cpus: u32) -> Option<ScalingRatio> {
    let n = f64::from(cpus);
    let fraction = |s: f64| (n - s) / (n - 1.0);
    let interval = speedup.interval.map(|i| Interval { lo: fraction(i.hi), hi: fraction(i.lo) });
    (cpus > 1).then_some(ScalingRatio { value: fraction(speedup.value), interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs of the rounds 0, 1, 2, …
    fn rounds(values: &[f64]) -> Vec<RoundValue> {
        values.iter().zip(0..).map(|(&value, round)| RoundValue { round, value }).collect()
    }

    fn exact_estimate(value: f64) -> ScalingRatio {
        ScalingRatio { value, interval: None }
    }

    /// Checks a published kernel build on a dual SMP machine: 104 s with one CPU and 70 s with two.
    /// The extra-CPU utilisation is 65%, which is one minus the serial fraction.
    #[test]
    fn the_serial_fraction_is_one_minus_the_use_of_the_extra_cpus() {
        let s = speedup(&rounds(&[104.0]), &rounds(&[70.0]), Better::Lower, Design::Fixed).unwrap();
        assert_eq!(s.interval, None);
        let fraction = serial_fraction(s, 2).unwrap().value;
        assert!((1.0 - fraction - (104.0 - 70.0) / (104.0 / 2.0)).abs() < 1e-12, "{fraction}");
        assert!((efficiency(s, 2).unwrap().value - 104.0 / 140.0).abs() < 1e-12);
    }

    #[test]
    fn serial_fraction_recovers_amdahls_serial_part() {
        for cpus in [2, 3, 16, 256] {
            for serial in [0.0, 0.05, 0.5, 1.0] {
                let s = 1.0 / (serial + (1.0 - serial) / f64::from(cpus));
                assert!((serial_fraction(exact_estimate(s), cpus).unwrap().value - serial).abs() < 1e-12);
            }
        }
    }

    /// A serial part of 20% of the time on one CPU beside work that grows with the CPUs.
    #[test]
    fn the_scaled_serial_fraction_recovers_gustafsons_serial_part() {
        for cpus in [2, 4, 64] {
            let n = f64::from(cpus);
            // One CPU takes 0.2 + 0.8 n for the work that takes 1 on n.
            let scaled = exact_estimate(1.0).times(0.2 + 0.8 * n);
            assert!((scaled_serial_fraction(scaled, cpus).unwrap().value - 0.2).abs() < 1e-12);
        }
        assert_eq!(scaled_serial_fraction(exact_estimate(1.0), 1), None);
    }

    #[test]
    fn one_cpu_has_no_serial_fraction_and_no_cpu_no_efficiency() {
        assert_eq!(serial_fraction(exact_estimate(1.0), 1), None);
        assert_eq!(serial_fraction(exact_estimate(1.0), 0), None);
        assert_eq!(efficiency(exact_estimate(1.0), 0), None);
        assert_eq!(efficiency(exact_estimate(1.0), 1), Some(exact_estimate(1.0)));
    }

    #[test]
    fn a_run_is_compared_with_the_base_of_its_round() {
        let run = |round, value| RoundValue { round, value };
        let base = [run(0, 8.0), run(1, 12.0), run(3, 9.0)];
        let runs = [run(1, 4.0), run(0, 4.0), run(2, 1.0)];
        assert_eq!(run_speedups(&base, &runs, Better::Lower), [Some(3.0), Some(2.0), None]);
        assert_eq!(run_speedups(&base, &runs, Better::Higher), [Some(4.0 / 12.0), Some(0.5), None]);
        // No round has both: the median of the base is 9.
        let apart = [run(7, 3.0), run(8, 0.0)];
        assert_eq!(run_speedups(&base, &apart, Better::Lower), [Some(3.0), None]);
    }

    #[test]
    fn rate_inverts_the_speedup() {
        let s = speedup(&rounds(&[100.0]), &rounds(&[250.0]), Better::Higher, Design::Fixed).unwrap();
        assert_eq!(s.value, 2.5);
        assert_eq!(speedup(&rounds(&[0.0]), &rounds(&[1.0]), Better::Higher, Design::Fixed), None);
        assert_eq!(speedup(&[], &rounds(&[1.0]), Better::Lower, Design::Fixed), None);
    }

    /// Runs whose rounds differ in speed by a factor of two, and whose speedup is 2 within 1%.
    #[test]
    fn what_a_round_has_in_common_does_not_widen_the_speedup() {
        let speeds = [1.0, 1.3, 0.9, 1.8, 1.1, 1.6];
        let own = [1.0, 1.01, 0.99, 1.005, 0.995, 1.0];
        let runs: Vec<f64> = speeds.iter().zip(own).map(|(speed, own)| speed * own / 2.0).collect();
        let s = speedup(&rounds(&speeds), &rounds(&runs), Better::Lower, Design::Fixed).unwrap();
        let interval = s.interval.unwrap();
        assert!((s.value - 2.0).abs() < 1e-3 && interval.half_width() < 0.02, "{s:?}");
        // Without common rounds, the two samples are independent, and the interval is wide.
        let later: Vec<RoundValue> =
            rounds(&runs).iter().map(|run| RoundValue { round: run.round + 9, ..*run }).collect();
        let unpaired = speedup(&rounds(&speeds), &later, Better::Lower, Design::Fixed).unwrap();
        assert!(unpaired.interval.unwrap().half_width() > 0.5, "{unpaired:?}");
    }

    proptest! {
        #[test]
        fn intervals_stay_in_order_around_their_value(
            base in prop::collection::vec(0.9..1.1, 6..20),
            runs in prop::collection::vec(0.3..0.5, 6..20),
            cpus in 2u32..64,
        ) {
            let s = speedup(&rounds(&base), &rounds(&runs), Better::Lower, Design::Fixed).unwrap();
            for e in [s, efficiency(s, cpus).unwrap(), serial_fraction(s, cpus).unwrap()] {
                let i = e.interval.unwrap();
                prop_assert!(i.lo <= i.hi && i.lo <= e.value + 1e-9 && e.value <= i.hi + 1e-9);
            }
        }
    }
}
