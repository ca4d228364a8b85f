//! Kernel-lock model: CPUs queue for locks, and processes queue for CPUs.
//!
//! Source 003 (Kaieda, Nakayama and others) shows that the share of time under the kernel's lock
//! decides the benefit of a second CPU. In this model the CPUs are the customers of a closed
//! network, and the locks are its queues.

use super::fit::{fit_scale, fit_share};
use super::network::birth_death;
use super::{Model, Point};

/// Share of a program's time on one CPU during which it holds locks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockShare(pub f64);

impl LockShare {
    /// Share from the lock ratio on a uniprocessor kernel, and from the times on one CPU with the
    /// uniprocessor and the multiprocessor kernel.
    ///
    /// The extra time of the multiprocessor kernel is its locking, so it counts as lock-held time.
    /// With the lock ratio alone the waits of source 003's Table 5 come out 70% too short; with the
    /// extra time, 17%.
    pub fn from_ratio(lock_ratio: f64, one_cpu_elapsed: f64, smp_kernel_time: f64) -> Self {
        let overhead = (smp_kernel_time - one_cpu_elapsed).max(0.0);
        Self(
            ((lock_ratio * one_cpu_elapsed + overhead) / one_cpu_elapsed.max(smp_kernel_time))
                .clamp(0.0, 1.0),
        )
    }
}

/// CPUs that share one lock: each CPU computes, then takes the lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelLock {
    /// Time on one CPU, including the time under the lock.
    pub one_cpu_elapsed: f64,
    /// Share of that time under the lock.
    pub share: LockShare,
}

impl KernelLock {
    /// Fits the share to the times. `None` with fewer than two CPU counts.
    pub fn fit(points: &[Point]) -> Option<Self> {
        let (one_cpu_elapsed, share) = fit_share(points, relative_elapsed)?;
        Some(Self { one_cpu_elapsed, share: LockShare(share) })
    }

    /// Fits only the time on one CPU, by least squares of relative errors; the share is known.
    pub fn fit_time(points: &[Point], share: LockShare) -> Self {
        Self { one_cpu_elapsed: fit_scale(points, |cpus| relative_elapsed(share.0, cpus)), share }
    }

    /// Time of a piece of work with 1, 2, … `cpus` busy CPUs, relative to one busy CPU.
    fn slowdown(&self, cpus: u32) -> Vec<f64> {
        cycles(self.share.0).take(cpus as usize).collect()
    }

    /// Share of the CPUs' time spent waiting for locks when all CPUs are busy.
    pub fn waiting_ratio(&self, cpus: u32) -> f64 {
        self.slowdown(cpus).last().map_or(0.0, |slowdown| 1.0 - 1.0 / slowdown)
    }

    /// Number of CPUs from which the lock is always held. At this count the bound of the queue,
    /// `1/share`, meets the bound of a machine without a queue.
    pub fn saturation(&self) -> Option<f64> {
        (self.share.0 > 0.0).then(|| 1.0 / self.share.0)
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
        self.one_cpu_elapsed * relative_elapsed(self.share.0, cpus)
    }
}

/// Processes that share CPUs, which share locks. A fixed number of jobs runs; each job is sometimes
/// away (asleep, or not yet started), so not all CPUs are always busy. This model checks the
/// published waits of source 003; no prediction uses it.
///
/// One station replaces the lower layer. Its service rate equals that of the lower layer with the
/// same number of busy CPUs. The replacement is exact for such networks (K. M. Chandy, U. Herzog,
/// L. Woo, Parametric Analysis of Queuing Networks, IBM J. Res. Dev. 19(1), 1975).
#[derive(Clone, Debug, PartialEq)]
pub struct JobModel {
    /// Number of jobs.
    pub jobs: u32,
    /// Time that a job is asleep or not yet started, per unit of its work.
    pub think_time: f64,
    /// Lower layer: the CPUs and their lock.
    pub locks: KernelLock,
}

impl JobModel {
    /// Fits the model to the times and to the known waiting ratios of the points, by relative
    /// error. `jobs` jobs run at once and share one lock. `None` without a waiting ratio above zero
    /// on more than one CPU.
    pub fn fit(points: &[(Point, Option<f64>)], jobs: u32) -> Option<Self> {
        let base = points.iter().map(|(point, _)| point).min_by_key(|point| point.cpus)?;
        let waits: Vec<_> = points
            .iter()
            .filter_map(|(point, waiting)| {
                waiting.filter(|w| *w > 0.0 && point.cpus > 1).map(|w| (point.cpus, w))
            })
            .collect();
        if waits.is_empty() {
            return None;
        }
        let model_with = |share: f64, think_time: f64| Self {
            jobs,
            think_time,
            locks: KernelLock { one_cpu_elapsed: 1.0, share: LockShare(share) },
        };
        let error = |share: f64, think_time: f64| {
            let model = model_with(share, think_time);
            let at_base = model.elapsed(base.cpus);
            let times = points.iter().map(|(point, _)| {
                let error = model.elapsed(point.cpus) / at_base / (point.elapsed / base.elapsed) - 1.0;
                // A median time is about ten times more precise than a ratio of sampled waits.
                (10.0 * error).powi(2)
            });
            let waits =
                waits.iter().map(|(cpus, waiting)| (model.waiting_ratio(*cpus) / waiting - 1.0).powi(2));
            times.chain(waits).sum::<f64>()
        };
        let (share, think_time) = minimise(error, (0.0, 1.0), (0.0, 4.0));
        let mut found = model_with(share, think_time);
        found.locks.one_cpu_elapsed = base.elapsed / found.elapsed(base.cpus);
        Some(found)
    }

    /// Probability, number of busy CPUs and slowdown of the work, for each number of present jobs
    /// from 1.
    fn busy_states(&self, cpus: u32) -> Vec<(f64, u32, f64)> {
        let cpus = cpus.min(self.jobs).max(1);
        let slowdown = self.locks.slowdown(cpus);
        let busy = |k: u32| k.min(cpus);
        let shares =
            birth_death(self.jobs, self.think_time, |k| f64::from(busy(k)) / slowdown[busy(k) as usize - 1]);
        (1..).zip(&shares[1..]).map(|(k, share)| (*share, busy(k), slowdown[busy(k) as usize - 1])).collect()
    }

    /// Share of the busy CPUs' time spent waiting for locks.
    pub fn waiting_ratio(&self, cpus: u32) -> f64 {
        let (mut waiting, mut all) = (0.0, 0.0);
        for (share, busy, slowdown) in self.busy_states(cpus) {
            all += share * f64::from(busy);
            waiting += share * f64::from(busy) * (1.0 - 1.0 / slowdown);
        }
        if all > 0.0 { waiting / all } else { 0.0 }
    }
}

impl Model for JobModel {
    fn elapsed(&self, cpus: u32) -> f64 {
        let rate: f64 = self
            .busy_states(cpus)
            .iter()
            .map(|(share, busy, slowdown)| share * f64::from(*busy) / slowdown)
            .sum();
        self.locks.one_cpu_elapsed / rate
    }
}

/// Minimum of a smooth function of two unknowns in a box: a grid search, repeated on ever smaller
/// grids around the best point.
fn minimise(function: impl Fn(f64, f64) -> f64, x: (f64, f64), y: (f64, f64)) -> (f64, f64) {
    const STEPS: u32 = 16;
    let mut centre = ((x.0 + x.1) / 2.0, (y.0 + y.1) / 2.0);
    let mut half = ((x.1 - x.0) / 2.0, (y.1 - y.0) / 2.0);
    while half.0 > 1e-6 * (x.1 - x.0) {
        let at = |step: u32, centre: f64, half: f64, (low, high): (f64, f64)| {
            (centre + half * (2.0 * f64::from(step) / f64::from(STEPS) - 1.0)).clamp(low, high)
        };
        let grid = (0..=STEPS).flat_map(|i| (0..=STEPS).map(move |j| (i, j)));
        let points = grid.map(|(i, j)| (at(i, centre.0, half.0, x), at(j, centre.1, half.1, y)));
        let best = points.map(|(a, b)| (function(a, b), a, b)).min_by(|a, b| a.0.total_cmp(&b.0));
        centre = best.map_or(centre, |(_, a, b)| (a, b));
        half = (half.0 / 3.0, half.1 / 3.0);
    }
    centre
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
        let model = KernelLock { one_cpu_elapsed: 10.0, share: LockShare(0.0) };
        assert_eq!(model.elapsed(8), 1.25);
        assert_eq!(model.waiting_ratio(8), 0.0);
        assert_eq!(model.saturation(), None);
    }

    #[test]
    fn permanently_held_lock_limits_the_speedup_to_one() {
        let model = KernelLock { one_cpu_elapsed: 10.0, share: LockShare(1.0) };
        assert!((model.elapsed(8) - 10.0).abs() < 1e-9);
        assert!((model.waiting_ratio(8) - 7.0 / 8.0).abs() < 1e-9);
    }

    #[test]
    fn jobs_without_think_time_equal_the_lower_layer() {
        let locks = KernelLock { one_cpu_elapsed: 10.0, share: LockShare(0.3) };
        let jobs = JobModel { jobs: 8, think_time: 0.0, locks };
        for cpus in [1, 2, 5, 8] {
            assert!((jobs.elapsed(cpus) - locks.elapsed(cpus)).abs() < 1e-9);
            assert!((jobs.waiting_ratio(cpus) - locks.waiting_ratio(cpus)).abs() < 1e-9);
        }
        assert!((jobs.elapsed(16) - jobs.elapsed(8)).abs() < 1e-12, "more CPUs than jobs do not help");
    }

    #[test]
    fn fit_recovers_the_true_parameters() {
        let truth = JobModel {
            jobs: 6,
            think_time: 0.4,
            locks: KernelLock { one_cpu_elapsed: 100.0, share: LockShare(0.15) },
        };
        let points: Vec<_> =
            [1, 2, 3, 4].map(|n| (Point::new(n, truth.elapsed(n)), Some(truth.waiting_ratio(n)))).into();
        let found = JobModel::fit(&points, 6).unwrap();
        assert!((found.think_time - 0.4).abs() < 1e-3, "{found:?}");
        assert!((found.elapsed(6) / truth.elapsed(6) - 1.0).abs() < 1e-4);
    }

    /// The figures are from source 003, Table 3, and from the overhead of its kernel on one CPU.
    #[test]
    fn the_overhead_of_the_smp_kernel_is_held_time() {
        let LockShare(share) = LockShare::from_ratio(0.0531, 600.0, 636.0);
        assert!((share - (31.86 + 36.0) / 636.0).abs() < 1e-12);
    }
}
