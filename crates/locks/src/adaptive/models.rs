//! Properties of the adaptive lock alone, on special machines and with special parameters. The
//! other properties are checked with [all locks](crate::models).

use std::sync::Arc;

use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use super::words::HUNGRY;
use super::{Model, RawAdaptive};
use crate::models::{Guarded, Lock, PREEMPTIONS, adding, check, trying};
use crate::primitive::{Word, set_times_out};

/// Makes each variant a separate lock type, so that the models of all locks include it.
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
    Usual: Model { is_giving: false, is_late: false, cpus: 2 };
    Giving: Model { is_giving: true, is_late: false, cpus: 2 };
    Alone: Model { is_giving: false, is_late: false, cpus: 1 };
    GivingAlone: Model { is_giving: true, is_late: false, cpus: 1 };
}

/// Checks that no mark of a thread outlives its wait: no waiter, no hand-over, no hunger, and no
/// waiter that is awake.
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

/// Runs threads with the given number of turns each, and spurious wake-ups, like those of signals
/// and of the ends of sleeps. No mark may be left.
fn turns(model: Model, turns: &'static [u32], wake_ups: u32) {
    let guarded = Arc::new(Guarded::of(RawAdaptive { model, ..RawAdaptive::new() }));
    let threads: Vec<_> = turns[1..]
        .iter()
        .map(|&turns| {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || (0..turns).for_each(|_| guarded.add()))
        })
        .collect();
    for _ in 0..wake_ups {
        Word::wake_one(&raw const guarded.lock.calls);
    }
    (0..turns[0]).for_each(|_| guarded.add());
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(guarded.lock.word.load(Relaxed), 0);
    assert_eq!(guarded.value(), turns.iter().sum());
}

const SPIN: Model = Model { is_giving: false, is_late: false, cpus: 2 };
const SLEEP: Model = Model { is_giving: false, is_late: false, cpus: 1 };
const GIVE: Model = Model { is_giving: true, is_late: false, cpus: 2 };
const GIVE_ASLEEP: Model = Model { is_giving: true, is_late: false, cpus: 1 };
const LATE: Model = Model { is_giving: false, is_late: true, cpus: 2 };

macro_rules! turns {
    ($($(#[$meta:meta])* $name:ident: $model:expr, $hungry_once_slept:expr, $preemptions:expr, $turns:expr, $wake_ups:expr;)*) => { $(
        #[test]
        $(#[$meta])*
        fn $name() {
            set_times_out($hungry_once_slept);
            check(Some($preemptions), || turns($model, &$turns, $wake_ups));
        }
    )* };
}

turns! {
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_spin: SPIN, true, 2, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_spin_patiently: SPIN, false, 2, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_sleep: SLEEP, true, 3, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_sleep_patiently: SLEEP, false, 3, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_are_late: LATE, false, 2, [2, 1, 1], 0;
    two_come_again: SLEEP, true, 4, [3, 2], 0;
    two_come_again_patiently: SLEEP, false, 4, [3, 2], 0;
    woken_by_nobody: SPIN, true, 3, [2, 2], 1;
    #[ignore = "takes minutes; run it with --ignored"]
    woken_by_nobody_asleep: SLEEP, true, 2, [1, 2, 1], 1;
    #[ignore = "takes minutes; run it with --ignored"]
    woken_by_nobody_asleep_patiently: SLEEP, false, 2, [1, 2, 1], 2;
}

/// Checks that a hand-over is received and never returns at once. A thread that handed the lock
/// over and comes again finds that a sleeper has had its turn. The sleeper is hungry from the
/// start, and is woken once more during the hand-over, while other threads arrive.
fn gift(model: Model, others: u32) {
    let guarded = Arc::new(Guarded::of(RawAdaptive { model, ..RawAdaptive::new() }));
    let come = || {
        let guarded = Arc::clone(&guarded);
        thread::spawn(move || guarded.add())
    };
    // Another model covers the way to that hunger.
    loom::stop_exploring();
    guarded.lock.lock();
    let mut threads = vec![come()];
    while guarded.lock.word.load(Relaxed) & HUNGRY == 0 {
        thread::yield_now();
    }
    loom::explore();
    threads.extend((0..others).map(|_| come()));
    Word::wake_one(&raw const guarded.lock.calls);
    guarded.lock.unlock();
    assert!(guarded.value() > 0, "it went back to who gave it away");
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(guarded.lock.word.load(Relaxed), 0);
    assert_eq!(guarded.value(), 1 + others);
}

#[test]
fn a_gift() {
    check(Some(4), || gift(GIVE, 0));
}

#[test]
fn a_gift_beside_a_sleeper() {
    check(Some(2), || gift(GIVE_ASLEEP, 1));
}
