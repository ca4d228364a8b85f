//! Each lock as a mutex: it excludes, it loses no wake-up, a try does not wait, and nothing is left in it.

use std::sync::Arc;

use loom::thread;

use super::{Guarded, Lock, explore, take_turns};
use crate::{RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

/// One tries while another has it now and then: what was taken excludes, what was not taken did not wait.
fn tries<L: Lock>() {
    let data = Guarded::of(L::new());
    let other = {
        let data = Arc::clone(&data);
        thread::spawn(move || data.turns(1))
    };
    let mut taken = 0;
    for _ in 0..2 {
        if data.lock.try_lock() {
            data.add();
            assert!(!data.lock.try_lock(), "it is taken");
            data.lock.unlock();
            taken += 1;
        }
    }
    other.join().expect("it does not panic");
    assert!(data.lock.try_lock(), "it is free");
    assert_eq!(data.read(), taken + 1);
    data.lock.unlock();
    assert!(data.lock.is_at_rest());
}

macro_rules! each_lock {
    ($($name:ident: $lock:ty, $two:expr;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn two_threads_take_two_turns_each() {
                explore($two, || take_turns(<$lock>::new(), &[2, 2]));
            }

            #[test]
            fn three_threads_take_a_turn_each() {
                explore(Some(3), || take_turns(<$lock>::new(), &[1, 1, 1]));
            }

            #[test]
            fn a_try_does_not_wait() {
                explore(None, tries::<$lock>);
            }
        }
    )* };
}

each_lock! {
    spin: RawSpin, None;
    spin_backoff: RawSpinBackoff, None;
    sleep: RawSleep, None;
    block: RawBlock, Some(4);
    ticket: RawTicket, None;
    mcs: RawMcs, Some(4);
}
