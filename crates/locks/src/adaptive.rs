//! Implementation 4: spin while that is cheaper than blocking, then block.
//!
//! | bits of the word | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | somebody has it, or it was given away |
//! | 1 | `AWAKE` | a thread that waits is awake and will look at the word: wake no other, and do not spin beside it |
//! | 2 | `GIFT` | it was given to one that sleeps: nobody else may take it (only with `LOCKED`) |
//! | 3 | `HUNGRY` | a sleeper has waited for too long: the next unlock is to be a gift |
//! | 4 to 31 | `WAITER` | how many threads wait that sleep or have slept |
//!
//! A second word holds what spinning has been worth at this lock (`experience`).
//!
//! Nobody waits: one compare-and-swap to take it, one to free it. Otherwise a thread that comes
//!
//! 1. *glances*: looks for as long as a few hand-overs between CPUs take. Seeing the lock free and losing it to another means that it
//!    goes round faster than it can be handed over: the owners then do best undisturbed, and the thread goes to sleep;
//! 2. *spins*, where every contender can have a CPU and nobody spins yet, for as long as a sleep and a wake-up cost ([`cost`]), or less,
//!    as experience has it: never past an owner that was taken off its CPU for longer than that;
//! 3. *sleeps*. Freeing the lock wakes one sleeper, unless one is awake already. Whoever runs may take the lock before the
//!    sleeper comes to: that keeps the CPUs busy, but nothing keeps a sleeper from bad luck. So one that has slept for [`HUNGER_NS`]
//!    says so, and the next unlock gives the lock to the head of the kernel's queue without freeing it.
//!
//! Why no wake-up is lost, and no gift:
//!
//! - A thread sleeps only while the word is a value that it wrote or saw with `LOCKED` and itself counted in `WAITER`, and without
//!   an unclaimed `AWAKE` of its own. Freeing such a word without `AWAKE` changes it and then wakes: the kernel finds the sleeper, or
//!   the sleeper finds the word changed.
//! - `AWAKE` is set by who is awake itself (a spinner), or right before a wake-up. A spinner clears it when it takes the lock and when
//!   it goes to sleep; whoever has been asleep does so too. Where the wake-up finds nobody asleep, all that are counted
//!   are awake and on their way to sleep on a value that has changed: they look again, and clear it. A thread may clear it that another set:
//!   that costs at most a wake-up too many.
//! - A gift needs a sleeper that is counted. A counted thread that does not sleep yet finds the word changed; it counts as having slept,
//!   and may take the gift. One that comes after the gift was made is counted in a value with `GIFT`, sleeps on that, and is no
//!   taker: so the thread that gave the lock away does not get it back.
//!
//! Orderings. Taking the lock, or the gift, is `Acquire`; freeing it, or giving it away, is `Release`: the next owner sees what the one
//! before wrote. Everything else is `Relaxed`: it hands over no data, and all of it is about one word, whose changes
//! all threads see in one order.
//!
//! The word is not touched after it was freed; only its address is passed to the kernel. So the memory of a lock may be freed by a
//! thread that has just taken it and knows that it is the last, as C programs do.

pub(crate) mod experience;
#[cfg(all(test, loom))]
mod models;
mod waiter;
pub(crate) mod words;

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use self::experience::Experience;
use self::waiter::Waiter;
use self::words::{AWAKE, GIFT, HUNGRY, LOCKED, waiters};
use crate::primitive::{Word, const_unless_modelled};

/// Spins while that is cheaper than blocking, then blocks.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptive {
    word: Word,
    experience: Experience,
}

impl RawAdaptive {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { word: Word::new(0), experience: Experience::new() }
        }
    }

    /// Waits until this thread has it.
    #[inline]
    pub fn lock(&self) {
        if self.word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
            Waiter::new(&self.word, &self.experience).wait();
        }
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let mut seen = self.word.load(Relaxed);
        while seen & LOCKED == 0 {
            match self.word.compare_exchange_weak(seen, seen | LOCKED, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        if self.word.compare_exchange(LOCKED, 0, Release, Relaxed).is_err() {
            self.unlock_contended();
        }
    }

    #[cold]
    fn unlock_contended(&self) {
        let word = ptr::from_ref(&self.word);
        let mut seen = self.word.load(Relaxed);
        loop {
            let (new, wakes) = after_unlock(seen);
            match self.word.compare_exchange_weak(seen, new, Release, Relaxed) {
                Ok(_) if wakes => return Word::wake_one(word),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}

/// What an unlock makes of the word, and whether it wakes a sleeper.
const fn after_unlock(seen: u32) -> (u32, bool) {
    if waiters(seen) == 0 {
        // Hunger may be left over from one that was lucky in the end.
        (seen & !(LOCKED | HUNGRY), false)
    } else if seen & HUNGRY != 0 {
        (seen & !HUNGRY | GIFT | AWAKE, true)
    } else if seen & AWAKE != 0 {
        (seen & !LOCKED, false)
    } else {
        (seen & !LOCKED | AWAKE, true)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::words::WAITER;
    use super::*;

    #[test]
    fn an_unlock_wakes_only_where_it_must_and_gives_only_to_the_hungry() {
        for (seen, new, wakes) in [
            (LOCKED, 0, false),
            // A spinner, and nobody asleep.
            (LOCKED | AWAKE, AWAKE, false),
            (LOCKED | WAITER, AWAKE | WAITER, true),
            (LOCKED | AWAKE | (3 * WAITER), AWAKE | (3 * WAITER), false),
            (LOCKED | HUNGRY | (2 * WAITER), LOCKED | GIFT | AWAKE | (2 * WAITER), true),
            (LOCKED | HUNGRY | AWAKE | WAITER, LOCKED | GIFT | AWAKE | WAITER, true),
            // A gift without a taker would be a lock that is never free again.
            (LOCKED | HUNGRY, 0, false),
        ] {
            assert_eq!(after_unlock(seen), (new, wakes), "{seen:b}");
        }
    }

    #[test]
    fn a_lock_is_two_words() {
        assert_eq!(size_of::<RawAdaptive>(), 8);
    }
}
