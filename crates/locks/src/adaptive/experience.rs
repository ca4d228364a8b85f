//! What spinning has been worth at a lock: for how many looks it pays to go on.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0 to 15 | the bound, in looks; above the process's own at first: nothing is known yet |
//! | 16 to 31 | how many waits have gone by without a spin since the bound fell to nothing |
//!
//! One word, written with `Relaxed` loads and stores: a lost update is a lesson lost, no more.

use core::sync::atomic::Ordering::Relaxed;

use crate::primitive::{AtomicU32, const_unless_modelled};

/// A bound below this many looks is nothing: the glance before it was longer.
const LEAST: u32 = 16;

/// Each so many waits without a spin, one spins all the same: what the lock is used for may have changed.
const PROBE_EVERY: u32 = 32;

/// A success pulls the bound an eighth of the way towards twice what it took, as glibc's adaptive mutex does
/// (`pthread_mutex_lock.c`); a failure takes a quarter off.
const GAIN: u32 = 2;
const LOSS: u32 = 8;

/// What spinning has been worth at a lock.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Experience(AtomicU32);

impl Experience {
    const_unless_modelled! {
        /// Of a lock that nobody has waited for.
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(u16::MAX as u32))
        }
    }

    /// For how many looks to spin now, at most `most`; 0: not at all.
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

    /// The lock came free after so many looks.
    pub(crate) fn succeeded(&self, looks: u32, most: u32) {
        let wanted = (2 * looks + LEAST).min(most);
        let bound = (self.0.load(Relaxed) & 0xffff).min(most);
        let new = if bound < LEAST { wanted } else { (bound * (GAIN - 1) + wanted) / GAIN };
        self.0.store(new, Relaxed);
    }

    /// It did not within the bound.
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
        // And one success is enough to begin anew.
        lock.succeeded(50, MOST);
        assert_eq!(lock.bound(MOST), 116);
    }
}
