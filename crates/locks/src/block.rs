//! Implementation 3: block on an event, with a count of waiters.
//!
//! | bits of the word | meaning |
//! |---|---|
//! | 0 | the lock has an owner |
//! | 1 to 31 | number of waiters |
//!
//! The count spares the unlocking thread the system call if there is no waiter. The count is exact:
//! a waiter adds itself before it sleeps, and subtracts itself in the step in which it takes the
//! lock.
//!
//! No wake-up is lost. A waiter sleeps only while the word equals a value with the lock taken and
//! the waiter counted. A thread that frees such a word sees the count and wakes after the change of
//! the word. The kernel then finds the sleeper, or the sleeper finds that the word has changed.
//!
//! Orderings. Taking is `Acquire`, freeing is `Release`. A waiter counts itself `Relaxed`: the
//! count passes on no data, and the kernel compares the word under its own lock.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{FutexWord, const_unless_modelled};

const LOCKED: u32 = 1;
const WAITER: u32 = 2;

/// Blocking lock: a waiter blocks until it is woken.
#[derive(Debug)]
pub struct RawBlock {
    word: FutexWord,
}

impl RawBlock {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { word: FutexWord::new(0) }
        }
    }

    /// Blocks until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        if self.word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        // The waiter's share of the word: zero until it is counted.
        let mut own_count = 0;
        let mut seen = self.word.load(Relaxed);
        loop {
            let (new, acquires) = match seen & LOCKED {
                0 => ((seen | LOCKED) - own_count, true),
                _ => (seen + WAITER - own_count, false),
            };
            if let Err(now) = self.word.compare_exchange(seen, new, Acquire, Relaxed) {
                seen = now;
                continue;
            }
            if acquires {
                return;
            }
            own_count = WAITER;
            self.word.sleep_while(new, None);
            seen = self.word.load(Relaxed);
        }
    }

    /// Takes the lock if it is free.
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
            FutexWord::wake_one(word);
        }
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}
