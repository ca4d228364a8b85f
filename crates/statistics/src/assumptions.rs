//! Check of the assumption that there are values near the median.
//!
//! The check only detects; the report words the warning. `docs/methods/measure.md` gives the
//! measured loss of coverage after a failed check. `disturbance` checks that runs are independent.

use crate::design::Design;
use crate::median_interval;
use crate::summary::sorted;

/// Smallest share of the median's interval that one gap between neighbours must fill. By
/// simulation, 3% of samples of six normal runs reach this share, and 1% or less of larger ones. Of
/// samples with two equally likely speeds, 96% reach it (docs/methods/measure.md).
const GAP_SHARE: f64 = 0.7;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
