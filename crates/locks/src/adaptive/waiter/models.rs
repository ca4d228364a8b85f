//! Waiting threads in the middle of their wait: a thread that was just woken, and a thread whose
//! spin is over. Other models cover the way there; including it here would leave too many orders to
//! follow.

use std::sync::Arc;

use loom::thread;

use super::super::RawAdaptive;
use super::{AWAKE, LOCKED, Relaxed, STARVING, SpinResult, WAITER, Waiter};
use crate::models::{LockedNumber, check};

/// A lock that the calling thread owns, with one counted waiter that has slept, was called, and may
/// be starving.
fn locked_with_woken_waiter(is_starving: u32) -> LockedNumber<RawAdaptive> {
    let number = LockedNumber::with_lock(RawAdaptive::new());
    number.lock.lock();
    number.lock.word.store(LOCKED | AWAKE | WAITER | is_starving, Relaxed);
    number
}

/// Sleeps until the thread owns the lock, without looking around first, and takes its turn.
fn sleep(number: &LockedNumber<RawAdaptive>, mut waiter: Waiter<'_>) {
    while waiter.sleep() != SpinResult::Acquired {}
    number.add_locked();
    number.lock.unlock();
}

fn run_woken(number: &LockedNumber<RawAdaptive>, is_starving: bool) {
    let mut waiter = Waiter::new(&number.lock);
    (waiter.owns_awake, waiter.has_slept, waiter.is_starving) = (true, true, is_starving);
    sleep(number, waiter);
}

/// Spins in vain, and then sleeps.
fn run_spinner(number: &LockedNumber<RawAdaptive>) {
    let mut waiter = Waiter::new(&number.lock);
    waiter.claim_awake();
    sleep(number, waiter);
}

/// The owner frees the lock, next to one woken thread and one that has spun, and comes again
/// `further_turns` times.
fn unlock_beside_spinner(is_starving: bool, further_turns: u32) {
    let number = Arc::new(locked_with_woken_waiter(if is_starving { STARVING } else { 0 }));
    let others = [
        thread::spawn({
            let number = Arc::clone(&number);
            move || run_woken(&number, is_starving)
        }),
        thread::spawn({
            let number = Arc::clone(&number);
            move || run_spinner(&number)
        }),
    ];
    number.add_locked();
    number.lock.unlock();
    for _ in 0..further_turns {
        let mut waiter = Waiter::new(&number.lock);
        while waiter.sleep() != SpinResult::Acquired {}
        number.add_locked();
        number.lock.unlock();
    }
    for other in others {
        other.join().expect("it does not panic");
    }
    assert_eq!(number.lock.word.load(Relaxed), 0);
    assert_eq!(number.value(), 3 + further_turns);
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_handoff_beside_a_spinner() {
    check(Some(3), || unlock_beside_spinner(true, 0));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_handoff_beside_a_spinner_and_the_previous_owner() {
    check(Some(2), || unlock_beside_spinner(true, 1));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_wake_up_beside_a_spinner() {
    check(Some(3), || unlock_beside_spinner(false, 0));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_wake_up_beside_a_spinner_and_the_previous_owner() {
    check(Some(2), || unlock_beside_spinner(false, 1));
}
