//! Implementation 1: spin until the lock is free.
//!
//! | bits of the byte | meaning |
//! |---|---|
//! | 0 | the lock has an owner |
//!
//! Test and test-and-set (Rudolph and Segall, 1984): waiters read until the lock looks free, each
//! from its own cache. Only then do they try to take it, which claims the line. The variant with
//! backoff looks less and less often (Anderson, 1990), so that the owner's unlock and the next lock
//! find a less contended line. In exchange the lock may stay free for the length of a pause.
//!
//! Orderings. Taking is `Acquire` and freeing is `Release`: the next owner sees the previous
//! owner's writes. Looking is `Relaxed`, since it leads to nothing but an attempt.
//!
//! Never use this lock where there may be more threads than CPUs: waiters then burn the CPU time
//! that the owner needs to free the lock.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, const_unless_modelled, pause, relax};

/// Spin lock: a waiter spins until the lock is free.
#[derive(Debug)]
pub struct RawSpin {
    locked: AtomicBool,
}

impl RawSpin {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { locked: AtomicBool::new(false) }
        }
    }

    /// Spins until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        while !self.try_take() {
            while self.locked.load(Relaxed) {
                relax();
            }
        }
    }

    /// Tries to take the lock, without a preceding look.
    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        // A failed attempt writes nothing.
        self.locked.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        !self.locked.load(Relaxed) && self.try_take()
    }

    /// Frees the lock. Only the owner may call this: a call by another thread frees the lock under
    /// its owner.
    #[inline]
    pub(crate) fn unlock(&self) {
        self.locked.store(false, Release);
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.locked.load(Relaxed)
    }
}

/// Spin lock with backoff: a waiter looks half as often after each attempt that another thread won.
#[derive(Debug)]
pub struct RawSpinBackoff(RawSpin);

/// Longest pause between two looks, in CPU pauses: some 5 µs at 20 ns each, a fraction of the cost
/// of a sleep and a wake-up.
const MAX_PAUSES: u32 = if cfg!(loom) { 1 } else { 256 };

impl RawSpinBackoff {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self(RawSpin::new())
        }
    }

    /// Spins until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        if !self.0.try_take() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        let mut pauses = 1;
        loop {
            while self.0.locked.load(Relaxed) {
                for _ in 0..pauses {
                    pause();
                }
                pauses = (pauses * 2).min(MAX_PAUSES);
            }
            if self.0.try_take() {
                return;
            }
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
