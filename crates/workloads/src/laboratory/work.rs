//! Work that takes a known time of a CPU: what is done while a lock is held, and between.
//!
//! Arithmetic alone, so that it meets nobody else's and does not depend on where memory lies.

use std::hint::black_box;

use morecores_study::Nanos;

use crate::clock::Span;

/// How long one measurement of the work goes on: so long that the clock's own time is nothing beside it, and so short that
/// many of them end before the scheduler comes in between.
const BATCH: Nanos = Nanos::from_micros(20);

/// How many are made. The fastest counts: whatever comes in between makes one slower, and nothing makes one faster.
const BATCHES: u32 = 40;

/// A number of steps that are done one after the other, each of which needs the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work(u64);

impl Work {
    /// None.
    pub(super) const NONE: Self = Self(0);

    /// Work of so much CPU time, on the CPU on which the caller is. Takes some milliseconds to find out.
    pub(super) fn lasting(time: Nanos) -> Self {
        if time == Nanos::ZERO {
            return Self::NONE;
        }
        Self::fitted(time, Self::measured)
    }

    /// Work of so much time by `measured`, which returns what some work takes, in nanoseconds.
    fn fitted(time: Nanos, measured: impl Fn(Self) -> f64) -> Self {
        // From a thousand steps, which take some microseconds, to nearly the right number; and from that to the right
        // one, since the call and the end of the loop have a price too.
        let mut work = Self(1000);
        for _ in 0..2 {
            let steps = work.0 as f64 * time.0 as f64 / measured(work);
            work = Self((steps.round() as u64).max(1));
        }
        work
    }

    /// What it takes at best, in nanoseconds.
    fn measured(self) -> f64 {
        fastest(|times| {
            let (span, ()) = Span::of(|| (0..times).for_each(|_| self.run()));
            span.to.since(span.from)
        })
    }

    /// Does it.
    #[inline(always)]
    pub(super) fn run(self) {
        if self.0 > 0 {
            // Both ends are hidden from the compiler, so that the steps are done, and here.
            black_box(mixed(black_box(self.0), self.0));
        }
    }
}

/// What becomes of `word` after so many steps.
#[inline(always)]
fn mixed(mut word: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        // Nothing that can be shortened: a multiplication of what a shift has mixed.
        word = (word ^ (word >> 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    word
}

/// What a thing takes at best, in nanoseconds; `batch` does it so many times and returns how long all of them took.
fn fastest(batch: impl Fn(u64) -> Nanos) -> f64 {
    let best = |times| (0..BATCHES).map(|_| batch(times).0).min().unwrap_or(1).max(1);
    let times = (BATCH.0 / best(1)).max(1);
    best(times) as f64 / times as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn work_is_fitted_to_the_time_that_was_asked_for() {
        assert_eq!(Work::lasting(Nanos::ZERO), Work::NONE);
        // Machines that are fast and slow, on which a call is cheap and dear beside a step.
        for (call, step) in [(0.0, 0.3), (2.0, 0.3), (2.0, 1.3), (10.0, 7.0)] {
            let takes = |work: Work| call + step * work.0 as f64;
            for time in [100.0, 1_000.0, 10_000.0, 200_000.0] {
                let off = takes(Work::fitted(Nanos(time as u64), takes)) - time;
                assert!(off.abs() <= 0.5 * step + 0.01 * time, "{time} on {call} {step}: {off}");
            }
        }
        // Less than one step is one.
        assert_eq!(Work::fitted(Nanos(1), |work| 7.0 * work.0 as f64), Work(1));
    }

    #[test]
    fn the_fastest_batch_counts_and_lasts_as_long_as_a_batch_is_to() {
        let batches = Cell::new(0_u32);
        let longest = Cell::new(0);
        // 50 ns each, and in all batches but every seventh somebody comes in between.
        let best = fastest(|times| {
            batches.set(batches.get() + 1);
            longest.set(longest.get().max(times));
            Nanos(50 * times + if batches.get().is_multiple_of(7) { 0 } else { 9_000 })
        });
        assert_eq!((best, longest.get(), batches.get()), (50.0, BATCH.0 / 50, 2 * BATCHES));
        // A clock that does not go on in so short a time divides by nothing.
        assert!(fastest(|_| Nanos::ZERO).is_finite());
    }

    #[test]
    fn every_step_is_done() {
        // By CPython: `w = (w ^ w >> 1) * 0x9e3779b97f4a7c15 & 2**64 - 1`, so many times.
        assert_eq!(mixed(1, 1), 0x9e37_79b9_7f4a_7c15);
        assert_eq!(mixed(3, 3), 0xd583_8254_2c63_0696);
        assert_eq!(mixed(1000, 1000), 0xba0c_4d6a_1e91_0c8e);
    }
}
