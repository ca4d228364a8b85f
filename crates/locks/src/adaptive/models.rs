//! What only the adaptive lock has to keep, on machines and in moods of its own; the rest is with [all locks](crate::models).

use std::sync::Arc;

use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use super::{Model, RawAdaptive};
use crate::models::{Lock, PREEMPTIONS, adding, check, trying};

/// Each variant is a lock of its own, so that the models of all locks are of it too.
macro_rules! variants {
    ($($variant:ident: $model:expr;)*) => { $(
        struct $variant(RawAdaptive);

        impl Lock for $variant {
            fn new() -> Self { Self(RawAdaptive { model: $model, ..RawAdaptive::new() }) }
            fn lock(&self) { self.0.lock(); }
            fn try_lock(&self) -> bool { self.0.try_lock() }
            fn unlock(&self) { self.0.unlock(); }
            fn is_locked(&self) -> bool { self.0.is_locked() }
        }

        impl AsRef<RawAdaptive> for $variant {
            fn as_ref(&self) -> &RawAdaptive { &self.0 }
        }
    )* };
}

variants! {
    Usual: Model { is_giving: false, cpus: 2 };
    Giving: Model { is_giving: true, cpus: 2 };
    Alone: Model { is_giving: false, cpus: 1 };
    GivingAlone: Model { is_giving: true, cpus: 1 };
}

/// No mark of a thread outlives its wait: not a waiter, a gift, hunger, or one that is awake.
fn nothing_is_left<L: Lock + AsRef<RawAdaptive>>(others: usize) {
    let lock = Arc::new(L::new());
    let threads: Vec<_> = (0..others)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                lock.lock();
                lock.unlock();
            })
        })
        .collect();
    lock.lock();
    lock.unlock();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!((*lock).as_ref().word.load(Relaxed), 0);
}

macro_rules! models {
    ($($name:ident: $variant:ty;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn nothing_is_left_by_two() {
                check(Some(PREEMPTIONS + 1), || nothing_is_left::<$variant>(1));
            }

            #[test]
            fn nothing_is_left_by_three() {
                check(Some(PREEMPTIONS - 1), || nothing_is_left::<$variant>(2));
            }

            #[test]
            fn two_threads_twice() {
                check(Some(PREEMPTIONS + 1), || adding::<$variant>(1, 2));
            }

            #[test]
            fn three_threads() {
                check(Some(PREEMPTIONS - 1), || adding::<$variant>(2, 1));
            }

            #[test]
            fn a_try() {
                check(Some(PREEMPTIONS + 1), trying::<$variant>);
            }
        }
    )* };
}

models! {
    usual: Usual;
    giving: Giving;
    alone: Alone;
    giving_alone: GivingAlone;
}
