//! Noise floor: the difference that two measurements of an unchanged program can show.
//!
//! A difference within the floor is not reported as a difference. The floor covers only the noise
//! between runs. It does not cover changes between sessions (a reboot, a new link order); see
//! `docs/methods/measure.md`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::design::{Design, MIN_RUNS};
use crate::ratio::ratio_interval;
use crate::summary::{median_of_sorted, quantile, sorted};

/// Share of random differences that stay within the floor.
const QUANTILE: f64 = 0.95;

/// Maximum number of divisions drawn; the floor is then accurate to about a twentieth.
const MAX_DRAWS: usize = 2000;

/// Minimum number of divisions drawn, for samples so large that each division is expensive.
const MIN_DRAWS: usize = 200;

/// Values processed over all divisions, to limit the time to some tens of milliseconds.
const MAX_VALUES_DRAWN: usize = 4_000_000;

/// Relative difference, larger over smaller less one, between the medians of two samples like
/// `values`. In 95% of cases, the difference stays within this floor if nothing changed between the
/// samples. Dimensionless, 0.01 is 1%. `None` for fewer than [`MIN_RUNS`](crate::MIN_RUNS) values
/// or if a value is not positive.
///
/// The floor is the interval of the ratio of this sample's median to that of another, similar
/// sample. It is meant for samples with as many runs as `values`, and covers random variation
/// between runs only. The customary random division of the sample into halves uses less
/// information: `docs/methods/measure.md`, "Noise floor".
pub fn noise_floor(values: &[f64]) -> Option<f64> {
    Some(ratio_interval(values, values, Design::Fixed)?.hi - 1.0)
}

/// Comparison of two samples of the same configuration (an A/A test).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AaTest {
    /// Relative difference of the two medians, `|ratio - 1|`, larger over smaller. Dimensionless.
    pub difference: f64,
    /// Bound on that difference in 95% of cases, if each run is in one of the samples at random.
    pub floor: f64,
}

/// Compares two samples of the same configuration. `None` for fewer than
/// [`MIN_RUNS`](crate::MIN_RUNS) values in both samples together, for fewer than three in one
/// sample, or if a value is not positive.
///
/// A difference beyond the floor shows that the machine itself changed between the two samples
/// (Fisher's permutation test, *The Design of Experiments*, 1935, at 5%). Intervals are then too
/// narrow, because they assume independent runs.
pub fn aa_test(first: &[f64], second: &[f64], seed: u64) -> Option<AaTest> {
    let pooled = [first, second].concat();
    let floor = difference_quantile(&pooled, first.len(), second.len(), seed)?;
    let medians = median_of_sorted(&sorted(first)).zip(median_of_sorted(&sorted(second)));
    medians.map(|(a, b)| AaTest { difference: difference(a, b), floor })
}

/// Relative excess of the larger value over the smaller value.
fn difference(a: f64, b: f64) -> f64 {
    f64::max(a, b) / f64::min(a, b) - 1.0
}

/// 95% quantile of the difference between the medians of `first` and `second` values. The values
/// are drawn at random, without replacement, from `values`.
fn difference_quantile(values: &[f64], first: usize, second: usize, seed: u64) -> Option<f64> {
    let enough = values.len() >= MIN_RUNS && first.min(second) >= MIN_RUNS / 2;
    if !enough || !values.iter().all(|v| v.is_finite() && *v > 0.0) {
        return None;
    }
    let values = sorted(values);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let draws = (MAX_VALUES_DRAWN / values.len()).clamp(MIN_DRAWS, MAX_DRAWS);
    let mut parts = (Vec::with_capacity(first), Vec::with_capacity(second));
    let differences = (0..draws)
        .filter_map(|_| {
            split_at_random(&values, first, second, &mut rng, &mut parts);
            Some(difference(median_of_sorted(&parts.0)?, median_of_sorted(&parts.1)?))
        })
        .collect();
    quantile(differences, QUANTILE)
}

/// Deals the sorted `values` at random: `first` values for one part, `second` for the other, and
/// the rest for neither. All divisions have equal probability. Because the values are dealt in
/// order, both parts are sorted.
fn split_at_random(
    values: &[f64],
    first: usize,
    second: usize,
    rng: &mut ChaCha8Rng,
    parts: &mut (Vec<f64>, Vec<f64>),
) {
    parts.0.clear();
    parts.1.clear();
    for (dealt, &value) in values.iter().enumerate() {
        let (to_first, to_second) = (first - parts.0.len(), second - parts.1.len());
        let place = rng.random_range(0..values.len() - dealt);
        if place < to_first {
            parts.0.push(value);
        } else if place < to_first + to_second {
            parts.1.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_runs_have_no_floor_and_few_runs_none() {
        assert_eq!(noise_floor(&[2.0; 6]), Some(0.0));
        assert_eq!(noise_floor(&[2.0; 5]), None);
        assert_eq!(noise_floor(&[0.0; 6]), None);
        assert_eq!(aa_test(&[1.0; 3], &[1.0; 3], 1), Some(AaTest { difference: 0.0, floor: 0.0 }));
        assert_eq!(aa_test(&[1.0; 2], &[1.0; 9], 1), None);
    }

    #[test]
    fn a_changed_machine_exceeds_the_floor() {
        let before: Vec<f64> = (0..10).map(|i| 1.0 + 0.001 * f64::from(i)).collect();
        let after: Vec<f64> = before.iter().map(|v| v * 1.02).collect();
        let changed = aa_test(&before, &after, 7).unwrap();
        assert!(
            changed.difference > changed.floor && (changed.difference - 0.02).abs() < 1e-9,
            "{changed:?}"
        );
        let same = aa_test(&before, &before, 7).unwrap();
        assert!(same.difference == 0.0 && same.floor > 0.0, "{same:?}");
    }

    /// Checks the quantile for six values, which have ten divisions into halves. {1,2,3} and
    /// {4,5,6} differ most, by 5/2. This division is one in ten, more than the 5% above the
    /// quantile, so that the quantile is its difference.
    #[test]
    fn the_quantile_is_that_of_all_divisions() {
        let same = aa_test(&[1.0, 4.0, 6.0], &[2.0, 3.0, 5.0], 3).unwrap();
        assert!((same.floor - 1.5).abs() < 1e-12 && (same.difference - 1.0 / 3.0).abs() < 1e-12, "{same:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_seed_decides_and_order_and_unit_do_not(
            a in prop::collection::vec(0.9..1.1, 6..40),
            b in prop::collection::vec(0.9..1.1, 3..40),
            seed: u64,
        ) {
            let same = aa_test(&a, &b, seed).unwrap();
            let backwards = |values: &[f64]| values.iter().rev().map(|v| v * 4.0).collect::<Vec<_>>();
            prop_assert_eq!(aa_test(&backwards(&a), &backwards(&b), seed), Some(same));
            prop_assert!((0.0..0.25).contains(&same.floor) && same.difference >= 0.0);
        }

        #[test]
        fn every_value_is_dealt_once(n in 6usize..40, seed: u64) {
            let values: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            let mut parts = (Vec::new(), Vec::new());
            split_at_random(&values, n / 2, n - n / 2, &mut ChaCha8Rng::seed_from_u64(seed), &mut parts);
            prop_assert!(parts.0.is_sorted() && parts.1.is_sorted());
            prop_assert_eq!(sorted(&[&parts.0[..], &parts.1[..]].concat()), values);
        }
    }
}
