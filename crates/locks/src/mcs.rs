//! A queue of spinners, each on a word of its own (Mellor-Crummey and Scott, 1991), in the form of the K42 kernel: the owner's
//! place in the queue is kept in the lock, so that a thread's own place need not outlive its call of `lock`, and the
//! interface is that of any lock.
//!
//! | word | meaning |
//! |---|---|
//! | `tail` | null: free; `HELD`: somebody has it and nobody waits; else the place of the last that waits |
//! | `first` | the place of the first that waits, once it has said so; null before |
//! | a place's `next` | the place behind it, once that has said so |
//! | a place's `waits` | whether its thread still has to wait |
//!
//! An unlock touches one waiter's cache line, however many wait. As fair as the ticket lock, and as unfit for more threads than CPUs.
//!
//! Orderings. Joining the queue is `AcqRel` on `tail`: `Release`, so that who finds this place there sees it filled in;
//! `Acquire`, so that this thread sees the place before it filled in, and, where it finds the lock free, what the last owner wrote. `next`
//! and `first` are published by `Release` and read by `Acquire` for the same reason. `waits` is cleared by `Release` and
//! seen by `Acquire`: that hands over the lock. The owner alone clears `first`, with `Relaxed`, and its unlocking
//! `Release` on `tail` orders that before the next owner.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, AtomicPtr, const_unless_modelled, relax};

/// A waiting thread's place in the queue, on its stack. In cache lines of its own: CPUs fetch two at once.
#[derive(Debug)]
#[repr(align(128))]
struct Place {
    next: AtomicPtr<Place>,
    waits: AtomicBool,
}

/// In `tail`: somebody has it, nobody waits. No place has this address, which is not aligned.
const HELD: *mut Place = ptr::without_provenance_mut(1);

/// A queue of spinners.
#[derive(Debug)]
pub struct RawMcs {
    tail: AtomicPtr<Place>,
    first: AtomicPtr<Place>,
}

impl RawMcs {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { tail: AtomicPtr::new(ptr::null_mut()), first: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Spins until this thread has it.
    #[inline]
    pub fn lock(&self) {
        if self.tail.compare_exchange(ptr::null_mut(), HELD, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        let place = Place { next: AtomicPtr::new(ptr::null_mut()), waits: AtomicBool::new(true) };
        let mine = ptr::from_ref(&place).cast_mut();
        let mut before = self.tail.load(Relaxed);
        loop {
            let new = if before.is_null() { HELD } else { mine };
            match self.tail.compare_exchange_weak(before, new, AcqRel, Relaxed) {
                Ok(_) if before.is_null() => return,
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        if before == HELD {
            self.first.store(mine, Release);
        } else {
            #[allow(unsafe_code)]
            // SAFETY: `before` was the tail until this thread put its own place there. Its thread returns from `lock` only after
            // it has taken its place out of `tail`, which it can no longer, or has seen `next`, which is set here and not
            // touched afterwards.
            unsafe { &*before }.next.store(mine, Release);
        }
        while place.waits.load(Acquire) {
            relax();
        }
        self.take_over(&place, mine);
    }

    /// Moves what follows the owner's place into the lock, so that the place may go.
    fn take_over(&self, place: &Place, mine: *mut Place) {
        let mut next = place.next.load(Acquire);
        if next.is_null() {
            self.first.store(ptr::null_mut(), Relaxed);
            if self.tail.compare_exchange(mine, HELD, AcqRel, Relaxed).is_ok() {
                return;
            }
            // Somebody has joined and is about to say so.
            next = wait_for(&place.next);
        }
        self.first.store(next, Relaxed);
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.tail.compare_exchange(ptr::null_mut(), HELD, Acquire, Relaxed).is_ok()
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let mut first = self.first.load(Acquire);
        if first.is_null() {
            if self.tail.compare_exchange(HELD, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            first = wait_for(&self.first);
        }
        // Cleared before the hand-over: afterwards `first` is the next owner's.
        self.first.store(ptr::null_mut(), Relaxed);
        #[allow(unsafe_code)]
        // SAFETY: the place's thread spins until this store and does not return before it. The store is the last access: the
        // reference is of an atomic within a place that may be gone right after it, as a lock's own memory may.
        unsafe { &*first }.waits.store(false, Release);
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        !self.tail.load(Relaxed).is_null()
    }
}

/// What the pointer becomes, which another thread is about to set.
fn wait_for(pointer: &AtomicPtr<Place>) -> *mut Place {
    loop {
        let now = pointer.load(Acquire);
        if !now.is_null() {
            return now;
        }
        relax();
    }
}
