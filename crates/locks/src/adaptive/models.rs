//! The adaptive lock: what the models of all locks check, with and without spinners, with and without hunger, and what is its own:
//! gifts, wake-ups that nobody sent, and that no mark is left.

use core::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use loom::thread;

use super::RawAdaptive;
use super::words::HUNGRY;
use crate::models::{Guarded, explore, take_turns, tries};
use crate::primitive::{Word, set_machine};

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

/// Whether a sleeper is hungry after its first sleep.
const PATIENT: bool = false;
const HUNGRY_AT_ONCE: bool = true;

macro_rules! turns {
    ($($name:ident: $cpus:expr, $hunger:expr, $interruptions:expr, $turns:expr;)*) => { $(
        #[test]
        fn $name() {
            set_machine($cpus, $hunger);
            explore(Some($interruptions), || take_turns(RawAdaptive::new(), &$turns));
        }
    )* };
}

turns! {
    two_threads_take_two_turns_each: A_SPINNER, HUNGRY_AT_ONCE, 4, [2, 2];
    three_threads_take_a_turn_each: A_SPINNER, HUNGRY_AT_ONCE, 3, [1, 1, 1];
    one_comes_again_while_two_wait: A_SPINNER, HUNGRY_AT_ONCE, 3, [2, 1, 1];
    patient_one_comes_again_while_two_wait: A_SPINNER, PATIENT, 3, [2, 1, 1];
    two_threads_that_do_not_spin: NO_SPIN, HUNGRY_AT_ONCE, 4, [3, 2];
    two_patient_threads_that_do_not_spin: NO_SPIN, PATIENT, 4, [3, 2];
    three_threads_that_do_not_spin: NO_SPIN, HUNGRY_AT_ONCE, 3, [1, 1, 1];
    one_comes_again_while_two_sleep: NO_SPIN, HUNGRY_AT_ONCE, 3, [2, 1, 1];
    patient_one_comes_again_while_two_sleep: NO_SPIN, PATIENT, 3, [2, 1, 1];
    spinners_beside_sleepers: SPINNER_AND_SLEEPERS, HUNGRY_AT_ONCE, 2, [2, 1, 1];
    spinners_beside_patient_sleepers: SPINNER_AND_SLEEPERS, PATIENT, 2, [2, 1, 1];
}

#[test]
fn a_try_does_not_wait() {
    set_machine(A_SPINNER, HUNGRY_AT_ONCE);
    explore(Some(4), tries::<RawAdaptive>);
}

/// A gift never goes back at once: whoever gave it away and comes again finds that a sleeper had its turn. That one is hungry from the
/// beginning; it is woken once more while the gift is made; and others come.
fn gift_is_taken(cpus: u32, interruptions: usize, others: u32) {
    set_machine(cpus, HUNGRY_AT_ONCE);
    explore(Some(interruptions), move || {
        let data = Guarded::of(RawAdaptive::new());
        let come = || {
            let data = Arc::clone(&data);
            thread::spawn(move || data.turns(1))
        };
        // How it came to be hungry is another model's matter.
        loom::stop_exploring();
        data.lock.lock();
        let mut threads = vec![come()];
        while data.lock.word.load(Relaxed) & HUNGRY == 0 {
            Word::wake_one(&raw const data.lock.calls);
            thread::yield_now();
        }
        loom::explore();
        threads.extend((0..others).map(|_| come()));
        Word::wake_one(&raw const data.lock.calls);
        data.lock.unlock();
        data.lock.lock();
        assert!(data.read() > 0, "it went back to who gave it away");
        data.lock.unlock();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(data.read(), 1 + others);
        assert!(data.lock.word_is_zero());
    });
}

#[test]
fn a_gift_does_not_go_back_at_once() {
    gift_is_taken(A_SPINNER, 4, 0);
}

#[test]
fn a_gift_beside_another_sleeper_does_not_go_back_at_once() {
    gift_is_taken(NO_SPIN, 2, 1);
}

#[test]
fn a_gift_beside_a_spinner_does_not_go_back_at_once() {
    gift_is_taken(SPINNER_AND_SLEEPERS, 2, 1);
}

/// A signal, or a sleep whose time is over: a wake-up that nobody sent comes at any time.
fn with_wake_up_from_nowhere(cpus: u32, hunger: bool, turns: &'static [u32]) {
    set_machine(cpus, hunger);
    explore(Some(3), move || {
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
    with_wake_up_from_nowhere(A_SPINNER, HUNGRY_AT_ONCE, &[2, 2]);
}

#[test]
fn a_wake_up_from_nowhere_among_sleepers_does_no_harm() {
    with_wake_up_from_nowhere(NO_SPIN, HUNGRY_AT_ONCE, &[2, 1]);
}

#[test]
fn a_wake_up_from_nowhere_among_patient_sleepers_does_no_harm() {
    with_wake_up_from_nowhere(NO_SPIN, PATIENT, &[2, 1]);
}
