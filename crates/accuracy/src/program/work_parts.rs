//! Arithmetic that several programs share: idle CPUs beside a number of workers.

use morecores_study::Nanos;

use crate::clock;

/// CPU-seconds idle on `cpus` CPUs while `workers` threads share `work_s` of CPU time equally.
pub(super) fn idle_while_working(cpus: u32, workers: u32, work_s: f64) -> f64 {
    let busy = f64::from(workers.min(cpus).max(1));
    (f64::from(cpus) - busy).max(0.0) * work_s / busy
}

/// Percentage of some seconds, as a time.
pub(super) fn part_of_time(seconds: f64, percent: f64) -> Nanos {
    Nanos::from_secs_f64(seconds * percent / 100.0)
}

/// Spends CPU time in turns of `other` and of computing, so that `other` gets `percent` of
/// `work_s`. The length of a turn is random, so that turns and the kernel's ticks do not fall into
/// step.
pub(super) fn alternate(work_s: f64, percent: f64, seed: u64, mut other: impl FnMut(Nanos)) {
    use rand::{RngExt, SeedableRng};
    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let begun = clock::thread_cpu();
    let mut given = 0.0;
    while given < work_s {
        // 1 to 9 ms: some two ticks of 4 ms.
        let turn = chance.random_range(0.001..0.009_f64).min(work_s - given);
        // Ends follow the plan, so that the next turn compensates for a turn that took too long.
        let end = |seconds: f64| begun + Nanos::from_secs_f64(seconds);
        other(end(given + turn * percent / 100.0));
        given += turn;
        clock::burn_until(end(given));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_beyond_the_workers_are_idle() {
        assert_eq!(idle_while_working(1, 1, 3.0), 0.0);
        assert_eq!(idle_while_working(1, 2, 3.0), 0.0);
        assert_eq!(idle_while_working(2, 1, 3.0), 3.0);
        assert_eq!(idle_while_working(2, 2, 3.0), 0.0);
        assert_eq!(idle_while_working(4, 2, 3.0), 3.0);
        assert_eq!(idle_while_working(4, 1, 3.0), 9.0);
    }

    #[test]
    fn turns_share_the_work_as_requested() {
        let (begun, mut others) = (clock::thread_cpu(), Nanos::ZERO);
        alternate(0.3, 30.0, 1, |end| {
            let from = clock::thread_cpu();
            clock::burn_until(end);
            others += clock::thread_cpu().since(from);
        });
        let all = clock::thread_cpu().since(begun).as_secs_f64();
        assert!((0.3..0.31).contains(&all), "{all}");
        let share = others.as_secs_f64() / all;
        assert!((0.28..0.32).contains(&share), "{share}");
    }
}
