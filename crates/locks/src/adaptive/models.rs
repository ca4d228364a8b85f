//! The adaptive lock: what the models of all locks check, with and without spinners, and what is its own: gifts, wake-ups that nobody
//! sent, and that no mark is left.
//!
//! Every sleeper is hungry after its first sleep here: a time-out is what nobody has to wait for.

use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use loom::thread;

use super::RawAdaptive;
use super::words::HUNGRY;
use crate::models::{Guarded, explore, take_turns, tries};
use crate::primitive::{Word, relax, set_cpus};

impl RawAdaptive {
    pub(crate) fn word_is_zero(&self) -> bool {
        self.word.load(Relaxed) == 0
    }
}

/// One CPU: nobody looks before it sleeps.
const NO_SPIN: u32 = 1;
/// One may spin, but not beside a sleeper.
const A_SPINNER: u32 = 2;
/// One may spin beside sleepers.
const SPINNER_AND_SLEEPERS: u32 = 4;

fn turns(cpus: u32, interruptions: usize, turns: &'static [u32]) {
    set_cpus(cpus);
    explore(Some(interruptions), move || take_turns(RawAdaptive::new(), turns));
}

#[test]
fn two_threads_take_two_turns_each() {
    turns(A_SPINNER, 4, &[2, 2]);
}

#[test]
fn three_threads_take_a_turn_each() {
    turns(A_SPINNER, 3, &[1, 1, 1]);
}

#[test]
fn one_comes_again_while_two_wait() {
    turns(A_SPINNER, 3, &[2, 1, 1]);
}

#[test]
fn two_threads_that_do_not_spin_take_turns() {
    turns(NO_SPIN, 4, &[3, 2]);
}

#[test]
fn three_threads_that_do_not_spin_take_a_turn_each() {
    turns(NO_SPIN, 3, &[1, 1, 1]);
}

#[test]
fn one_comes_again_while_two_sleep() {
    turns(NO_SPIN, 3, &[2, 1, 1]);
}

#[test]
fn spinners_beside_sleepers() {
    turns(SPINNER_AND_SLEEPERS, 2, &[2, 1, 1]);
}

#[test]
fn a_try_does_not_wait() {
    set_cpus(A_SPINNER);
    explore(Some(3), tries::<RawAdaptive>);
}

/// A gift never goes back at once: whoever gave it away and comes again finds that the sleeper had its turn.
fn gift_is_taken(cpus: u32, interruptions: usize, others: &'static [u32]) {
    set_cpus(cpus);
    explore(Some(interruptions), move || {
        let data = Guarded::of(RawAdaptive::new());
        data.lock.lock();
        let threads: Vec<_> = others
            .iter()
            .map(|&turns| {
                let data = Arc::clone(&data);
                thread::spawn(move || data.turns(turns))
            })
            .collect();
        while data.lock.word.load(Relaxed) & HUNGRY == 0 {
            Word::wake_one(&raw const data.lock.calls);
            relax();
        }
        data.lock.unlock();
        data.lock.lock();
        assert!(data.read() > 0, "it went back to who gave it away");
        data.lock.unlock();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(data.read(), others.iter().sum());
        assert!(data.lock.word_is_zero());
    });
}

#[test]
fn a_gift_does_not_go_back_at_once() {
    gift_is_taken(A_SPINNER, 3, &[1]);
}

#[test]
fn a_gift_among_sleepers_does_not_go_back_at_once() {
    gift_is_taken(NO_SPIN, 1, &[1, 1]);
}

/// A signal, or a sleep whose time is over: a wake-up that nobody sent comes at any time.
fn with_wake_up_from_nowhere(cpus: u32, turns: &'static [u32]) {
    set_cpus(cpus);
    explore(Some(2), move || {
        let data = Guarded::of(RawAdaptive::new());
        let threads: Vec<_> = turns
            .iter()
            .map(|&turns| {
                let data = Arc::clone(&data);
                thread::spawn(move || data.turns(turns))
            })
            .collect();
        Word::wake_one(&raw const data.lock.calls);
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(data.read(), turns.iter().sum());
        assert!(data.lock.word_is_zero());
    });
}

#[test]
fn a_wake_up_from_nowhere_does_no_harm() {
    with_wake_up_from_nowhere(A_SPINNER, &[2, 1]);
}

#[test]
fn a_wake_up_from_nowhere_among_sleepers_does_no_harm() {
    with_wake_up_from_nowhere(NO_SPIN, &[2, 1, 1]);
}
