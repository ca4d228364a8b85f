//! The adaptive lock: what the models of all locks check, and its own bits.

use core::sync::atomic::Ordering::Relaxed;

use super::RawAdaptive;
use crate::models::{explore, take_turns};

impl RawAdaptive {
    pub(crate) fn word_is_zero(&self) -> bool {
        self.word.load(Relaxed) == 0
    }
}

#[test]
fn two_threads_take_two_turns_each() {
    explore(Some(3), || take_turns(RawAdaptive::new(), &[2, 2]));
}

#[test]
fn three_threads_take_a_turn_each() {
    explore(Some(3), || take_turns(RawAdaptive::new(), &[1, 1, 1]));
}

#[test]
fn one_comes_again_while_two_wait() {
    explore(Some(3), || take_turns(RawAdaptive::new(), &[2, 1, 1]));
}
