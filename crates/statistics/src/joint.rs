//! Several intervals that together keep one probability of error (Holm's procedure).
//!
//! This module decides on the levels alone. It knows no samples and no estimators.

use crate::interval::Interval;

/// Intervals of several figures, each at the level at which Holm's procedure tests that its figure
/// is `hypothesis`. A figure is told apart from `hypothesis` if its interval does not contain it.
/// With the confidence of one interval, all figures so told apart are truly different.
///
/// `interval` returns the interval of a figure, by its number, for a share of the allowed
/// probability of error; none if the runs are too few for that share.
///
/// The first test of `m` figures gives each the share `1/m`. When some of them are told apart, the
/// others share the whole again: S. Holm, *A Simple Sequentially Rejective Multiple Test
/// Procedure*, Scandinavian Journal of Statistics 6(2), 1979. The procedure needs no independence.
pub fn joint_intervals(
    figures: usize,
    interval: impl Fn(usize, f64) -> Option<Interval>,
    hypothesis: f64,
) -> Vec<Option<Interval>> {
    let mut intervals = vec![None; figures];
    let mut open: Vec<usize> = (0..figures).collect();
    loop {
        let tested = open.len();
        for &index in &open {
            intervals[index] = interval(index, 1.0 / tested as f64);
        }
        open.retain(|&index| intervals[index].is_none_or(|interval| interval.contains(hypothesis)));
        if open.is_empty() || open.len() == tested {
            return intervals;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns, for each figure, whether it is told apart from 1. The interval of a figure with `p`
    /// excludes 1 if its share is at least `0.99 p`. It does not exist below the share `least`.
    fn told_apart(figures: &[(f64, f64)]) -> Vec<Option<bool>> {
        let interval = |index: usize, share: f64| {
            let (p, least) = figures[index];
            (share >= least).then(|| Interval { lo: 2.0 - 0.99 * p / share, hi: 2.0 + p / share })
        };
        let intervals = joint_intervals(figures.len(), interval, 1.0);
        intervals.into_iter().map(|interval| interval.map(|interval| !interval.contains(1.0))).collect()
    }

    /// The second of three has a share of one half, which Bonferroni would not allow. The last has
    /// the whole probability.
    #[test]
    fn a_figure_told_apart_leaves_its_share_to_the_others() {
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(told_apart(&[(0.45, 0.0), (0.3, 0.0), (0.9, 0.0)]), [yes, yes, yes]);
        assert_eq!(told_apart(&[(0.55, 0.0), (0.3, 0.0), (0.9, 0.0)]), [no, yes, no]);
        assert_eq!(told_apart(&[(0.45, 0.0), (0.4, 0.0), (0.9, 0.0)]), [no, no, no]);
        assert_eq!(told_apart(&[(0.9, 0.0)]), [yes]);
        assert_eq!(told_apart(&[]), []);
    }

    #[test]
    fn too_few_runs_for_a_share_leave_a_figure_unknown() {
        assert_eq!(told_apart(&[(0.3, 0.4), (0.3, 0.4)]), [Some(true), Some(true)]);
        assert_eq!(told_apart(&[(0.1, 0.4), (0.1, 0.4), (0.1, 0.4)]), [None; 3]);
        assert_eq!(told_apart(&[(0.1, 0.4), (0.1, 0.0), (0.1, 0.4)]), [Some(true); 3]);
        assert_eq!(told_apart(&[(0.1, 0.6), (0.1, 0.0), (0.1, 0.6)]), [None, Some(true), None]);
    }
}
