//! A queue of spinners, each on its own word (Mellor-Crummey and Scott, 1991), in the form of the
//! K42 kernel. The lock stores the owner's place in the queue. A thread's own place therefore need
//! not outlive its call of `lock`, and the interface is that of any lock.
//!
//! | word | meaning |
//! |---|---|
//! | `tail` | null: free; `HELD`: the lock has an owner and no waiters; otherwise the last waiter's place |
//! | `first` | the first waiter's place, once that waiter has linked it; null before |
//! | a place's `next` | the next place in the queue, once its thread has linked it |
//! | a place's `waits` | whether its thread still has to wait |
//!
//! An unlock touches one waiter's cache line, for any number of waiters. The lock is as fair as the
//! ticket lock, and equally unsuitable for more threads than CPUs.
//!
//! Orderings. Joining the queue is `AcqRel` on `tail`. `Release` ensures that a thread that finds
//! this place there sees it filled in. `Acquire` ensures that this thread sees the previous place
//! filled in, or, if the lock is free, the last owner's writes. `next` and `first` are published by
//! `Release` and read by `Acquire` for the same reason. `waits` is cleared by `Release` and seen by
//! `Acquire`, which hands over the lock. Only the owner clears `first`, with `Relaxed`. The
//! `Release` of its unlock on `tail` orders that before the next owner.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, AtomicPtr, const_unless_modelled, relax};

/// A waiting thread's place in the queue, on its stack. It has its own pair of cache lines: CPUs
/// fetch two at once.
#[derive(Debug)]
#[repr(align(128))]
struct Place {
    next: AtomicPtr<Place>,
    waits: AtomicBool,
}

/// Value of `tail` for a lock with an owner and no waiters. No place has this address, which is not
/// aligned.
const HELD: *mut Place = ptr::without_provenance_mut(1);

/// MCS lock: a queue of spinners.
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

    /// Spins until this thread owns the lock.
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
            // SAFETY: `before` was the tail until this thread put its own place there. The other
            // thread returns from `lock` only after one of two events. Either it has removed its
            // place from `tail`, which is no longer possible, or it has seen `next`, which is set
            // here and not touched afterwards.
            unsafe { &*before }.next.store(mine, Release);
        }
        while place.waits.load(Acquire) {
            relax();
        }
        self.take_over(&place, mine);
    }

    /// Moves the successor of the owner's place into the lock, so that the place may be dropped.
    fn take_over(&self, place: &Place, mine: *mut Place) {
        let mut next = place.next.load(Acquire);
        if next.is_null() {
            self.first.store(ptr::null_mut(), Relaxed);
            if self.tail.compare_exchange(mine, HELD, AcqRel, Relaxed).is_ok() {
                return;
            }
            // Another thread has joined the queue and is about to link its place.
            next = wait_for(&place.next);
        }
        self.first.store(next, Relaxed);
    }

    /// Takes the lock if it is free.
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
        // The clearing precedes the hand-over: afterwards `first` belongs to the next owner.
        self.first.store(ptr::null_mut(), Relaxed);
        #[allow(unsafe_code)]
        // SAFETY: the place's thread spins until this store and does not return before it. The
        // store is the last access: the reference is to an atomic within a place that may be gone
        // right after it, as a lock's own memory may.
        unsafe { &*first }.waits.store(false, Release);
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        !self.tail.load(Relaxed).is_null()
    }
}

/// Value of the pointer, after another thread has set it.
fn wait_for(pointer: &AtomicPtr<Place>) -> *mut Place {
    loop {
        let now = pointer.load(Acquire);
        if !now.is_null() {
            return now;
        }
        relax();
    }
}
