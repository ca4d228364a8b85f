//! Speedup, efficiency and serial fraction, with their intervals.
//!
//! The formulas take two medians. They do not explain where the program lost its time.

use morecores_study::Better;

use crate::design::Design;
use crate::interval::Interval;
use crate::ratio::ratio_interval;
use crate::summary::median;

/// Derived value and, if there are enough runs, its 95% interval. Dimensionless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Value computed from the medians.
    pub value: f64,
    /// 95% interval of the value, from the noise of the runs; `None` for fewer than
    /// [`MIN_RUNS`](crate::MIN_RUNS) runs on either side.
    pub interval: Option<Interval>,
}

/// Speedup of the runs `runs` over the runs `base` at one CPU, as a ratio of medians: `T(1)/T(n)`
/// for times, `X(n)/X(1)` for rates. `None` if either sample is empty or has a median that is not
/// positive. `base` and `here` must be different runs: the base has no measured speedup over
/// itself, and its point is 1 by definition.
pub fn speedup(base: &[f64], runs: &[f64], better: Better, design: Design) -> Option<Estimate> {
    let (numerator, denominator) = match better {
        Better::Lower => (base, runs),
        Better::Higher => (runs, base),
    };
    let value = median(numerator)? / median(denominator)?;
    let interval = ratio_interval(numerator, denominator, design);
    (value.is_finite() && value > 0.0).then_some(Estimate { value, interval })
}

/// Efficiency `S(n)/n` of a speedup on `cpus` CPUs; `None` for zero CPUs.
pub fn efficiency(speedup: Estimate, cpus: u32) -> Option<Estimate> {
    let share = |s: f64| s / f64::from(cpus);
    let interval = speedup.interval.map(|i| Interval { lo: share(i.lo), hi: share(i.hi) });
    (cpus > 0).then_some(Estimate { value: share(speedup.value), interval })
}

/// Serial fraction `(1/S - 1/n) / (1 - 1/n)` of a speedup on `cpus` CPUs: Karp & Flatt, *Measuring
/// parallel processor performance*, CACM 33(5), 1990. `None` below two CPUs, where the fraction is
/// not defined.
///
/// The fraction is negative for a speedup above the number of CPUs, and above 1 for a slowdown. The
/// fraction falls as the speedup rises, so that the ends of the interval swap.
pub fn serial_fraction(speedup: Estimate, cpus: u32) -> Option<Estimate> {
    let per_cpu = 1.0 / f64::from(cpus);
    let fraction = |s: f64| (1.0 / s - per_cpu) / (1.0 - per_cpu);
    let interval = speedup.interval.map(|i| Interval { lo: fraction(i.hi), hi: fraction(i.lo) });
    (cpus > 1).then_some(Estimate { value: fraction(speedup.value), interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact_estimate(value: f64) -> Estimate {
        Estimate { value, interval: None }
    }

    /// Checks a published kernel build on a dual SMP machine: 104 s with one CPU and 70 s with two.
    /// The extra-CPU utilisation is 65%, which is one minus the serial fraction.
    #[test]
    fn the_serial_fraction_is_one_minus_the_use_of_the_extra_cpus() {
        let s = speedup(&[104.0], &[70.0], Better::Lower, Design::Fixed).unwrap();
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

    #[test]
    fn one_cpu_has_no_serial_fraction_and_no_cpu_no_efficiency() {
        assert_eq!(serial_fraction(exact_estimate(1.0), 1), None);
        assert_eq!(serial_fraction(exact_estimate(1.0), 0), None);
        assert_eq!(efficiency(exact_estimate(1.0), 0), None);
        assert_eq!(efficiency(exact_estimate(1.0), 1), Some(exact_estimate(1.0)));
    }

    #[test]
    fn rate_inverts_the_speedup() {
        let s = speedup(&[100.0], &[250.0], Better::Higher, Design::Fixed).unwrap();
        assert_eq!(s.value, 2.5);
        assert_eq!(speedup(&[0.0], &[1.0], Better::Higher, Design::Fixed), None);
        assert_eq!(speedup(&[], &[1.0], Better::Lower, Design::Fixed), None);
    }

    proptest! {
        #[test]
        fn intervals_stay_in_order_around_their_value(
            base in prop::collection::vec(0.9..1.1, 6..20),
            runs in prop::collection::vec(0.3..0.5, 6..20),
            cpus in 2u32..64,
        ) {
            let s = speedup(&base, &runs, Better::Lower, Design::Fixed).unwrap();
            for e in [s, efficiency(s, cpus).unwrap(), serial_fraction(s, cpus).unwrap()] {
                let i = e.interval.unwrap();
                prop_assert!(i.lo <= i.hi && i.lo <= e.value + 1e-9 && e.value <= i.hi + 1e-9);
            }
        }
    }
}
