//! The interval of a ratio of two medians: what a speedup is.
//!
//! It must not assume that the two samples are alike: one CPU is often quiet where four are noisy.

use crate::design::{Design, MIN_RUNS, fair_coin};
use crate::interval::Interval;
use crate::summary::sorted;

use statrs::distribution::Discrete;

/// Points by which each sample's distribution is represented. The chance below an end is off by at most half a
/// point, 0.025%, to the wide side.
const POINTS: usize = 2000;

/// Ends are found to this relative accuracy: a nanosecond in ten seconds.
const ACCURACY: f64 = 1e-10;

/// The 95% interval of `median(numerator) / median(denominator)`; None where either has fewer than
/// [`MIN_RUNS`](crate::MIN_RUNS) values or one that is not positive and finite.
///
/// Each median is given the distribution that its sample supports: the chance of being below the `r`-th smallest
/// value is the binomial tail behind the exact interval, and between two values it is interpolated as Hettmansperger
/// & Sheather do (Statistics & Probability Letters 4, 1986; Nyblom, ibid. 14, 1992). The interval holds the middle
/// 95% of the quotient of the two. That is a smoothed bootstrap of the median with the resampling carried out in
/// full instead of drawn: there is no seed, and the same runs give the same interval. How it was chosen, and what
/// it covers beside the plain bootstrap, is in `docs/methods/measure.md`, "Ratio of medians".
pub fn ratio_interval(numerator: &[f64], denominator: &[f64], design: Design) -> Option<Interval> {
    let alpha = design.ratio_alpha(numerator.len())?.max(design.ratio_alpha(denominator.len())?);
    ratio_interval_missing(numerator, denominator, alpha)
}

/// As [`ratio_interval`], but missing the ratio with a chance of `alpha`. What the samples cannot bear is not given: an end is
/// never beyond what the extremes of the two say.
pub fn ratio_interval_missing(numerator: &[f64], denominator: &[f64], alpha: f64) -> Option<Interval> {
    let above = median_points(numerator)?;
    let below = median_points(denominator)?;
    let tail = (alpha / 2.0 * (POINTS * POINTS) as f64) as usize;
    let lo = tail_quotient(&above, &below, tail);
    // The greatest quotients are the least ones upside down, so both ends are found alike and swapping the
    // samples inverts the interval.
    let hi = 1.0 / tail_quotient(&below, &above, tail);
    Some(Interval { lo, hi: hi.max(lo) })
}

/// The median's distribution as `POINTS` ascending values, each as likely; None where no interval can be had.
fn median_points(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < MIN_RUNS || !values.iter().all(|v| v.is_finite() && *v > 0.0) {
        return None;
    }
    let values = sorted(values);
    let runs = values.len();
    let coin = fair_coin(runs);
    let mut lower = Vec::with_capacity(POINTS);
    let mut upper = Vec::with_capacity(POINTS);
    let mut rank = 0;
    let (mut tail, mut next_tail) = (0.0, coin.pmf(0));
    for point in 0..POINTS / 2 {
        let chance = (point as f64 + 0.5) / POINTS as f64;
        while next_tail <= chance && 2 * rank < runs {
            rank += 1;
            tail = next_tail;
            next_tail += coin.pmf(rank as u64);
        }
        // Below the smallest value the sample says nothing; the smallest stands for all of it.
        let weight =
            if rank == 0 { 1.0 } else { interpolation(runs, rank, (chance - tail) / (next_tail - tail)) };
        let between = |near: usize, far: usize| values[near] + weight * (values[far] - values[near]);
        let rank_below = rank.saturating_sub(1);
        lower.push(between(rank_below, rank));
        upper.push(between(runs - 1 - rank_below, runs - 1 - rank));
    }
    lower.extend(upper.into_iter().rev());
    Some(lower)
}

/// How far from the `rank`-th value towards the next the interpolated end lies, where `share` of the chance
/// between them is used up: `(n-r)s / (r + (n-2r)s)`, exact for double-exponential noise and close to it for any
/// smooth one (Hettmansperger & Sheather 1986, Nyblom 1992).
fn interpolation(runs: usize, rank: usize, share: f64) -> f64 {
    let (runs, rank) = (runs as f64, rank as f64);
    (runs - rank) * share / (rank + (runs - 2.0 * rank) * share)
}

/// The `tail`-th smallest of all quotients of a point of `above` by one of `below`: found by halving the range, each
/// time counting the quotients below the middle in one sweep over both.
fn tail_quotient(above: &[f64], below: &[f64], tail: usize) -> f64 {
    let mut lo = above[0] / below[POINTS - 1];
    let mut hi = above[POINTS - 1] / below[0];
    let at_or_under = |ratio: f64| {
        let mut count = 0;
        let mut fits = 0;
        for point in below {
            let limit = ratio * point;
            while fits < above.len() && above[fits] <= limit {
                fits += 1;
            }
            count += fits;
        }
        count
    };
    while hi - lo > ACCURACY * hi {
        let middle = lo + (hi - lo) / 2.0;
        if at_or_under(middle) >= tail.max(1) {
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

    /// Against a denominator without noise the interval is Hettmansperger and Sheather's of the numerator alone.
    /// For ten values at 95% that is between the second interval (97.9%) and the third (89.1%):
    /// share (0.025 - 0.010742) / (0.054688 - 0.010742), so 0.655 of the way.
    #[test]
    fn a_quiet_denominator_leaves_the_numerators_interval() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = ratio_interval(&values, &[1.0; 6], Design::Fixed).unwrap();
        let share = (0.025 - 11.0 / 1024.0) / (45.0 / 1024.0);
        let weight = 8.0 * share / (2.0 + 6.0 * share);
        assert!((interval.lo - (2.0 + weight)).abs() < 0.01, "{interval:?}");
        assert!((interval.hi - (9.0 - weight)).abs() < 0.01, "{interval:?}");
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
        fn it_contains_the_ratio_and_inverts_with_it(a in runs(), b in runs()) {
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
        fn a_rule_widens_it(a in runs(), b in runs()) {
            let fixed = ratio_interval(&a, &b, Design::Fixed).unwrap();
            let sequential = ratio_interval(&a, &b, Design::Sequential { max_runs: 100 }).unwrap();
            prop_assert!(sequential.lo <= fixed.lo && fixed.hi <= sequential.hi);
        }
    }
}
