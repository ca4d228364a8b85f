//! Implementation 2: sleep between attempts.
//!
//! | bits of the byte | meaning |
//! |---|---|
//! | 0 | the lock has an owner |
//!
//! A waiter burns no CPU time, and an unlock wakes no thread. But a waiter is late by up to a whole
//! sleep, however short the hold was, and nothing prevents starvation. The lock is included because
//! many programmers try it first.
//!
//! The orderings are those of [`RawSpin`](crate::RawSpin).

use crate::RawSpin;
use crate::primitive::{const_unless_modelled, sleep_ns};

/// Pause between two attempts: the actual duration of Linux's shortest sleep, whose timers are
/// rounded up by 50 µs for ordinary threads (`PR_SET_TIMERSLACK`, prctl(2)).
const PAUSE_NS: u32 = 50_000;

/// Sleeping lock: a waiter sleeps between attempts.
#[derive(Debug)]
pub struct RawSleep(RawSpin);

impl RawSleep {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self(RawSpin::new())
        }
    }

    /// Alternates attempts and sleeps until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        while !self.0.try_take() {
            sleep_ns(PAUSE_NS);
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.0.unlock();
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}
