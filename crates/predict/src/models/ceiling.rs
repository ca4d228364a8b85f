//! Ceiling: perfect scaling up to a number of CPUs, and no gain beyond.

use super::fit::fit_share;
use super::{Model, Point};

/// Program whose CPUs all help until its longest chain of dependent work, or its number of threads,
/// is the limit: `T(n) = T(1) · max(1/n, 1/k)`.
///
/// Source: R. P. Brent, The Parallel Evaluation of General Arithmetic Expressions, JACM 21(2),
/// 1974: no schedule takes less than the work divided by the CPUs, or less than the longest chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Time on one CPU.
    pub one_cpu_elapsed: f64,
    /// Largest number of CPUs that help; infinite if the points show no limit.
    pub most_cpus: f64,
}

impl Ceiling {
    /// Fits the ceiling to the times. `None` with fewer than two CPU counts.
    pub fn fit(points: &[Point]) -> Option<Self> {
        let (one_cpu_elapsed, least_share) = fit_share(points, relative_elapsed)?;
        Some(Self { one_cpu_elapsed, most_cpus: 1.0 / least_share })
    }
}

/// Elapsed time relative to that on one CPU, which is at least `least_share`.
fn relative_elapsed(least_share: f64, cpus: u32) -> f64 {
    (1.0 / f64::from(cpus)).max(least_share)
}

impl Model for Ceiling {
    fn elapsed(&self, cpus: u32) -> f64 {
        self.one_cpu_elapsed * relative_elapsed(1.0 / self.most_cpus, cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_recovers_the_number_of_threads() {
        let truth = Ceiling { one_cpu_elapsed: 10.0, most_cpus: 3.0 };
        let points: Vec<_> = [1, 2, 4, 8].map(|n| Point::new(n, truth.elapsed(n))).into();
        let found = Ceiling::fit(&points).unwrap();
        assert!((found.most_cpus - 3.0).abs() < 1e-3 && (found.one_cpu_elapsed - 10.0).abs() < 1e-3);
    }

    #[test]
    fn perfect_scaling_has_no_ceiling() {
        let points: Vec<_> = [1, 2, 4].map(|n| Point::new(n, 10.0 / f64::from(n))).into();
        let found = Ceiling::fit(&points).unwrap();
        assert!(found.most_cpus > 4.0 && (found.elapsed(4) - 2.5).abs() < 1e-9);
    }
}
