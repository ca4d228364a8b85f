//! Properties of the adaptive lock alone, on special machines and with special parameters. The
//! other properties are checked with [all locks](crate::models).

use std::sync::Arc;

use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use super::{Model, RawAdaptive, STARVING};
use crate::models::{Lock, LockedNumber, PREEMPTION_BOUND, check, check_additions, check_try};
use crate::primitive::{FutexWord, set_times_out};

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
    TwoCpus: Model { starves_at_once: false, is_waiter_preempted: false, cpus: 2 };
    HandoffTwoCpus: Model { starves_at_once: true, is_waiter_preempted: false, cpus: 2 };
    OneCpu: Model { starves_at_once: false, is_waiter_preempted: false, cpus: 1 };
    HandoffOneCpu: Model { starves_at_once: true, is_waiter_preempted: false, cpus: 1 };
}

/// Checks that no mark of a thread outlives its wait: no waiter, no handoff, no starvation, and
/// no waiter that is awake.
fn check_no_mark_left<L: Lock + AsRef<RawAdaptive>>(others: usize) {
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
            fn no_mark_is_left_by_two() {
                check(Some(PREEMPTION_BOUND + 1), || check_no_mark_left::<$variant>(1));
            }

            #[test]
            fn no_mark_is_left_by_three() {
                check(Some(PREEMPTION_BOUND - 1), || check_no_mark_left::<$variant>(2));
            }

            #[test]
            fn two_threads_twice() {
                check(Some(PREEMPTION_BOUND + 1), || check_additions::<$variant>(1, 2));
            }

            #[test]
            fn three_threads() {
                check(Some(PREEMPTION_BOUND - 1), || check_additions::<$variant>(2, 1));
            }

            #[test]
            fn a_try() {
                check(Some(PREEMPTION_BOUND + 1), check_try::<$variant>);
            }
        }
    )* };
}

models! {
    two_cpus: TwoCpus;
    handoff_two_cpus: HandoffTwoCpus;
    one_cpu: OneCpu;
    handoff_one_cpu: HandoffOneCpu;
}

/// Runs threads with the given number of turns each, and spurious wake-ups, like those of signals
/// and of the ends of sleeps. No mark may be left.
fn check_turns(model: Model, turns: &'static [u32], wake_ups: u32) {
    let number = Arc::new(LockedNumber::with_lock(RawAdaptive { model, ..RawAdaptive::new() }));
    let threads: Vec<_> = turns[1..]
        .iter()
        .map(|&turns| {
            let number = Arc::clone(&number);
            thread::spawn(move || (0..turns).for_each(|_| number.add()))
        })
        .collect();
    for _ in 0..wake_ups {
        FutexWord::wake_one(&raw const number.lock.calls);
    }
    (0..turns[0]).for_each(|_| number.add());
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(number.lock.word.load(Relaxed), 0);
    assert_eq!(number.value(), turns.iter().sum());
}

const SPINNING: Model = Model { starves_at_once: false, is_waiter_preempted: false, cpus: 2 };
const SLEEPING: Model = Model { starves_at_once: false, is_waiter_preempted: false, cpus: 1 };
const HANDOFF: Model = Model { starves_at_once: true, is_waiter_preempted: false, cpus: 2 };
const HANDOFF_SLEEPING: Model = Model { starves_at_once: true, is_waiter_preempted: false, cpus: 1 };
const PREEMPTED: Model = Model { starves_at_once: false, is_waiter_preempted: true, cpus: 2 };

macro_rules! turn_models {
    ($($(#[$meta:meta])* $name:ident: $model:expr, $starves_after_sleep:expr, $preemptions:expr, $turns:expr, $wake_ups:expr;)*) => { $(
        #[test]
        $(#[$meta])*
        fn $name() {
            set_times_out($starves_after_sleep);
            check(Some($preemptions), || check_turns($model, &$turns, $wake_ups));
        }
    )* };
}

turn_models! {
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_spin: SPINNING, true, 2, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_spin_without_starvation: SPINNING, false, 2, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_sleep: SLEEPING, true, 3, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_sleep_without_starvation: SLEEPING, false, 3, [2, 1, 1], 0;
    #[ignore = "takes minutes; run it with --ignored"]
    one_comes_again_while_two_are_preempted: PREEMPTED, false, 2, [2, 1, 1], 0;
    two_come_again: SLEEPING, true, 4, [3, 2], 0;
    two_come_again_without_starvation: SLEEPING, false, 4, [3, 2], 0;
    spurious_wake_up: SPINNING, true, 3, [2, 2], 1;
    #[ignore = "takes minutes; run it with --ignored"]
    spurious_wake_up_asleep: SLEEPING, true, 2, [1, 2, 1], 1;
    #[ignore = "takes minutes; run it with --ignored"]
    spurious_wake_up_asleep_without_starvation: SLEEPING, false, 2, [1, 2, 1], 2;
}

/// Checks that a handoff is received and never returns at once. A thread that handed the lock
/// over and comes again finds that a sleeper has had its turn. The sleeper starves from the
/// start, and is woken once more during the handoff, while other threads arrive.
fn check_handoff(model: Model, others: u32) {
    let number = Arc::new(LockedNumber::with_lock(RawAdaptive { model, ..RawAdaptive::new() }));
    let spawn_adder = || {
        let number = Arc::clone(&number);
        thread::spawn(move || number.add())
    };
    // Another model covers the way to that starvation.
    loom::stop_exploring();
    number.lock.lock();
    let mut threads = vec![spawn_adder()];
    while number.lock.word.load(Relaxed) & STARVING == 0 {
        thread::yield_now();
    }
    loom::explore();
    threads.extend((0..others).map(|_| spawn_adder()));
    FutexWord::wake_one(&raw const number.lock.calls);
    number.lock.unlock();
    assert!(number.value() > 0, "the lock returned to the thread that handed it over");
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    assert_eq!(number.lock.word.load(Relaxed), 0);
    assert_eq!(number.value(), 1 + others);
}

#[test]
fn a_handoff() {
    check(Some(4), || check_handoff(HANDOFF, 0));
}

#[test]
fn a_handoff_beside_a_sleeper() {
    check(Some(2), || check_handoff(HANDOFF_SLEEPING, 1));
}
