//! A queue of spinners, each on its own word (Mellor-Crummey and Scott, 1991), in the form of the
//! K42 kernel. The lock stores the owner's node in the queue. A thread's own node therefore need
//! not outlive its call of `lock`, and the interface is that of any lock.
//!
//! | word | meaning |
//! |---|---|
//! | `tail` | null: free; `HELD`: the lock has an owner and no waiters; otherwise the last waiter's node |
//! | `first` | the first waiter's node, once that waiter has linked it; null before |
//! | a node's `next` | the next node in the queue, once its thread has linked it |
//! | a node's `is_waiting` | whether its thread still has to wait |
//!
//! An unlock touches one waiter's cache line, for any number of waiters. The lock is as fair as the
//! ticket lock, and equally unsuitable for more threads than CPUs.
//!
//! Orderings. Joining the queue is `AcqRel` on `tail`. `Release` ensures that a thread that finds
//! this node there sees it filled in. `Acquire` ensures that this thread sees the previous node
//! filled in, or, if the lock is free, the last owner's writes. `next` and `first` are published by
//! `Release` and read by `Acquire` for the same reason. `is_waiting` is cleared by `Release` and
//! seen by `Acquire`, which hands over the lock. Only the owner clears `first`, with `Relaxed`. The
//! `Release` of its unlock on `tail` orders that before the next owner.

use core::ptr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::primitive::{AtomicBool, AtomicPtr, const_unless_modelled, relax};

/// A waiting thread's node in the queue, on its stack. It has its own pair of cache lines: CPUs
/// fetch two at once.
#[derive(Debug)]
#[repr(align(128))]
struct Node {
    next: AtomicPtr<Node>,
    is_waiting: AtomicBool,
}

/// Value of `tail` for a lock with an owner and no waiters. No node has this address, which is not
/// aligned.
const HELD: *mut Node = ptr::without_provenance_mut(1);

/// MCS lock: a queue of spinners.
#[derive(Debug)]
pub struct RawMcs {
    tail: AtomicPtr<Node>,
    first: AtomicPtr<Node>,
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
        let node = Node { next: AtomicPtr::new(ptr::null_mut()), is_waiting: AtomicBool::new(true) };
        let node_ptr = ptr::from_ref(&node).cast_mut();
        let mut previous = self.tail.load(Relaxed);
        loop {
            let new = if previous.is_null() { HELD } else { node_ptr };
            match self.tail.compare_exchange_weak(previous, new, AcqRel, Relaxed) {
                Ok(_) if previous.is_null() => return,
                Ok(_) => break,
                Err(now) => previous = now,
            }
        }
        if previous == HELD {
            self.first.store(node_ptr, Release);
        } else {
            #[allow(unsafe_code)]
            // SAFETY: `previous` was the tail until this thread put its own node there. The other
            // thread returns from `lock` only after one of two events. Either it has removed its
            // node from `tail`, which is no longer possible, or it has seen `next`, which is set
            // here and not touched afterwards.
            unsafe { &*previous }.next.store(node_ptr, Release);
        }
        while node.is_waiting.load(Acquire) {
            relax();
        }
        self.move_successor(&node, node_ptr);
    }

    /// Moves the successor of the owner's node into the lock, so that the node may be dropped.
    fn move_successor(&self, node: &Node, node_ptr: *mut Node) {
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            self.first.store(ptr::null_mut(), Relaxed);
            if self.tail.compare_exchange(node_ptr, HELD, AcqRel, Relaxed).is_ok() {
                return;
            }
            // Another thread has joined the queue and is about to link its node.
            next = wait_until_set(&node.next);
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
            first = wait_until_set(&self.first);
        }
        // The clearing precedes the handoff: afterwards `first` belongs to the next owner.
        self.first.store(ptr::null_mut(), Relaxed);
        #[allow(unsafe_code)]
        // SAFETY: the node's thread spins until this store and does not return before it. The
        // store is the last access: the reference is to an atomic within a node that may be gone
        // right after it, as a lock's own memory may.
        unsafe { &*first }.is_waiting.store(false, Release);
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        !self.tail.load(Relaxed).is_null()
    }
}

/// Value of the pointer, after another thread has set it.
fn wait_until_set(pointer: &AtomicPtr<Node>) -> *mut Node {
    loop {
        let now = pointer.load(Acquire);
        if !now.is_null() {
            return now;
        }
        relax();
    }
}
