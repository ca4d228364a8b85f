//! Kernel-lock model: CPUs queue for locks.
//!
//! Source 003 (Kaieda, Nakayama and others) shows that the share of time under the kernel's lock
//! decides the benefit of a second CPU. In this model the CPUs are the customers of a closed
//! network, and the locks are its queues.

use super::fit::fit_share;
use super::{Model, Point};

/// CPUs that share one lock: each CPU computes, then takes the lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelLock {
    /// Time on one CPU, including the time under the lock.
    pub one_cpu_elapsed: f64,
    /// Share of that time under the lock.
    pub share: f64,
}

impl KernelLock {
    /// Fits the share to the times. `None` with fewer than two CPU counts.
    pub fn fit(points: &[Point]) -> Option<Self> {
        let (one_cpu_elapsed, share) = fit_share(points, relative_elapsed)?;
        Some(Self { one_cpu_elapsed, share })
    }
}

/// Cycle of 1, 2, … customers of a closed network with a delay of `1 - share` and one queue with
/// the service time `share`.
///
/// The recursion of [`mean_value_analysis`](super::mean_value_analysis) for this case, without its
/// lists: a fit needs it some ten thousand times.
fn cycles(share: f64) -> impl Iterator<Item = f64> {
    let mut queue = 0.0;
    (1_u32..).map(move |customers| {
        let at_queue = share * (1.0 + queue);
        let cycle = (1.0 - share).max(0.0) + at_queue;
        queue = f64::from(customers) * at_queue / cycle;
        cycle
    })
}

/// Elapsed time relative to that on one CPU.
fn relative_elapsed(share: f64, cpus: u32) -> f64 {
    cycles(share).nth(cpus.saturating_sub(1) as usize).unwrap_or(1.0) / f64::from(cpus)
}

impl Model for KernelLock {
    fn elapsed(&self, cpus: u32) -> f64 {
        self.one_cpu_elapsed * relative_elapsed(self.share, cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::mean_value_analysis;
    use super::*;

    #[test]
    fn cycles_are_those_of_mean_value_analysis() {
        for share in [0.0, 0.01, 0.3, 0.99, 1.0] {
            let exact = mean_value_analysis(1.0 - share, &[share], 40);
            for (cycle, solution) in cycles(share).zip(&exact) {
                assert!((cycle / solution.cycle - 1.0).abs() < 1e-12, "{share}");
            }
        }
    }

    #[test]
    fn without_locks_the_speedup_is_the_cpu_count() {
        assert_eq!(KernelLock { one_cpu_elapsed: 10.0, share: 0.0 }.elapsed(8), 1.25);
    }

    #[test]
    fn permanently_held_lock_limits_the_speedup_to_one() {
        let model = KernelLock { one_cpu_elapsed: 10.0, share: 1.0 };
        assert!((model.elapsed(8) - 10.0).abs() < 1e-9);
    }
}
