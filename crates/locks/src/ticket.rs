//! First come, first served: spin until one's number comes up.
//!
//! | word | meaning |
//! |---|---|
//! | `next` | the number that the next to come gets |
//! | `serving` | the number whose turn it is |
//!
//! Numbers wrap around, and stay right while fewer than 2^32 threads wait. Fair to the letter, which is its weakness: where a
//! waiter is off its CPU when its number comes up, everybody waits for it. Never take it with more threads than CPUs.
//!
//! Orderings. A number is drawn `Relaxed`: it hands over nothing. Seeing one's number is `Acquire` and pairs with
//! the `Release` by which the owner before calls it. `try_lock` takes a number only where it is the one being
//! served; its `Acquire` on `serving` pairs with the same `Release`. Only the owner writes `serving`, so it may read it `Relaxed`.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicU32, const_unless_modelled, pause, relax};

/// Pauses for each thread that is in front: about what a hand-over from CPU to CPU takes, so that those far back look less
/// often (Mellor-Crummey and Scott, 1991, "proportional backoff").
const PAUSES_EACH: u32 = 4;

/// Nobody pauses for longer than so many threads in front would ask for.
const MOST_IN_FRONT: u32 = 16;

/// Spins until its number comes up.
#[derive(Debug)]
pub struct RawTicket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl RawTicket {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { next: AtomicU32::new(0), serving: AtomicU32::new(0) }
        }
    }

    /// Spins until this thread has it.
    #[inline]
    pub fn lock(&self) {
        let mine = self.next.fetch_add(1, Relaxed);
        loop {
            let in_front = mine.wrapping_sub(self.serving.load(Acquire));
            if in_front == 0 {
                return;
            }
            if !cfg!(loom) {
                for _ in 0..in_front.min(MOST_IN_FRONT) * PAUSES_EACH - 1 {
                    pause();
                }
            }
            relax();
        }
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) != self.next.load(Relaxed)
    }
}
