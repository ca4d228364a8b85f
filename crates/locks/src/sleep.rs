//! Implementation 2: sleep between tries.
//!
//! | bits of the byte | meaning |
//! |---|---|
//! | 0 | somebody has it |
//!
//! Burns no CPU while it waits and wakes nobody when it is freed, but a waiter is late by up to a whole sleep, however
//! short the lock was held, and nothing keeps one from being unlucky for ever. It is here because it is the first
//! thing that people try.
//!
//! Orderings as those of [`RawSpin`](crate::RawSpin).

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, const_unless_modelled, sleep_ns};

/// Between two tries: what Linux makes of the shortest sleep, whose timers are rounded up by 50 µs for ordinary threads
/// (`PR_SET_TIMERSLACK`, prctl(2)).
const PAUSE_NS: u32 = 50_000;

/// Sleeps between tries.
#[derive(Debug)]
pub struct RawSleep {
    locked: AtomicBool,
}

impl RawSleep {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { locked: AtomicBool::new(false) }
        }
    }

    /// Tries and sleeps until this thread has it.
    #[inline]
    pub fn lock(&self) {
        while !self.try_take() {
            sleep_ns(PAUSE_NS);
        }
    }

    #[inline]
    fn try_take(&self) -> bool {
        // What fails writes nothing.
        self.locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        !self.locked.load(Relaxed) && self.try_take()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.locked.store(false, Release);
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.locked.load(Relaxed)
    }
}
