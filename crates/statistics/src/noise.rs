//! Noise floor: the difference that two measurements of an unchanged program can show.
//!
//! The floor covers only the noise between runs. It does not cover changes between sessions (a
//! reboot, a new link order); see `docs/methods/measure.md`.

use crate::design::Design;
use crate::ratio::ratio_interval;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_have_no_floor_and_few_runs_none() {
        assert_eq!(noise_floor(&[2.0; 6]), Some(0.0));
        assert_eq!(noise_floor(&[2.0; 5]), None);
        assert_eq!(noise_floor(&[0.0; 6]), None);
    }

    #[test]
    fn the_floor_grows_with_the_noise() {
        let runs = [0.0, 3.0, -2.0, 1.0, -4.0, 4.0, -1.0, 0.0];
        let floor = |noise: f64| noise_floor(&runs.map(|part| 1.0 + noise * part)).unwrap();
        let (quiet, noisy) = (floor(0.001), floor(0.01));
        assert!(0.0 < quiet && 8.0 * quiet < noisy && noisy < 0.1, "{quiet} {noisy}");
    }
}
