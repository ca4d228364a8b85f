//! Orders in which two or three threads can meet in a lock, within bounds: loom runs each model
//! once for each order.
//!
//!     RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
//!         cargo test --release -p morecores-locks --lib models
//!
//! `-- --include-ignored` also runs the models that take minutes each.
//!
//! A model fails if two threads are in the lock at once, which loom's `UnsafeCell` reports. It
//! fails if the next owner does not see a write of the previous one. It fails if threads wait for
//! each other for ever, so that loom finds no thread that can continue. `primitive::modelled` is
//! the machine. Models of three threads are limited to [`PREEMPTION_BOUND`] preemptions, which
//! finds nearly all faults (Musuvathi and Qadeer, "Iterative context bounding", 2007).

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;

use crate::{RawAdaptive, RawAdaptiveRw, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

/// Maximum number of preemptions in one run of a model with three threads.
pub(crate) const PREEMPTION_BOUND: usize = 2;

/// Operations that the models need of a lock.
pub(crate) trait Lock: Send + Sync + 'static {
    fn new() -> Self;
    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn unlock(&self);
    fn is_locked(&self) -> bool;
}

macro_rules! lock {
    ($($lock:ty),*) => { $(
        impl Lock for $lock {
            fn new() -> Self { <$lock>::new() }
            fn lock(&self) { self.lock(); }
            fn try_lock(&self) -> bool { self.try_lock() }
            fn unlock(&self) { self.unlock(); }
            fn is_locked(&self) -> bool { self.is_locked() }
        }
    )* };
}

lock!(RawAdaptive, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket);

/// A number under a lock, read and written without any memory ordering of its own.
pub(crate) struct LockedNumber<L> {
    pub(crate) lock: L,
    number: UnsafeCell<u32>,
}

#[allow(unsafe_code)]
// SAFETY: the number is accessed only under the lock; loom reports a lock that does not exclude.
unsafe impl<L: Sync> Sync for LockedNumber<L> {}

impl<L: Lock> LockedNumber<L> {
    fn new() -> Self {
        Self::with_lock(L::new())
    }

    pub(crate) fn with_lock(lock: L) -> Self {
        Self { lock, number: UnsafeCell::new(0) }
    }

    pub(crate) fn add(&self) {
        self.lock.lock();
        self.add_locked();
        self.lock.unlock();
    }

    /// Adds one, in the owner of the lock.
    pub(crate) fn add_locked(&self) {
        #[allow(unsafe_code)]
        // SAFETY: the number is accessed only under the lock; loom reports a lock that does not
        // exclude.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    pub(crate) fn value(&self) -> u32 {
        self.lock.lock();
        #[allow(unsafe_code)]
        // SAFETY: the number is accessed only under the lock; loom reports a lock that does not
        // exclude.
        let value = self.number.with(|number| unsafe { *number });
        self.lock.unlock();
        value
    }
}

pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// Runs `others` threads and this one; each adds `turns` times.
pub(crate) fn check_additions<L: Lock>(others: usize, turns: u32) {
    let number = Arc::new(LockedNumber::<L>::new());
    let threads: Vec<_> = (0..others)
        .map(|_| {
            let number = Arc::clone(&number);
            thread::spawn(move || (0..turns).for_each(|_| number.add()))
        })
        .collect();
    (0..turns).for_each(|_| number.add());
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(number.value(), (others as u32 + 1) * turns);
    assert!(!number.lock.is_locked());
}

/// Runs a thread that tries and a thread that waits.
pub(crate) fn check_try<L: Lock>() {
    let number = Arc::new(LockedNumber::<L>::new());
    let other = {
        let number = Arc::clone(&number);
        thread::spawn(move || number.add())
    };
    let mut added = 1;
    if number.lock.try_lock() {
        number.add_locked();
        number.lock.unlock();
        added += 1;
    }
    other.join().expect("it does not panic");
    assert_eq!(number.value(), added);
    // The lock can be taken in every case.
    assert!(number.lock.try_lock());
    assert!(!number.lock.try_lock());
    number.lock.unlock();
}

macro_rules! models {
    ($($name:ident: $lock:ty;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn two_threads() {
                check(None, || check_additions::<$lock>(1, 1));
            }

            #[test]
            fn two_threads_twice() {
                check(Some(PREEMPTION_BOUND + 1), || check_additions::<$lock>(1, 2));
            }

            #[test]
            fn a_try() {
                check(Some(PREEMPTION_BOUND + 1), check_try::<$lock>);
            }
        }
    )* };
}

models! {
    adaptive: RawAdaptive;
    block: RawBlock;
    mcs: RawMcs;
    sleep: RawSleep;
    spin: RawSpin;
    spin_backoff: RawSpinBackoff;
    ticket: RawTicket;
}

macro_rules! models_of_three {
    ($($name:ident: $lock:ty;)*) => { $(
        #[test]
        fn $name() {
            check(Some(PREEMPTION_BOUND), || check_additions::<$lock>(2, 1));
        }
    )* };
}

models_of_three! {
    three_at_sleep: RawSleep;
    three_at_spin: RawSpin;
    three_at_spin_backoff: RawSpinBackoff;
    three_at_ticket: RawTicket;
    three_at_adaptive: RawAdaptive;
    three_at_block: RawBlock;
    three_at_mcs: RawMcs;
}

mod adaptive_rw {
    use super::*;

    struct NumberPair {
        lock: RawAdaptiveRw,
        numbers: UnsafeCell<(u32, u32)>,
    }

    #[allow(unsafe_code)]
    // SAFETY: the numbers are accessed only under the lock; loom reports a lock that does not
    // exclude.
    unsafe impl Sync for NumberPair {}

    impl NumberPair {
        fn new() -> Self {
            Self { lock: RawAdaptiveRw::new(), numbers: UnsafeCell::new((0, 0)) }
        }

        fn write(&self) {
            self.lock.lock_exclusive();
            #[allow(unsafe_code)]
            // SAFETY: the numbers are accessed only under the lock; loom reports a lock that does
            // not exclude.
            self.numbers.with_mut(|pair| unsafe {
                (*pair).0 += 1;
                (*pair).1 += 1;
            });
            self.lock.unlock_exclusive();
        }

        fn read(&self) -> u32 {
            self.lock.lock_shared();
            #[allow(unsafe_code)]
            // SAFETY: the numbers are accessed only under the lock; loom reports a lock that does
            // not exclude.
            let (first, second) = self.numbers.with(|pair| unsafe { *pair });
            self.lock.unlock_shared();
            assert_eq!(first, second, "half of a write was seen");
            first
        }
    }

    /// Runs one thread for each of these functions, together with this thread, which writes.
    fn with_writer(others: &[fn(&NumberPair)], writes: u32) {
        let pair = Arc::new(NumberPair::new());
        let threads: Vec<_> = others
            .iter()
            .map(|&other| {
                let pair = Arc::clone(&pair);
                thread::spawn(move || other(&pair))
            })
            .collect();
        pair.write();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(pair.read(), writes);
        assert!(pair.lock.try_lock_exclusive());
        assert!(!pair.lock.try_lock_shared());
        pair.lock.unlock_exclusive();
    }

    fn read_once(pair: &NumberPair) {
        pair.read();
    }

    #[test]
    fn a_reader() {
        check(Some(PREEMPTION_BOUND + 1), || with_writer(&[read_once], 1));
    }

    #[test]
    fn two_readers() {
        check(Some(PREEMPTION_BOUND), || with_writer(&[read_once, read_once], 1));
    }

    #[test]
    fn another_writer() {
        check(Some(PREEMPTION_BOUND + 1), || with_writer(&[NumberPair::write], 2));
    }

    #[test]
    fn a_reader_and_another_writer() {
        check(Some(PREEMPTION_BOUND), || with_writer(&[read_once, NumberPair::write], 2));
    }

    #[test]
    fn tries() {
        let tries = |pair: &NumberPair| {
            if pair.lock.try_lock_shared() {
                pair.lock.unlock_shared();
            }
            if pair.lock.try_lock_exclusive() {
                pair.lock.unlock_exclusive();
            }
        };
        check(Some(PREEMPTION_BOUND), move || with_writer(&[tries], 1));
    }
}
