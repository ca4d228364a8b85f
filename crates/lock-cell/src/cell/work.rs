//! Work of a known CPU time, done while a lock is held and in between.
//!
//! The work is pure arithmetic, so that it contends for no shared resource and does not depend on
//! memory placement.

use std::hint::black_box;

use morecores_study::Nanos;

use morecores_workloads::clock::Span;

/// Duration of one measurement of the work. It is so long that the clock's own time is negligible,
/// and so short that many measurements end without preemption.
const BATCH: Nanos = Nanos::from_micros(20);

/// Number of measurements. The fastest counts: interruptions only make a measurement slower.
const BATCHES: u32 = 40;

/// Number of dependent steps: each step needs the result of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work(u64);

impl Work {
    /// No work.
    pub(super) const NONE: Self = Self(0);

    /// Work of the given CPU time, on the CPU of the caller. The calibration takes some
    /// milliseconds.
    pub(super) fn calibrate(time: Nanos) -> Self {
        if time == Nanos::ZERO {
            return Self::NONE;
        }
        Self::fit(time, Self::fastest_ns)
    }

    /// Work of the given time, fitted by `fastest_ns`, which returns the duration of some work in
    /// nanoseconds.
    fn fit(time: Nanos, fastest_ns: impl Fn(Self) -> f64) -> Self {
        // The first pass goes from a thousand steps, some microseconds, to nearly the right number.
        // The second pass corrects for the cost of the call and of the loop's end.
        let mut work = Self(1000);
        for _ in 0..2 {
            let steps = work.0 as f64 * time.0 as f64 / fastest_ns(work);
            work = Self((steps.round() as u64).max(1));
        }
        work
    }

    /// Shortest duration of the work, in nanoseconds.
    fn fastest_ns(self) -> f64 {
        fastest_repetition(|times| {
            let (span, ()) = Span::measure(|| (0..times).for_each(|_| self.run()));
            span.end.since(span.start)
        })
    }

    /// Runs the work.
    #[inline(always)]
    pub(super) fn run(self) {
        if self.0 > 0 {
            // Both ends are hidden from the compiler, so that the steps are executed, and at this
            // place.
            black_box(mix_steps(black_box(self.0), self.0));
        }
    }
}

/// Value of `word` after the given number of steps.
#[inline(always)]
fn mix_steps(mut word: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        // The step cannot be simplified: it multiplies a word that a shift has mixed.
        word = (word ^ (word >> 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    word
}

/// Shortest duration of one repetition, in nanoseconds. `batch` repeats the operation the given
/// number of times and returns the total duration.
fn fastest_repetition(batch: impl Fn(u64) -> Nanos) -> f64 {
    let best = |times| (0..BATCHES).map(|_| batch(times).0).min().unwrap_or(1).max(1);
    let times = (BATCH.0 / best(1)).max(1);
    best(times) as f64 / times as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn work_is_fitted_to_the_requested_time() {
        assert_eq!(Work::calibrate(Nanos::ZERO), Work::NONE);
        // The cases are fast and slow machines, on which a call is cheap or expensive compared with
        // a step.
        for (call, step) in [(0.0, 0.3), (2.0, 0.3), (2.0, 1.3), (10.0, 7.0)] {
            let duration_ns = |work: Work| call + step * work.0 as f64;
            for time in [100.0, 1_000.0, 10_000.0, 200_000.0] {
                let error_ns = duration_ns(Work::fit(Nanos(time as u64), duration_ns)) - time;
                assert!(error_ns.abs() <= 0.5 * step + 0.01 * time, "{time} on {call} {step}: {error_ns}");
            }
        }
        // Less than one step is rounded up to one.
        assert_eq!(Work::fit(Nanos(1), |work| 7.0 * work.0 as f64), Work(1));
    }

    #[test]
    fn the_fastest_batch_counts_and_has_the_requested_length() {
        let batches = Cell::new(0_u32);
        let longest = Cell::new(0);
        // A repetition takes 50 ns. All batches except every seventh are interrupted.
        let best = fastest_repetition(|times| {
            batches.set(batches.get() + 1);
            longest.set(longest.get().max(times));
            Nanos(50 * times + if batches.get().is_multiple_of(7) { 0 } else { 9_000 })
        });
        assert_eq!((best, longest.get(), batches.get()), (50.0, BATCH.0 / 50, 2 * BATCHES));
        // A clock that does not advance in so short a time must not cause a division by zero.
        assert!(fastest_repetition(|_| Nanos::ZERO).is_finite());
    }

    #[test]
    fn every_step_is_done() {
        // By CPython: `w = (w ^ w >> 1) * 0x9e3779b97f4a7c15 & 2**64 - 1`, that many times.
        assert_eq!(mix_steps(1, 1), 0x9e37_79b9_7f4a_7c15);
        assert_eq!(mix_steps(3, 3), 0xd583_8254_2c63_0696);
        assert_eq!(mix_steps(1000, 1000), 0xba0c_4d6a_1e91_0c8e);
    }
}
