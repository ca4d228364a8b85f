//! Evenly spread quantiles: few random ones would leave the middle and the ends of a distribution
//! to chance. This module knows no quantity.

/// Quantile between 0 and 1 with this number in the sequence of multiples of `step`, without whole
/// numbers. Any number of the first ones is spread evenly if the step is irrational, and several
/// sequences are spread evenly together if their steps are independent over the rational numbers
/// (H. Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods, 1992, chapter 3).
pub(super) fn even_quantile(number: u64, step: f64) -> f64 {
    ((number + 1) as f64 * step).fract()
}
