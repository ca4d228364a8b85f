//! Implementation 1: spin until it is free.
//!
//! | bits of the byte | meaning |
//! |---|---|
//! | 0 | somebody has it |
//!
//! Test and test-and-set (Rudolph and Segall, 1984): waiters read until the lock looks free, each from its own cache, and
//! only then try to take it, which claims the line. The one with backoff looks ever less often (Anderson, 1990), so that the
//! owner's unlock and the next one's lock find the line less crowded; in exchange the lock may lie free for a pause.
//!
//! Orderings. Taking is `Acquire` and freeing `Release`: the next owner sees what the one before wrote. Looking is
//! `Relaxed`, since nothing is done on the strength of it but trying.
//!
//! Never take it where there may be more threads than CPUs: waiters then burn the time that the owner needs to free it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, const_unless_modelled, pause, relax};

/// Spins until it is free.
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

    /// Spins until this thread has it.
    #[inline]
    pub fn lock(&self) {
        while !self.try_take() {
            while self.locked.load(Relaxed) {
                relax();
            }
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

    /// Frees it. Only who has it may: another's call frees it under its owner.
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

/// Spins until it is free, and looks half as often after each time that another was faster.
#[derive(Debug)]
pub struct RawSpinBackoff(RawSpin);

/// The longest pause between two looks, in CPU pauses: some 5 µs at 20 ns each, a fraction of what a sleep and a
/// wake-up cost.
const LONGEST_PAUSE: u32 = if cfg!(loom) { 1 } else { 256 };

impl RawSpinBackoff {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self(RawSpin::new())
        }
    }

    /// Spins until this thread has it.
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
                pauses = (pauses * 2).min(LONGEST_PAUSE);
            }
            if self.0.try_take() {
                return;
            }
        }
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.0.unlock();
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}
