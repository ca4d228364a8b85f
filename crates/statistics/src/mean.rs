//! Mean of a few repeated measurements, with its interval.
//!
//! For figures of traced runs alone: a count has too few of these for an interval of order
//! statistics. Timed runs have medians.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::Interval;

/// Probability below the upper end of a 95% interval.
const UPPER_END: f64 = 0.975;

/// Arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// 95% interval of the mean: Student (1908), `mean ± t · s / √k` with `k - 1` degrees of freedom.
/// `None` below two values.
///
/// The coverage holds for values of normal distribution. With three values `t` is 4.3, so that the
/// interval is wider than their range unless two of them are nearly equal.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let mean = mean(values)?;
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = (squares / freedom / values.len() as f64).sqrt();
    let half = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(UPPER_END) * standard_error;
    Some(Interval { lo: mean - half, hi: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_that_of_students_table() {
        assert_eq!(mean_interval(&[1.0]), None);
        assert_eq!(mean(&[]), None);
        let [lo, hi] = mean_interval(&[1.0, 2.0, 3.0]).unwrap().ends();
        // Table: 4.303 with two degrees of freedom.
        let half = 4.303 / 3.0_f64.sqrt();
        assert!((lo - (2.0 - half)).abs() < 1e-3 && (hi - (2.0 + half)).abs() < 1e-3, "{lo} {hi}");
        assert_eq!(mean_interval(&[5.0; 3]).unwrap().ends(), [5.0, 5.0]);
    }
}
