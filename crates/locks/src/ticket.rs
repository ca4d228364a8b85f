//! First come, first served: each waiter spins until its number is served.
//!
//! | word | meaning |
//! |---|---|
//! | `next` | number of the next arriving thread |
//! | `serving` | number that is being served |
//!
//! Numbers wrap around, and stay correct while fewer than 2^32 threads wait. The lock is strictly
//! fair, which is its weakness: if a waiter is off its CPU when its number is served, all others
//! wait for it. Never use the lock with more threads than CPUs.
//!
//! Orderings. A number is drawn `Relaxed`, since it passes on no data. The read of one's own number
//! in `serving` is `Acquire` and pairs with the `Release` of the previous owner. `try_lock` takes a
//! number only if it is the one being served; its `Acquire` on `serving` pairs with that `Release`
//! too. Only the owner writes `serving`, so it may read it `Relaxed`.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::primitive::{AtomicU32, const_unless_modelled, pause, relax};

/// Pauses per thread in front: about the time of a handoff between CPUs, so that threads far back
/// look less often (Mellor-Crummey and Scott, 1991, "proportional backoff").
const PAUSES_PER_WAITER: u32 = 4;

/// Maximum number of threads in front that count for a pause.
const MAX_WAITERS_AHEAD: u32 = 16;

/// Ticket lock: a waiter spins until its number is served.
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

    /// Spins until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        let ticket = self.next.fetch_add(1, Relaxed);
        loop {
            let waiters_ahead = ticket.wrapping_sub(self.serving.load(Acquire));
            if waiters_ahead == 0 {
                return;
            }
            if !cfg!(loom) {
                for _ in 0..waiters_ahead.min(MAX_WAITERS_AHEAD) * PAUSES_PER_WAITER - 1 {
                    pause();
                }
            }
            relax();
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.serving.load(Relaxed) != self.next.load(Relaxed)
    }
}
