//! The noise floor: how different two measurements of the same thing look.
//!
//! A difference inside the floor is not called a difference. The floor knows the noise between runs only; what
//! changes between sessions (a reboot, a new link order) is not in it, see
//! `docs/methods/measure.md`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::design::{Design, MIN_RUNS};
use crate::ratio::ratio_interval;
use crate::summary::{median_of_sorted, sorted};

/// The share of chance differences that stay within the floor.
const QUANTILE: f64 = 0.95;

/// The most divisions drawn; the floor is then known to about a twentieth.
const MOST_DRAWS: usize = 2000;

/// The fewest divisions drawn, for samples so large that each costs much.
const FEWEST_DRAWS: usize = 200;

/// Values handled over all divisions, to bound the time to some tens of milliseconds.
const WORK: usize = 4_000_000;

/// The relative difference, larger over smaller less one, that the medians of two samples like `values` stay within
/// in 95% of cases though nothing changed between them; a pure number, 0.01 is 1%. None for fewer than
/// [`MIN_RUNS`](crate::MIN_RUNS) values or one that is not positive.
///
/// It is the interval of the ratio of this sample's median to that of another one like it. It is meant for samples
/// of the same number of runs as `values`, and speaks of chance between runs alone. Dividing the sample at random
/// into halves, the customary way, knows less: `docs/methods/measure.md`, "Noise floor".
pub fn noise_floor(values: &[f64]) -> Option<f64> {
    Some(ratio_interval(values, values, Design::Fixed)?.hi - 1.0)
}

/// Two samples of the same configuration, compared (an A/A test).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SameConfiguration {
    /// The relative difference of the two medians, `|ratio - 1|`, larger over smaller. A pure number.
    pub difference: f64,
    /// What that difference stays within in 95% of cases if only chance decides which run is in which sample.
    pub floor: f64,
}

/// Compares two samples of the same configuration; None for fewer than [`MIN_RUNS`](crate::MIN_RUNS) values in
/// both together or three in one, or one that is not positive.
///
/// A difference beyond the floor says that the machine itself changed between the two (Fisher's permutation test,
/// *The Design of Experiments*, 1935, at 5%): then intervals, which take runs for independent, are too narrow.
pub fn compare_same(first: &[f64], second: &[f64], seed: u64) -> Option<SameConfiguration> {
    let pooled = [first, second].concat();
    let floor = chance_difference(&pooled, first.len(), second.len(), seed)?;
    let medians = median_of_sorted(&sorted(first)).zip(median_of_sorted(&sorted(second)));
    medians.map(|(a, b)| SameConfiguration { difference: difference(a, b), floor })
}

/// How much the larger is above the smaller.
fn difference(a: f64, b: f64) -> f64 {
    f64::max(a, b) / f64::min(a, b) - 1.0
}

/// The 95% quantile of the difference between the medians of `first` and `second` values taken at random, all
/// different, out of `values`.
fn chance_difference(values: &[f64], first: usize, second: usize, seed: u64) -> Option<f64> {
    let enough = values.len() >= MIN_RUNS && first.min(second) >= MIN_RUNS / 2;
    if !enough || !values.iter().all(|v| v.is_finite() && *v > 0.0) {
        return None;
    }
    let values = sorted(values);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let draws = (WORK / values.len()).clamp(FEWEST_DRAWS, MOST_DRAWS);
    let mut parts = (Vec::with_capacity(first), Vec::with_capacity(second));
    let mut differences: Vec<f64> = (0..draws)
        .filter_map(|_| {
            divide(&values, first, second, &mut rng, &mut parts);
            Some(difference(median_of_sorted(&parts.0)?, median_of_sorted(&parts.1)?))
        })
        .collect();
    let rank = (QUANTILE * draws as f64).ceil() as usize - 1;
    let (_, quantile, _) = differences.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*quantile)
}

/// Deals the sorted `values` at random into `first` for the one part, `second` for the other and the rest for
/// neither, each division as likely. Dealt in order, both parts come out sorted.
fn divide(
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
        assert_eq!(
            compare_same(&[1.0; 3], &[1.0; 3], 1),
            Some(SameConfiguration { difference: 0.0, floor: 0.0 })
        );
        assert_eq!(compare_same(&[1.0; 2], &[1.0; 9], 1), None);
    }

    #[test]
    fn a_machine_that_changed_is_beyond_the_floor() {
        let before: Vec<f64> = (0..10).map(|i| 1.0 + 0.001 * f64::from(i)).collect();
        let after: Vec<f64> = before.iter().map(|v| v * 1.02).collect();
        let changed = compare_same(&before, &after, 7).unwrap();
        assert!(
            changed.difference > changed.floor && (changed.difference - 0.02).abs() < 1e-9,
            "{changed:?}"
        );
        let same = compare_same(&before, &before, 7).unwrap();
        assert!(same.difference == 0.0 && same.floor > 0.0, "{same:?}");
    }

    /// Six values have ten divisions into halves; {1,2,3} and {4,5,6} differ most, by 5/2, and being one in ten that
    /// is within what the 5% leave out.
    #[test]
    fn the_quantile_is_that_of_all_divisions() {
        let same = compare_same(&[1.0, 4.0, 6.0], &[2.0, 3.0, 5.0], 3).unwrap();
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
            let same = compare_same(&a, &b, seed).unwrap();
            let backwards = |values: &[f64]| values.iter().rev().map(|v| v * 4.0).collect::<Vec<_>>();
            prop_assert_eq!(compare_same(&backwards(&a), &backwards(&b), seed), Some(same));
            prop_assert!((0.0..0.25).contains(&same.floor) && same.difference >= 0.0);
        }

        #[test]
        fn every_value_is_dealt_once(n in 6usize..40, seed: u64) {
            let values: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            let mut parts = (Vec::new(), Vec::new());
            divide(&values, n / 2, n - n / 2, &mut ChaCha8Rng::seed_from_u64(seed), &mut parts);
            prop_assert!(parts.0.is_sorted() && parts.1.is_sorted());
            prop_assert_eq!(sorted(&[&parts.0[..], &parts.1[..]].concat()), values);
        }
    }
}
