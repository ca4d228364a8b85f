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

/// Smallest useful limit, in looks. A lower limit counts as zero, since the preceding glance was
/// longer.
const LEAST: u32 = 16;

/// Interval between probes: one of so many waits without a spin spins after all, since the use of
/// the lock may have changed.
const PROBE_EVERY: u32 = 32;

/// Divisors for an update. A success moves the limit `1 / GAIN` of the way towards twice its number
/// of looks (plus [`LEAST`]), similar to glibc's adaptive mutex (`pthread_mutex_lock.c`). A failure
/// takes `1 / LOSS` off.
const GAIN: u32 = 2;
const LOSS: u32 = 8;

/// Benefit of spinning at a lock so far.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Experience(AtomicU32);

impl Experience {
    const_unless_modelled! {
        /// Experience of a lock without any wait so far.
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(u16::MAX as u32))
        }
    }

    /// Number of looks for a spin now, at most `most`; 0 means no spin.
    pub(crate) fn bound(&self, most: u32) -> u32 {
        let word = self.0.load(Relaxed);
        let (bound, without) = (word & 0xffff, word >> 16);
        if bound >= LEAST {
            return bound.min(most);
        }
        if without + 1 < PROBE_EVERY {
            self.0.store(word + (1 << 16), Relaxed);
            return 0;
        }
        self.0.store(bound, Relaxed);
        most
    }

    /// Records that the lock became free after `looks` looks.
    pub(crate) fn succeeded(&self, looks: u32, most: u32) {
        let wanted = (2 * looks + LEAST).min(most);
        let bound = (self.0.load(Relaxed) & 0xffff).min(most);
        let new = if bound < LEAST { wanted } else { (bound * (GAIN - 1) + wanted) / GAIN };
        self.0.store(new, Relaxed);
    }

    /// Records that the lock did not become free within the limit.
    pub(crate) fn failed(&self, most: u32) {
        let bound = (self.0.load(Relaxed) & 0xffff).min(most);
        self.0.store(bound - bound.div_ceil(LOSS), Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MOST: u32 = 800;

    #[test]
    fn an_untried_lock_is_given_the_whole_bound() {
        assert_eq!(Experience::new().bound(MOST), MOST);
        assert_eq!(Experience::new().bound(0), 0);
    }

    #[test]
    fn the_bound_settles_at_twice_what_it_takes() {
        let lock = Experience::new();
        for _ in 0..100 {
            lock.succeeded(100, MOST);
        }
        assert!((200..=230).contains(&lock.bound(MOST)), "{}", lock.bound(MOST));
    }

    #[test]
    fn a_lock_that_is_held_for_long_is_no_longer_spun_on_but_now_and_then() {
        let lock = Experience::new();
        for _ in 0..40 {
            if lock.bound(MOST) > 0 {
                lock.failed(MOST);
            }
        }
        let spins = (0..10 * PROBE_EVERY).filter(|_| {
            let spins = lock.bound(MOST) > 0;
            if spins {
                lock.failed(MOST);
            }
            spins
        });
        assert_eq!(spins.count(), 10);
        // One success is enough to start again.
        lock.succeeded(50, MOST);
        assert_eq!(lock.bound(MOST), 116);
    }
}
