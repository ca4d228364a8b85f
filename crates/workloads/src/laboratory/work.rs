//! Work that takes a known time of a CPU: what is done while a lock is held, and between.
//!
//! Arithmetic alone, so that it meets nobody else's and does not depend on where memory lies.

use std::hint::black_box;

use morecores_record::Nanos;

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
        // From a thousand steps, which take some microseconds, to nearly the right number; and from that to the right
        // one, since the call and the end of the loop have a price too.
        let mut work = Self(1000);
        for _ in 0..2 {
            let steps = work.0 as f64 * time.0 as f64 / work.measured();
            work = Self((steps.round() as u64).max(1));
        }
        work
    }

    /// What it takes at best, in nanoseconds.
    fn measured(self) -> f64 {
        let batch = |times: u64| {
            let (span, ()) = Span::of(|| (0..times).for_each(|_| self.run()));
            span.to.since(span.from).0.max(1)
        };
        let once = (0..BATCHES).map(|_| batch(1)).min().unwrap_or(1);
        let times = (BATCH.0 / once).max(1);
        let best = (0..BATCHES).map(|_| batch(times)).min().unwrap_or(1);
        best as f64 / times as f64
    }

    /// Does it.
    #[inline(always)]
    pub(super) fn run(self) {
        if self.0 > 0 {
            // Both ends are hidden from the compiler, so that the steps are done, and here.
            let mut word = black_box(self.0);
            for _ in 0..self.0 {
                // Nothing that can be shortened: a multiplication of what a shift has mixed.
                word = (word ^ (word >> 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            black_box(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_the_time_that_was_asked_for() {
        assert_eq!(Work::lasting(Nanos::ZERO), Work::NONE);
        for time in [100, 1_000, 10_000, 200_000] {
            // A machine that is busy at the moment of calibration is so at another's: tried again.
            let right = || {
                let measured = Work::lasting(Nanos(time)).measured();
                (0.9..1.1).contains(&(measured / time as f64))
            };
            assert!((0..10).any(|_| right()), "{time}");
        }
    }
}
