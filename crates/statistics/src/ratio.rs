//! Intervals of ratios: of the median of ratios within rounds, such as a speedup, and of a ratio of
//! two medians of independent samples.
//!
//! The methods must not assume that the two samples have the same noise: one CPU is often quiet
//! where four are noisy.

use crate::design::{Design, MIN_RUNS, fair_coin};
use crate::interval::Interval;
use crate::summary::sorted;

use statrs::distribution::{Binomial, Discrete};

/// Number of points that represent each sample's distribution. The probability below an end is off
/// by at most half a point, 0.025%, on the conservative side.
const POINTS: usize = 2000;

/// Relative accuracy of the ends: a nanosecond in ten seconds.
const ACCURACY: f64 = 1e-10;

/// Relative error of a sum of binomial probabilities that is only rounding.
const ROUNDING: f64 = 1e-9;

/// 95% interval of the median of `ratios`, each the ratio of two runs of one round. `None` if there
/// are fewer than [`MIN_RUNS`](crate::MIN_RUNS) ratios, or one that is not positive and finite.
///
/// The ends are order statistics of the ratios, interpolated between two ranks by the method of
/// Hettmansperger & Sheather (Statistics & Probability Letters 4, 1986). Under a stopping rule, the
/// ends are the order statistics of [`Design::rank`] without interpolation, so that they keep its
/// guarantee.
pub fn paired_ratio_interval(ratios: &[f64], design: Design) -> Option<Interval> {
    paired_ratio_interval_with_alpha(ratios, design.ratio_alpha(ratios.len())?)
}

/// Interval as in [`paired_ratio_interval`], but with the probability `alpha` of missing the
/// median. `None` also if there are too few ratios for this probability: their whole range misses
/// the median more often.
pub fn paired_ratio_interval_with_alpha(ratios: &[f64], alpha: f64) -> Option<Interval> {
    let ratios = sorted_positive(ratios)?;
    let (rank, weight) = MedianTail::new(ratios.len()).advance(alpha / 2.0);
    let end = |near: usize, far: usize| ratios[near] + weight * (ratios[far] - ratios[near]);
    let last = ratios.len() - 1;
    (rank > 0).then(|| Interval { lo: end(rank - 1, rank), hi: end(last - (rank - 1), last - rank) })
}

/// 95% interval of `median(numerator) / median(denominator)`. `None` if either sample has fewer
/// than [`MIN_RUNS`](crate::MIN_RUNS) values, or a value that is not positive and finite.
///
/// Each median has the distribution that its sample supports. The probability of being below the
/// `r`-th smallest value is the binomial tail of the exact interval. Between two values, the
/// probability is interpolated by the method of Hettmansperger & Sheather (Statistics & Probability
/// Letters 4, 1986; Nyblom, ibid. 14, 1992). The interval holds the middle 95% of the quotient of
/// the two medians. The method is a smoothed bootstrap of the median with the resampling carried
/// out in full instead of drawn. It needs no seed, and the same runs give the same interval.
/// `docs/methods/measure.md`, "Ratio of medians", gives the choice of the method, and its coverage
/// beside that of the plain bootstrap.
pub fn ratio_interval(numerator: &[f64], denominator: &[f64], design: Design) -> Option<Interval> {
    let alpha = design.ratio_alpha(numerator.len())?.max(design.ratio_alpha(denominator.len())?);
    ratio_interval_with_alpha(numerator, denominator, alpha)
}

/// Interval as in [`ratio_interval`], but with the probability `alpha` of missing the ratio. `None`
/// also if so few runs cannot have so small a probability: [`smallest_ratio_alpha`].
pub fn ratio_interval_with_alpha(numerator: &[f64], denominator: &[f64], alpha: f64) -> Option<Interval> {
    if alpha < smallest_ratio_alpha(numerator.len().min(denominator.len())) * (1.0 - ACCURACY) {
        return None;
    }
    let numerators = median_points(numerator)?;
    let denominators = median_points(denominator)?;
    let tail = (alpha / 2.0 * (POINTS * POINTS) as f64) as usize;
    let lo = tail_quotient(&numerators, &denominators, tail);
    // The largest quotients are the reciprocals of the smallest inverse quotients. The method is
    // therefore the same for both ends, and swapping the samples inverts the interval.
    let hi = 1.0 / tail_quotient(&denominators, &numerators, tail);
    Some(Interval { lo, hi: hi.max(lo) })
}

/// Smallest probability of a miss that an interval of the ratio of two medians can have, for two
/// samples of at least `runs` runs each: `2 / 2^runs`.
///
/// No interval reaches beyond the quotients of the samples' extremes. For noise of any shape, the
/// interval between these quotients misses the ratio of the true medians with at most this
/// probability, the same as the range of one sample misses its median. `docs/methods/compare.md`,
/// "Smallest level", has the proof.
pub fn smallest_ratio_alpha(runs: usize) -> f64 {
    2.0 * 0.5_f64.powf(runs as f64)
}

/// Distribution of the median as `POINTS` ascending values of equal probability; `None` if there is
/// no interval.
fn median_points(values: &[f64]) -> Option<Vec<f64>> {
    let values = sorted_positive(values)?;
    let last = values.len() - 1;
    let mut end = MedianTail::new(values.len());
    let mut lower = Vec::with_capacity(POINTS);
    let mut upper = Vec::with_capacity(POINTS);
    for point in 0..POINTS / 2 {
        let (rank, weight) = end.advance((point as f64 + 0.5) / POINTS as f64);
        let interpolate = |near: usize, far: usize| values[near] + weight * (values[far] - values[near]);
        // The sample gives no information below its smallest value, so the smallest value
        // represents that range.
        let rank_below = rank.saturating_sub(1);
        lower.push(interpolate(rank_below, rank));
        upper.push(interpolate(last - rank_below, last - rank));
    }
    lower.extend(upper.into_iter().rev());
    Some(lower)
}

/// Sorted copy of the values; `None` if there are too few or one is not positive and finite.
fn sorted_positive(values: &[f64]) -> Option<Vec<f64>> {
    let is_positive = |v: &f64| v.is_finite() && *v > 0.0;
    (values.len() >= MIN_RUNS && values.iter().all(is_positive)).then(|| sorted(values))
}

/// Place of a probability in the lower tail of the median's distribution, for ascending
/// probabilities below one half.
struct MedianTail {
    runs: usize,
    coin: Binomial,
    rank: usize,
    /// Probability that the median is below the value of `rank`, and below the next value.
    tail: f64,
    next_tail: f64,
}

impl MedianTail {
    fn new(runs: usize) -> Self {
        let coin = fair_coin(runs);
        Self { runs, coin, rank: 0, tail: 0.0, next_tail: coin.pmf(0) }
    }

    /// Returns the rank of the last value with a tail of at most `probability`, and the relative
    /// position between this value and the next. The rank is 0 below the tail of the smallest
    /// value.
    fn advance(&mut self, probability: f64) -> (usize, f64) {
        while self.next_tail <= probability * (1.0 + ROUNDING) && 2 * self.rank < self.runs {
            self.rank += 1;
            self.tail = self.next_tail;
            self.next_tail += self.coin.pmf(self.rank as u64);
        }
        let share = ((probability - self.tail) / (self.next_tail - self.tail)).max(0.0);
        (self.rank, if self.rank == 0 { 0.0 } else { interpolation(self.runs, self.rank, share) })
    }
}

/// Relative position of the interpolated end between the `rank`-th value and the next, if `share`
/// of the probability between the two values is used. The formula `(n-r)s / (r + (n-2r)s)` is exact
/// for double-exponential noise and close for any smooth noise (Hettmansperger & Sheather 1986,
/// Nyblom 1992).
fn interpolation(runs: usize, rank: usize, share: f64) -> f64 {
    let (runs, rank) = (runs as f64, rank as f64);
    (runs - rank) * share / (rank + (runs - 2.0 * rank) * share)
}

/// Quotient of rank `tail`, in ascending order, among all quotients of a point of `numerators` and
/// a point of `denominators`. The search bisects the range. Each step counts the quotients up to
/// the middle in one sweep over both lists.
fn tail_quotient(numerators: &[f64], denominators: &[f64], tail: usize) -> f64 {
    let mut lo = numerators[0] / denominators[POINTS - 1];
    let mut hi = numerators[POINTS - 1] / denominators[0];
    let count_up_to = |ratio: f64| {
        let mut count = 0;
        let mut at_or_below = 0;
        for point in denominators {
            let limit = ratio * point;
            while at_or_below < numerators.len() && numerators[at_or_below] <= limit {
                at_or_below += 1;
            }
            count += at_or_below;
        }
        count
    };
    while hi - lo > ACCURACY * hi {
        let middle = lo + (hi - lo) / 2.0;
        if count_up_to(middle) >= tail.max(1) {
            hi = middle;
        } else {
            lo = middle;
        }
    }
    lo
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::median_interval;
    use crate::summary::median;
    use proptest::prelude::*;

    #[test]
    fn equal_runs_give_the_exact_ratio() {
        let interval = ratio_interval(&[3.0; 6], &[2.0; 9], Design::Fixed).unwrap();
        assert_eq!(interval, Interval { lo: 1.5, hi: 1.5 });
    }

    #[test]
    fn too_few_or_impossible_runs_give_none() {
        assert_eq!(ratio_interval(&[1.0; 5], &[1.0; 9], Design::Fixed), None);
        assert_eq!(ratio_interval(&[1.0; 9], &[], Design::Fixed), None);
        assert_eq!(ratio_interval(&[1.0; 9], &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0], Design::Fixed), None);
        assert_eq!(ratio_interval(&[1.0, 1.0, 1.0, 1.0, 1.0, f64::INFINITY], &[1.0; 6], Design::Fixed), None);
    }

    /// Checks the interval against a denominator without noise: it is Hettmansperger and Sheather's
    /// interval of the numerator alone. For ten values at 95%, that is between the second interval
    /// (97.9%) and the third (89.1%). The share is (0.025 - 0.010742) / (0.054688 - 0.010742), so
    /// that the end is 0.655 of the way.
    #[test]
    fn a_quiet_denominator_leaves_the_numerators_interval() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = ratio_interval(&values, &[1.0; 6], Design::Fixed).unwrap();
        let share = (0.025 - 11.0 / 1024.0) / (45.0 / 1024.0);
        let weight = 8.0 * share / (2.0 + 6.0 * share);
        assert!((interval.lo - (2.0 + weight)).abs() < 0.01, "{interval:?}");
        assert!((interval.hi - (9.0 - weight)).abs() < 0.01, "{interval:?}");
    }

    /// Checks the interval of ten ratios as above, but without the error of the points.
    #[test]
    fn the_ends_of_ratios_are_interpolated_order_statistics() {
        let ratios: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = paired_ratio_interval(&ratios, Design::Fixed).unwrap();
        let share = (0.025 - 11.0 / 1024.0) / (45.0 / 1024.0);
        let weight = 8.0 * share / (2.0 + 6.0 * share);
        assert!((interval.lo - (2.0 + weight)).abs() < 1e-12, "{interval:?}");
        assert!((interval.hi - (9.0 - weight)).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn too_few_ratios_for_a_probability_give_none() {
        let six = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
        assert_eq!(paired_ratio_interval(&six[..5], Design::Fixed), None);
        assert_eq!(paired_ratio_interval_with_alpha(&six, 0.031), None);
        let range = Some(Interval { lo: 1.0, hi: 1.5 });
        assert_eq!(paired_ratio_interval_with_alpha(&six, 2.0 / 64.0), range);
    }

    /// Checks the smallest probability against noise that attains it: two values of equal
    /// probability, far apart in the numerator and close together in the denominator. The range of
    /// the quotients misses the ratio in 2/2^6 of the trials.
    #[test]
    fn the_range_of_six_runs_misses_as_often_as_stated() {
        let alpha = smallest_ratio_alpha(6);
        assert_eq!(alpha, 0.031_25);
        assert_eq!(ratio_interval_with_alpha(&[1.0; 6], &[1.0; 9], 0.99 * alpha), None);
        let sample = |sides: u32, gap: f64| -> Vec<f64> {
            (0..6).map(|run| if sides >> run & 1 == 1 { 1.0 + gap } else { 1.0 / (1.0 + gap) }).collect()
        };
        let misses = (0..64 * 64).filter(|trial| {
            let (above, below) = (sample(trial % 64, 0.1), sample(trial / 64, 0.01));
            !ratio_interval_with_alpha(&above, &below, alpha).unwrap().contains(1.0)
        });
        assert_eq!(misses.count(), 2 * 64);
    }

    fn runs() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(prop_oneof![0.5..2.0, Just(1.0)], 6..40)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_interval_contains_the_ratio_and_inverts_with_it(a in runs(), b in runs()) {
            let interval = ratio_interval(&a, &b, Design::Fixed).unwrap();
            let ratio = median(&a).unwrap() / median(&b).unwrap();
            prop_assert!(interval.lo <= ratio * (1.0 + 1e-9) && ratio * (1.0 - 1e-9) <= interval.hi);
            let inverse = ratio_interval(&b, &a, Design::Fixed).unwrap();
            prop_assert!(close(inverse.lo, 1.0 / interval.hi) && close(inverse.hi, 1.0 / interval.lo));
        }

        #[test]
        fn order_and_unit_do_not_matter(a in runs(), b in runs(), turn in 0usize..40, unit in 1e-6f64..1e6) {
            let interval = ratio_interval(&a, &b, Design::Fixed).unwrap();
            let mut turned = a.clone();
            turned.rotate_left(turn % a.len());
            prop_assert_eq!(ratio_interval(&turned, &b, Design::Fixed), Some(interval));
            let in_unit = |values: &[f64]| values.iter().map(|v| v * unit).collect::<Vec<_>>();
            let scaled = ratio_interval(&in_unit(&a), &in_unit(&b), Design::Fixed).unwrap();
            prop_assert!(close(scaled.lo, interval.lo) && close(scaled.hi, interval.hi));
        }

        #[test]
        fn a_rule_gives_the_order_statistics_of_its_rank(ratios in runs()) {
            let design = Design::Sequential { max_runs: 100 };
            let interval = paired_ratio_interval(&ratios, design).unwrap();
            let ranks = median_interval(&ratios, design).unwrap();
            prop_assert!(close(interval.lo, ranks.lo) && close(interval.hi, ranks.hi));
        }

        #[test]
        fn a_rule_widens_the_interval(a in runs(), b in runs()) {
            let fixed = ratio_interval(&a, &b, Design::Fixed).unwrap();
            let sequential = ratio_interval(&a, &b, Design::Sequential { max_runs: 100 }).unwrap();
            prop_assert!(sequential.lo <= fixed.lo && fixed.hi <= sequential.hi);
        }
    }
}
