//! Number of rounds that would make an interval narrow enough to tell its estimate from a bound.
//!
//! A forecast from the spread so far; no interval depends on it.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::design::Design;
use crate::interval::Interval;
use crate::stopping::looks;

/// Largest number of rounds that is worth naming. An estimate that needs more lies on the bound.
const MOST_ROUNDS: usize = 1000;

/// Number of rounds after which an interval from `runs` runs is narrower than now by the factor
/// `shrink`, which is between 0 and 1. `None` if the interval is missing, or if more than a
/// thousand rounds are needed.
///
/// The width is that of a normal estimate: the quantile of the design's level, divided by the
/// square root of the runs. The result is a look of the stopping rule, so it may exceed the
/// smallest possible number by half.
pub fn rounds_until_width(design: Design, runs: usize, shrink: f64) -> Option<usize> {
    let now = relative_width(design, runs)?;
    let is_narrow = |rounds: usize| {
        let design = match design {
            Design::Fixed => Design::Fixed,
            Design::Sequential { .. } => Design::Sequential { max_runs: rounds },
        };
        relative_width(design, rounds).is_some_and(|width| width <= shrink * now)
    };
    looks()
        .skip_while(|rounds| *rounds <= runs)
        .take_while(|rounds| *rounds <= MOST_ROUNDS)
        .find(|r| is_narrow(*r))
}

/// Number of rounds after which the interval of a ratio no longer contains `bound`, if the estimate
/// stays at `value`. `None` as in [`rounds_until_width`].
pub fn rounds_until_apart(
    design: Design,
    runs: usize,
    value: f64,
    interval: Interval,
    bound: f64,
) -> Option<usize> {
    let end = if value > bound { interval.lo } else { interval.hi };
    // Widths of ratios are compared on the logarithmic scale.
    rounds_until_width(design, runs, (bound / value).ln() / (end / value).ln())
}

/// Half-width of the interval in standard deviations of a single run.
fn relative_width(design: Design, runs: usize) -> Option<f64> {
    design.rank(runs)?;
    let alpha = design.ratio_alpha(runs)?;
    Some(Normal::standard().inverse_cdf(1.0 - alpha / 2.0) / (runs as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_width_needs_four_times_the_runs() {
        assert_eq!(rounds_until_width(Design::Fixed, 8, 0.5), Some(32));
        assert_eq!(rounds_until_width(Design::Fixed, 6, 0.499), Some(32), "the next look after 24 runs");
    }

    #[test]
    fn an_estimate_on_the_bound_needs_no_number_of_rounds() {
        for shrink in [0.0, -1.0, 0.01, f64::NAN] {
            assert_eq!(rounds_until_width(Design::Sequential { max_runs: 30 }, 6, shrink), None);
        }
        assert_eq!(rounds_until_width(Design::Fixed, 5, 0.9), None, "no interval yet");
    }

    #[test]
    fn a_smaller_shrink_needs_more_rounds() {
        let design = Design::Sequential { max_runs: 30 };
        let rounds = [0.9, 0.6, 0.3, 0.15].map(|shrink| rounds_until_width(design, 6, shrink));
        assert!(rounds.is_sorted() && rounds.iter().all(Option::is_some), "{rounds:?}");
    }
}
