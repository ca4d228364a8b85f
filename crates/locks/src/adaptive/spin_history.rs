//! Benefit of spinning at a lock so far: the number of looks after which spinning stops paying off.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0 to 15 | the limit, in looks; initially above the process's own limit, since nothing is known yet |
//! | 16 to 31 | number of waits without a spin since the limit fell to zero |
//!
//! The word is written with `Relaxed` loads and stores: a lost update only loses one observation.

use core::sync::atomic::Ordering::Relaxed;

use crate::primitive::{AtomicU32, const_unless_modelled};

/// Smallest useful limit, in looks. A lower limit counts as zero, since the preceding short spin
/// was longer.
const MIN_LIMIT: u32 = 16;

/// Interval between probes: one of so many waits without a spin spins after all, since the use of
/// the lock may have changed.
const PROBE_INTERVAL: u32 = 32;

/// Divisors for an update. A success moves the limit `1 / SUCCESS_DIVISOR` of the way towards twice
/// its number of looks (plus [`MIN_LIMIT`]), similar to glibc's adaptive mutex
/// (`pthread_mutex_lock.c`). A failure takes `1 / FAILURE_DIVISOR` off.
const SUCCESS_DIVISOR: u32 = 2;
const FAILURE_DIVISOR: u32 = 8;

/// Benefit of spinning at a lock so far.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct SpinHistory(AtomicU32);

impl SpinHistory {
    const_unless_modelled! {
        /// History of a lock without any wait so far.
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(u16::MAX as u32))
        }
    }

    /// Number of looks for a spin now, at most `max`; 0 means no spin.
    pub(crate) fn limit(&self, max: u32) -> u32 {
        let word = self.0.load(Relaxed);
        let (limit, spinless_waits) = (word & 0xffff, word >> 16);
        if limit >= MIN_LIMIT {
            return limit.min(max);
        }
        if spinless_waits + 1 < PROBE_INTERVAL {
            self.0.store(word + (1 << 16), Relaxed);
            return 0;
        }
        self.0.store(limit, Relaxed);
        max
    }

    /// Records that the lock became free after `looks` looks.
    pub(crate) fn record_success(&self, looks: u32, max: u32) {
        let target = (2 * looks + MIN_LIMIT).min(max);
        let limit = (self.0.load(Relaxed) & 0xffff).min(max);
        let new = if limit < MIN_LIMIT {
            target
        } else {
            (limit * (SUCCESS_DIVISOR - 1) + target) / SUCCESS_DIVISOR
        };
        self.0.store(new, Relaxed);
    }

    /// Records that the lock did not become free within the limit.
    pub(crate) fn record_failure(&self, max: u32) {
        let limit = (self.0.load(Relaxed) & 0xffff).min(max);
        self.0.store(limit - limit.div_ceil(FAILURE_DIVISOR), Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MAX: u32 = 800;

    #[test]
    fn a_new_lock_has_the_whole_bound() {
        assert_eq!(SpinHistory::new().limit(MAX), MAX);
        assert_eq!(SpinHistory::new().limit(0), 0);
    }

    #[test]
    fn the_bound_settles_at_twice_the_wait() {
        let lock = SpinHistory::new();
        for _ in 0..100 {
            lock.record_success(100, MAX);
        }
        assert!((200..=230).contains(&lock.limit(MAX)), "{}", lock.limit(MAX));
    }

    #[test]
    fn waiters_rarely_spin_for_a_lock_with_long_holds() {
        let lock = SpinHistory::new();
        for _ in 0..40 {
            if lock.limit(MAX) > 0 {
                lock.record_failure(MAX);
            }
        }
        let spins = (0..10 * PROBE_INTERVAL).filter(|_| {
            let spins = lock.limit(MAX) > 0;
            if spins {
                lock.record_failure(MAX);
            }
            spins
        });
        assert_eq!(spins.count(), 10);
        // One success is enough to start again.
        lock.record_success(50, MAX);
        assert_eq!(lock.limit(MAX), 116);
    }
}
