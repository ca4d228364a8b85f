//! Threads that wait, met half-way: one that was just woken, one whose spin is over. What leads there is other models' matter, and would
//! leave too many orders of what follows.

use std::sync::Arc;

use loom::thread;

use super::super::RawAdaptive;
use super::{AWAKE, HUNGRY, LOCKED, Look, Relaxed, WAITER, Waiter};
use crate::models::{Guarded, check};

/// The lock taken by who calls this, and one counted that has slept and was called, and may be hungry.
fn with_one_woken(hungry: u32) -> Guarded<RawAdaptive> {
    let guarded = Guarded::of(RawAdaptive::new());
    guarded.lock.lock();
    guarded.lock.word.store(LOCKED | AWAKE | WAITER | hungry, Relaxed);
    guarded
}

/// Sleeps until it has the lock, without a look around, and takes its turn.
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

/// A spin in vain, and the sleep after it.
fn spinner(guarded: &Guarded<RawAdaptive>) {
    let mut waiter = Waiter::new(&guarded.lock);
    waiter.stays_awake();
    sleep(guarded, waiter);
}

/// The owner frees the lock, beside one that was woken and one that spun, and comes again so many times.
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
