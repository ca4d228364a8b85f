//! Every order of steps of a few threads at each lock, on loom's machine.
//!
//! `RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom cargo test --release -p morecores-locks --lib models`
//!
//! It must not test what the locks are worth: a model has no time.

mod exclusion;
mod readers;

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::{RawAdaptive, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

/// What the models ask of a lock.
pub(crate) trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn unlock(&self);
    /// Whether nothing is left in its words of those that have been there.
    fn is_at_rest(&self) -> bool;
}

macro_rules! lock {
    ($($lock:ty: $at_rest:expr;)*) => { $(
        impl Lock for $lock {
            fn new() -> Self {
                Self::new()
            }
            fn lock(&self) {
                Self::lock(self);
            }
            fn try_lock(&self) -> bool {
                Self::try_lock(self)
            }
            fn unlock(&self) {
                Self::unlock(self);
            }
            fn is_at_rest(&self) -> bool {
                $at_rest(self)
            }
        }
    )* };
}

lock! {
    RawSpin: |lock: &Self| !lock.is_locked();
    RawSpinBackoff: |lock: &Self| !lock.is_locked();
    RawSleep: |lock: &Self| !lock.is_locked();
    RawBlock: Self::word_is_zero;
    RawTicket: |lock: &Self| !lock.is_locked();
    RawMcs: |lock: &Self| !lock.is_locked();
    RawAdaptive: Self::word_is_zero;
}

/// Runs a model in every order of steps in which a thread is interrupted at most `interruptions` times while it could go on.
/// Pauses and sleeps are no interruptions.
pub(crate) fn explore(interruptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = interruptions;
    builder.max_branches = 3_000;
    builder.check(model);
}

/// Data under a lock, which loom watches: an access beside another's, or one that does not see what the owner before wrote, is a
/// failure.
pub(crate) struct Guarded<L> {
    pub(crate) lock: L,
    data: UnsafeCell<u32>,
}

#[allow(unsafe_code)]
// SAFETY: the data is touched only by a thread that has the lock; loom checks that.
unsafe impl<L: Sync> Sync for Guarded<L> {}

impl<L> Guarded<L> {
    pub(crate) fn of(lock: L) -> Arc<Self> {
        Arc::new(Self { lock, data: UnsafeCell::new(0) })
    }

    /// Adds one. The caller has the lock.
    pub(crate) fn add(&self) {
        #[allow(unsafe_code)]
        // SAFETY: the pointer is the cell's, and the caller has the lock.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    /// The caller has the lock, or all others have ended.
    pub(crate) fn read(&self) -> u32 {
        #[allow(unsafe_code)]
        // SAFETY: as with `add`.
        self.data.with(|data| unsafe { *data })
    }
}

impl<L: Lock> Guarded<L> {
    /// Adds one under the lock, so many times.
    pub(crate) fn turns(&self, turns: u32) {
        for _ in 0..turns {
            self.lock.lock();
            self.add();
            self.lock.unlock();
        }
    }
}

/// Threads that take so many turns each, the first of them the model's own; all turns are seen in the end, and the lock is at rest.
pub(crate) fn take_turns<L: Lock>(lock: L, turns: &'static [u32]) {
    let data = Guarded::of(lock);
    let threads: Vec<_> = turns[1..]
        .iter()
        .map(|&turns| {
            let data = Arc::clone(&data);
            thread::spawn(move || data.turns(turns))
        })
        .collect();
    data.turns(turns[0]);
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(data.read(), turns.iter().sum());
    assert!(data.lock.is_at_rest());
}

/// One tries while another has it now and then: what was taken excludes, what was not taken did not wait.
pub(crate) fn tries<L: Lock>() {
    let data = Guarded::of(L::new());
    let other = {
        let data = Arc::clone(&data);
        thread::spawn(move || data.turns(1))
    };
    let mut taken = 0;
    for _ in 0..2 {
        if data.lock.try_lock() {
            data.add();
            assert!(!data.lock.try_lock(), "it is taken");
            data.lock.unlock();
            taken += 1;
        }
    }
    other.join().expect("it does not panic");
    assert!(data.lock.try_lock(), "it is free");
    assert_eq!(data.read(), taken + 1);
    data.lock.unlock();
    assert!(data.lock.is_at_rest());
}
