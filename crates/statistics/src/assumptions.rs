//! Checks of the assumptions behind the intervals: runs are independent, and there are values near
//! the median.
//!
//! The checks only detect; the report words the warnings. `docs/methods/measure.md` gives the
//! measured loss of coverage after a failed check.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::design::Design;
use crate::median_interval;
use crate::summary::sorted;

/// Smallest share of the median's interval that one gap between neighbours must fill. By
/// simulation, 3% of samples of six normal runs reach this share, and 1% or less of larger ones. Of
/// samples with two equally likely speeds, 96% reach it (docs/methods/measure.md).
const GAP_SHARE: f64 = 0.7;

/// Minimum number of runs for the normal approximation of Bartels's ratio: Bartels, JASA 77(377),
/// 1982, section 3.
const MIN_RUNS_FOR_CORRELATION: usize = 10;

/// Returns whether the runs fall into two groups and the median may lie in either: one gap fills
/// most of the median's interval.
///
/// Such a program has two speeds and no typical time. The interval of its median still holds, but
/// is as wide as the gap. The interval of a ratio may cover far less than 95%. The result is false
/// if there are too few runs to decide.
pub fn has_two_speeds(values: &[f64]) -> bool {
    let Some(interval) = median_interval(values, Design::Fixed) else { return false };
    let inside: Vec<f64> = sorted(values).into_iter().filter(|v| interval.contains(*v)).collect();
    let widest = inside.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    widest > GAP_SHARE * (interval.hi - interval.lo)
}

/// Similarity of each run to the previous run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialCorrelation {
    /// Approximate rank correlation of neighbouring runs, `1 - RVN/2`; dimensionless, 0 for
    /// independent runs, at most 1.
    pub coefficient: f64,
    /// Probability of at least this similarity between independent runs.
    pub p_value: f64,
}

/// Rank version of von Neumann's ratio, with its normal approximation, for `values` in the order of
/// measurement. Source: Bartels, *The Rank Version of von Neumann's Ratio Test for Randomness*,
/// JASA 77(377), 1982. `None` for fewer than ten values or if all values are equal.
///
/// A small probability (below 1%, for example) means that the runs depend on each other or drift.
/// Every interval of this crate is then too narrow.
pub fn serial_correlation(values: &[f64]) -> Option<SerialCorrelation> {
    if values.len() < MIN_RUNS_FOR_CORRELATION {
        return None;
    }
    let ranks = ranks(values);
    let runs = ranks.len() as f64;
    let mean = (runs + 1.0) / 2.0;
    let steps: f64 = ranks.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let ratio = steps / spread;
    // Variance of RVN by Bartels 1982; the mean of RVN is 2.
    let variance = 4.0 * (runs - 2.0) * (5.0 * runs * runs - 2.0 * runs - 9.0)
        / (5.0 * runs * (runs + 1.0) * (runs - 1.0).powi(2));
    let p_value = Normal::standard().cdf((ratio - 2.0) / variance.sqrt());
    (spread > 0.0).then_some(SerialCorrelation { coefficient: 1.0 - ratio / 2.0, p_value })
}

/// Rank of each value, from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let ordered = sorted(values);
    let rank = |v: &f64| {
        let below = ordered.partition_point(|value| value < v);
        let up_to = ordered.partition_point(|value| value <= v);
        (below + 1 + up_to) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn two_groups_are_two_speeds_and_one_is_not() {
        let two = [1.0, 1.01, 1.02, 1.2, 1.21, 1.22, 1.0, 1.2];
        assert!(has_two_speeds(&two));
        assert!(!has_two_speeds(&[1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07]));
        // A small second group leaves no doubt about the median.
        assert!(!has_two_speeds(&[1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.3]));
        assert!(!has_two_speeds(&[1.0; 9]));
        assert!(!has_two_speeds(&two[..5]));
    }

    #[test]
    fn drift_and_alternation_are_opposite() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let drift = serial_correlation(&rising).unwrap();
        assert!(drift.coefficient > 0.9 && drift.p_value < 1e-4, "{drift:?}");
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!(serial_correlation(&alternating).unwrap().p_value > 0.99);
        assert_eq!(serial_correlation(&[1.0; 20]), None);
        assert_eq!(serial_correlation(&rising[..9]), None);
    }

    #[test]
    fn independent_runs_alarm_at_the_stated_rate() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for runs in [10, 30] {
            let alarms = (0..2000)
                .filter(|_| {
                    let values: Vec<f64> = (0..runs).map(|_| rng.random()).collect();
                    serial_correlation(&values).unwrap().p_value < 0.05
                })
                .count();
            assert!((60..140).contains(&alarms), "{alarms} of 2000 at 5%");
        }
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
