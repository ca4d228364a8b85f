//! Implementation 3: block on an event, with a count of waiters.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0 | somebody has it |
//! | 1 to 31 | how many wait |
//!
//! The count spares the unlocking thread the system call where nobody waits. It is exact: a waiter adds itself before it sleeps
//! and takes itself off in the step in which it takes the lock.
//!
//! No wake-up is lost. A waiter sleeps only while the word is one that it saw with the lock taken and itself counted. Whoever
//! frees such a word sees the count and wakes after the word has changed; the kernel then finds the sleeper, or the
//! sleeper finds that the word has changed.
//!
//! Orderings. Taking is `Acquire`, freeing `Release`. Counting oneself is `Relaxed`: it hands over no data, and the kernel
//! compares the word under a lock of its own.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{Word, const_unless_modelled};

const LOCKED: u32 = 1;
const WAITER: u32 = 2;

/// Blocks until it is woken.
#[derive(Debug)]
pub struct RawBlock {
    word: Word,
}

impl RawBlock {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { word: Word::new(0) }
        }
    }

    /// Blocks until this thread has it.
    #[inline]
    pub fn lock(&self) {
        if self.word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        // Its share of the word: none until it is counted.
        let mut me = 0;
        let mut seen = self.word.load(Relaxed);
        loop {
            let (new, takes) = match seen & LOCKED {
                0 => ((seen | LOCKED) - me, true),
                _ => (seen + WAITER - me, false),
            };
            if let Err(now) = self.word.compare_exchange(seen, new, Acquire, Relaxed) {
                seen = now;
                continue;
            }
            if takes {
                return;
            }
            me = WAITER;
            self.word.sleep_while(new, None);
            seen = self.word.load(Relaxed);
        }
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & LOCKED == 0 {
            match self.word.compare_exchange_weak(seen, seen | LOCKED, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let word = ptr::from_ref(&self.word);
        if self.word.fetch_and(!LOCKED, Release) != LOCKED {
            Word::wake_one(word);
        }
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}
