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
/// `work_s`. Ends follow the plan, so that the next turn compensates for a turn that took too long.
pub(super) fn alternate(work_s: f64, percent: f64, seed: u64, mut other: impl FnMut(Nanos)) {
    let begun = clock::thread_cpu();
    for turn in turns(work_s, percent, seed) {
        let end = |seconds: f64| begun + Nanos::from_secs_f64(seconds);
        other(end(turn.end_of_other));
        clock::burn_until(end(turn.end));
    }
}

/// Turn of two kinds of work, in seconds of CPU time since the first turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    end_of_other: f64,
    end: f64,
}

/// Turns that fill `work_s`, `percent` of each by the other work. Their length is random, so that
/// turns and the kernel's ticks do not fall into step.
fn turns(work_s: f64, percent: f64, seed: u64) -> impl Iterator<Item = Turn> {
    use rand::{RngExt, SeedableRng};
    let mut chance = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut begin = 0.0;
    std::iter::from_fn(move || {
        if begin >= work_s {
            return None;
        }
        // 1 to 9 ms: some two ticks of 4 ms.
        let length = chance.random_range(0.001..0.009_f64).min(work_s - begin);
        let turn = Turn { end_of_other: begin + length * percent / 100.0, end: begin + length };
        begin = turn.end;
        Some(turn)
    })
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
        let (mut end, mut others) = (0.0, 0.0);
        for turn in turns(0.3, 30.0, 1) {
            assert!(end < turn.end_of_other && turn.end_of_other < turn.end, "{turn:?}");
            assert!(turn.end - end < 0.009 + 1e-9, "{turn:?}");
            others += turn.end_of_other - end;
            end = turn.end;
        }
        assert!((end - 0.3).abs() < 1e-9, "{end}");
        assert!((others - 0.09).abs() < 1e-9, "{others}");
    }

    #[test]
    fn turns_end_at_their_cpu_times() {
        let begun = clock::thread_cpu();
        let mut calls = 0;
        alternate(0.02, 30.0, 1, |end| {
            assert!(begun <= end, "{end:?}");
            clock::burn_until(end);
            calls += 1;
        });
        // A virtual CPU that is taken away may lengthen it, never shorten it.
        assert!(clock::thread_cpu().since(begun) >= Nanos::from_secs_f64(0.02));
        assert_eq!(calls, turns(0.02, 30.0, 1).count());
    }
}
