//! Interval of a median by exact order statistics.
//!
//! The method assumes only that the runs are independent and identically distributed, and nothing
//! about the shape of the noise. `docs/methods/measure.md` gives the effects of drift and
//! dependence.

use crate::design::Design;
use crate::summary::sorted;

/// Standard errors on each side of an estimate that hold 95% of a normal distribution: its 97.5%
/// quantile.
pub const Z95: f64 = 1.959_964;

/// Closed interval with `lo <= hi`; its ends are in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Half of the length, in the interval's unit: the number after a `±`.
    pub fn half_width(self) -> f64 {
        (self.hi - self.lo) / 2.0
    }

    /// Lower and upper end.
    pub fn ends(self) -> [f64; 2] {
        [self.lo, self.hi]
    }

    /// Returns whether `value` is inside the interval or at an end.
    pub fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// 95% interval of the median of the distribution of `values`; `None` for fewer than
/// [`MIN_RUNS`](crate::MIN_RUNS) values.
///
/// The interval reaches from the `r`-th smallest to the `r`-th largest value, with `r` from
/// [`Design::rank`]. It covers the median in at least 95% of studies, for noise of any shape: David
/// & Nagaraja, *Order Statistics*, 3rd edition, section 7.1.
pub fn median_interval(values: &[f64], design: Design) -> Option<Interval> {
    interval_of_sorted(&sorted(values), design)
}

/// Interval as in [`median_interval`], for values already in order.
pub(crate) fn interval_of_sorted(sorted: &[f64], design: Design) -> Option<Interval> {
    let rank = design.rank(sorted.len())?;
    Some(Interval { lo: sorted[rank - 1], hi: sorted[sorted.len() - rank] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::median;
    use proptest::prelude::*;

    #[test]
    fn six_runs_give_their_range_and_five_give_nothing() {
        let values = [5.0, 1.0, 4.0, 6.0, 2.0, 3.0];
        assert_eq!(median_interval(&values, Design::Fixed), Some(Interval { lo: 1.0, hi: 6.0 }));
        assert_eq!(median_interval(&values[..5], Design::Fixed), None);
        assert_eq!(median_interval(&[], Design::Fixed), None);
    }

    #[test]
    fn equal_runs_give_an_interval_of_no_width() {
        for runs in [6, 7, 30, 1000] {
            let interval = median_interval(&vec![0.25; runs], Design::Sequential { max_runs: runs }).unwrap();
            assert_eq!(interval, Interval { lo: 0.25, hi: 0.25 });
            assert_eq!(interval.half_width(), 0.0);
        }
    }

    fn designs() -> impl Strategy<Value = Design> {
        prop_oneof![Just(Design::Fixed), (6usize..200).prop_map(|max_runs| Design::Sequential { max_runs })]
    }

    proptest! {
        #[test]
        fn interval_contains_the_median_for_any_order_and_scale(
            values in prop::collection::vec(prop_oneof![0.0..10.0, Just(3.0)], 6..80),
            design in designs(),
            turn in 0usize..80,
        ) {
            let interval = median_interval(&values, design).unwrap();
            prop_assert!(interval.contains(median(&values).unwrap()));
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            prop_assert_eq!(median_interval(&turned, design), Some(interval));
            let halved: Vec<f64> = values.iter().map(|v| v / 2.0).collect();
            prop_assert_eq!(
                median_interval(&halved, design),
                Some(Interval { lo: interval.lo / 2.0, hi: interval.hi / 2.0 })
            );
        }

        #[test]
        fn a_rule_widens_the_interval(values in prop::collection::vec(0.0..10.0, 6..80), max_runs in 6usize..200) {
            let fixed = median_interval(&values, Design::Fixed).unwrap();
            let sequential = median_interval(&values, Design::Sequential { max_runs }).unwrap();
            prop_assert!(sequential.lo <= fixed.lo && sequential.hi >= fixed.hi);
        }
    }
}
