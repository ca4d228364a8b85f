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
//! A second word counts the calls for a sleeper to wake: that is what they sleep on. A third holds what spinning has been worth at
//! this lock (`experience`).
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
//! - Who goes to sleep reads the calls, then marks the word, which is taken and counts it from then on, and clears `AWAKE` if it has
//!   slept or spun, and then sleeps while there is no new call. Who frees a word that counts somebody and lacks `AWAKE` first sets
//!   it, then makes a call, and then frees the word, if `AWAKE` is still there; else it begins anew. So whoever was counted
//!   when `AWAKE` was set is in the kernel's queue, where one is woken; or it read the calls before, and will not
//!   sleep; or it has marked the word since, cleared `AWAKE`, and is noticed.
//! - The word alone would not do to sleep on: between a thread's mark and its sleep, it can be freed in vain, taken again, and look
//!   as before, with an `AWAKE` that nobody stands for.
//! - `AWAKE` is set by who is awake itself (a spinner), or with a call. A spinner clears it when it takes the lock and when
//!   it goes to sleep; whoever was called does so too. A thread may clear it that another set: that costs at most a wake-up too many.
//!   One that comes to sleep for the first time leaves it: it relies on who is awake.
//! - A gift is made in the same way, and takes `HUNGRY` off the word with the call. Who set that is counted and has slept, so it may
//!   take the gift, and if it has gone back to sleep meanwhile, `HUNGRY` is there again and is noticed. One that comes after the gift was
//!   made sleeps and is no taker until it is woken: so the thread that gave the lock away does not get it back at once.
//!
//! Orderings. Taking the lock, or the gift, is `Acquire`; freeing it, or giving it away, is `Release`: the next owner sees what the one
//! before wrote. Marking the word before a sleep is `Release` and setting `AWAKE` with a call `Acquire`, so that the calls that a sleeper
//! read are older than the call that follows its mark. Only the owner writes the calls. Everything else is `Relaxed`: it hands over no data,
//! and all of it is about one word, whose changes all threads see in one order.
//!
//! Nothing is touched after the word was freed; only the address of the calls is passed to the kernel. So the memory of a lock may be freed by a
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
use crate::primitive::{AtomicU32, Word, const_unless_modelled};

/// Spins while that is cheaper than blocking, then blocks.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptive {
    word: AtomicU32,
    calls: Word,
    experience: Experience,
}

impl RawAdaptive {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self { word: AtomicU32::new(0), calls: Word::new(0), experience: Experience::new() }
        }
    }

    /// Waits until this thread has it.
    #[inline]
    pub fn lock(&self) {
        if self.word.compare_exchange(0, LOCKED, Acquire, Relaxed).is_err() {
            Waiter::new(self).wait();
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
        let calls = ptr::from_ref(&self.calls);
        let mut gives = false;
        let mut seen = self.word.load(Relaxed);
        loop {
            gives |= seen & HUNGRY != 0;
            if !must_call(seen, gives) {
                match self.word.compare_exchange_weak(seen, seen & !LOCKED, Release, Relaxed) {
                    Ok(_) => return,
                    Err(now) => seen = now,
                }
                continue;
            }
            let called = seen & !HUNGRY | AWAKE;
            if let Err(now) = self.word.compare_exchange_weak(seen, called, Acquire, Relaxed) {
                seen = now;
                continue;
            }
            self.calls.store(self.calls.load(Relaxed).wrapping_add(1), Relaxed);
            seen = called;
            // Otherwise one that the call was for has gone to sleep, and may have read it before.
            while seen & (AWAKE | HUNGRY) == AWAKE {
                let new = if gives { seen | GIFT } else { seen & !LOCKED };
                match self.word.compare_exchange_weak(seen, new, Release, Relaxed) {
                    Ok(_) => return Word::wake_one(calls),
                    Err(now) => seen = now,
                }
            }
        }
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}

/// Whether an unlock has to wake a sleeper. Nobody is hungry who is not counted: a gift has a taker.
const fn must_call(seen: u32, gives: bool) -> bool {
    waiters(seen) > 0 && (gives || seen & AWAKE == 0)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::words::WAITER;
    use super::*;

    #[test]
    fn an_unlock_wakes_only_where_it_must_and_gives_only_to_the_hungry() {
        for (seen, left) in [
            (LOCKED, 0),
            // A spinner, and nobody asleep.
            (LOCKED | AWAKE, AWAKE),
            (LOCKED | WAITER, AWAKE | WAITER),
            (LOCKED | AWAKE | (3 * WAITER), AWAKE | (3 * WAITER)),
            (LOCKED | HUNGRY | (2 * WAITER), LOCKED | GIFT | AWAKE | (2 * WAITER)),
            (LOCKED | HUNGRY | AWAKE | WAITER, LOCKED | GIFT | AWAKE | WAITER),
        ] {
            let lock = RawAdaptive::new();
            lock.word.store(seen, Relaxed);
            lock.unlock();
            assert_eq!(lock.word.load(Relaxed), left, "{seen:b}");
            let calls = seen >= WAITER && (seen & AWAKE == 0 || seen & HUNGRY != 0);
            assert_eq!(lock.calls.load(Relaxed), u32::from(calls), "{seen:b}");
        }
    }

    #[test]
    fn a_lock_is_three_words() {
        assert_eq!(size_of::<RawAdaptive>(), 12);
    }
}
