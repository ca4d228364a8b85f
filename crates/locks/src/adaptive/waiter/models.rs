//! Waiting threads in the middle of their wait: a thread that was just woken, and a thread whose
//! spin is over. Other models cover the way there; including it here would leave too many orders to
//! follow.

use std::sync::Arc;

use loom::thread;

use super::super::RawAdaptive;
use super::{AWAKE, HUNGRY, LOCKED, Look, Relaxed, WAITER, Waiter};
use crate::models::{Guarded, check};

/// A lock that the calling thread owns, with one counted waiter that has slept, was called, and may
/// be hungry.
fn with_one_woken(hungry: u32) -> Guarded<RawAdaptive> {
    let guarded = Guarded::of(RawAdaptive::new());
    guarded.lock.lock();
    guarded.lock.word.store(LOCKED | AWAKE | WAITER | hungry, Relaxed);
    guarded
}

/// Sleeps until the thread owns the lock, without looking around first, and takes its turn.
fn sleep(guarded: &Guarded<RawAdaptive>, mut waiter: Waiter<'_>) {
    while waiter.sleep() != Look::Taken {}
    guarded.add_locked();
    guarded.lock.unlock();
}

fn woken(guarded: &Guarded<RawAdaptive>, hungry: bool) {
    let mut waiter = Waiter::new(&guarded.lock);
    (waiter.awake, waiter.counted, waiter.hungry) = (true, true, hungry);
    sleep(guarded, waiter);
}

/// Spins in vain, and then sleeps.
fn spinner(guarded: &Guarded<RawAdaptive>) {
    let mut waiter = Waiter::new(&guarded.lock);
    waiter.stays_awake();
    sleep(guarded, waiter);
}

/// The owner frees the lock, next to one woken thread and one that has spun, and comes again
/// `again` times.
fn beside_a_spinner(hungry: bool, again: u32) {
    let guarded = Arc::new(with_one_woken(if hungry { HUNGRY } else { 0 }));
    let others = [
        thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || woken(&guarded, hungry)
        }),
        thread::spawn({
            let guarded = Arc::clone(&guarded);
            move || spinner(&guarded)
        }),
    ];
    guarded.add_locked();
    guarded.lock.unlock();
    for _ in 0..again {
        let mut waiter = Waiter::new(&guarded.lock);
        while waiter.sleep() != Look::Taken {}
        guarded.add_locked();
        guarded.lock.unlock();
    }
    for other in others {
        other.join().expect("it does not panic");
    }
    assert_eq!(guarded.lock.word.load(Relaxed), 0);
    assert_eq!(guarded.value(), 3 + again);
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_gift_beside_a_spinner() {
    check(Some(3), || beside_a_spinner(true, 0));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_gift_beside_a_spinner_and_its_giver() {
    check(Some(2), || beside_a_spinner(true, 1));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_wake_up_beside_a_spinner() {
    check(Some(3), || beside_a_spinner(false, 0));
}

#[test]
#[ignore = "takes minutes; run it with --ignored"]
fn a_wake_up_beside_a_spinner_and_its_owner() {
    check(Some(2), || beside_a_spinner(false, 1));
}
