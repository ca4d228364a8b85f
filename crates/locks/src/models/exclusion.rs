//! Each lock as a mutex: it excludes, it loses no wake-up, a try does not wait, and nothing is left in it.

use super::{explore, take_turns, tries};
use crate::{RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

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
                explore($two, tries::<$lock>);
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
