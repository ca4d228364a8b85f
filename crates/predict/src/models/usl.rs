//! Universal scalability law and Amdahl's law, its special case.

use super::fit::fit_non_negative;
use super::{Model, Point};

/// Gunther's universal scalability law, for time: `T(n) = T(1) · (1 + α(n-1) + βn(n-1)) / n`.
/// With `β = 0` the law is Amdahl's law, and `α` is the serial fraction.
///
/// Source: N. J. Gunther, Guerrilla Capacity Planning, 2007, chapter 4; G. M. Amdahl, AFIPS 1967.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Time on one CPU, in the unit of the points.
    pub one_cpu_elapsed: f64,
    /// Contention, or the serial fraction: the share of the work on one CPU that is not divided.
    /// Not negative.
    pub alpha: f64,
    /// Coherency: the cost of each pair of CPUs, as a share of the work on one CPU. Not negative.
    pub beta: f64,
}

impl Usl {
    /// Fits the law to two points or more, by relative error, with non-negative coefficients. With
    /// two points, `β` is set to zero and `α` explains the points.
    pub fn fit(points: &[Point]) -> Option<Self> {
        if points.len() < 3 {
            return Self::amdahl(points);
        }
        Self::from_coefficients(fit_non_negative(points, [|n| 1.0 / n, |n| (n - 1.0) / n, |n| n - 1.0])?)
    }

    /// Fits Amdahl's law: `β = 0`.
    pub fn amdahl(points: &[Point]) -> Option<Self> {
        let [one, alpha] = fit_non_negative(points, [|n| 1.0 / n, |n| (n - 1.0) / n])?;
        Self::from_coefficients([one, alpha, 0.0])
    }

    /// Fits perfect scaling: `α = 0` and `β = 0`.
    pub fn ideal(points: &[Point]) -> Option<Self> {
        let [one] = fit_non_negative(points, [|n| 1.0 / n])?;
        Self::from_coefficients([one, 0.0, 0.0])
    }

    fn from_coefficients([one_cpu_elapsed, alpha, beta]: [f64; 3]) -> Option<Self> {
        (one_cpu_elapsed > 0.0).then(|| Self {
            one_cpu_elapsed,
            alpha: alpha / one_cpu_elapsed,
            beta: beta / one_cpu_elapsed,
        })
    }

    /// Cost of coherency alone, in units of the time on one CPU: `β(n-1)`, once per added CPU. The
    /// R package `usl` prints half of this value.
    pub fn overhead(&self, cpus: u32) -> f64 {
        self.beta * (f64::from(cpus) - 1.0)
    }
}

impl Model for Usl {
    fn elapsed(&self, cpus: u32) -> f64 {
        let n = f64::from(cpus);
        self.one_cpu_elapsed * (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0)) / n
    }

    /// Peak at `√((1-α)/β)`.
    fn peak(&self) -> Option<f64> {
        (self.beta > 0.0).then(|| ((1.0 - self.alpha).max(0.0) / self.beta).sqrt().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovers_its_own_parameters_and_peak() {
        let truth = Usl { one_cpu_elapsed: 100.0, alpha: 0.05, beta: 0.002 };
        let points: Vec<_> = [1, 2, 3, 4, 8].map(|n| Point::new(n, truth.elapsed(n))).into();
        let found = Usl::fit(&points).unwrap();
        assert!((found.alpha - 0.05).abs() < 1e-9 && (found.beta - 0.002).abs() < 1e-9);
        let peak = found.peak().unwrap();
        assert!((peak - (0.95_f64 / 0.002).sqrt()).abs() < 1e-6);
        let around = |n: u32| truth.elapsed(n);
        let least = (1..100).min_by(|a, b| around(*a).total_cmp(&around(*b))).unwrap();
        assert!((f64::from(least) - peak).abs() <= 1.0);
    }

    #[test]
    fn two_points_are_a_serial_fraction() {
        let found = Usl::fit(&[Point::new(1, 104.0), Point::new(2, 70.0)]).unwrap();
        // Source of the expected value: Karp and Flatt, (70/104 - 1/2) / (1 - 1/2).
        assert!((found.alpha - 0.346_153_846).abs() < 1e-6);
        assert_eq!(found.beta, 0.0);
        assert_eq!(found.peak(), None);
    }
}
