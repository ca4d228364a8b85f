//! What only the adaptive lock has to keep: no mark of a thread outlives its wait. The rest is with [all locks](crate::models).

use std::sync::Arc;

use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use super::RawAdaptive;
use crate::models::{PREEMPTIONS, check};

/// Not a waiter, a gift, hunger, or one that is awake.
fn nothing_is_left(others: usize) {
    let lock = Arc::new(RawAdaptive::new());
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
    assert_eq!(lock.word.load(Relaxed), 0);
}

#[test]
fn by_two_threads() {
    check(None, || nothing_is_left(1));
}

#[test]
fn by_three_threads() {
    check(Some(PREEMPTIONS), || nothing_is_left(2));
}
