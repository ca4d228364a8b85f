//! Implementation 4: spin while that is cheaper than blocking, then block.
//!
//! | bits of `word` | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | somebody has it, or it was given away |
//! | 1 | `AWAKE` | one that waits is awake, or is being woken, and will look at the word: wake no other, and do not spin beside it |
//! | 2 | `GIFT` | it was given to one that sleeps: nobody else may take it (only with `LOCKED`) |
//! | 3 | `HUNGRY` | a sleeper has waited for too long: the next unlock is to be a gift |
//! | 4 to 31 | `WAITER` | how many threads wait that sleep or have slept |
//!
//! | other words | meaning |
//! |---|---|
//! | `turn` | how often it was taken since a sleeper was last woken: written by the owner alone |
//! | `due` | by when the one that is `AWAKE` is expected to look |
//! | `experience` | for how long spinning has been worth it at this lock |
//!
//! Nobody waits: one locked instruction takes it, one frees it. Otherwise a thread that comes
//!
//! 1. *glances*, for as long as some hand-overs between CPUs take;
//! 2. *spins*, unless another does or is being woken, for as long as a sleep and a wake-up cost ([`cost`](crate::cost)), or less, as experience
//!    has it: never past an owner that was taken off its CPU for longer than that. Now and then it yields, since the owner may be ready for this
//!    very CPU;
//! 3. *naps*, if it has seen others take the lock again before it could: then they do best undisturbed. It sleeps for a fixed time, longer
//!    each time, without being woken; the owners pay nothing for it;
//! 4. *sleeps* otherwise, until it is woken. Freeing the lock wakes one sleeper, unless one that waits is awake. Whoever runs
//!    may take the lock before the sleeper comes to: that keeps the CPUs busy. Where the one that was woken has not looked by the time it is `due`,
//!    it has no CPU, and another is woken, which may have.
//!
//! Nothing so far keeps a thread from bad luck. So one that has waited for 10 ms asleep says that it is `HUNGRY`, and the next
//! unlock gives the lock to the head of the kernel's queue without freeing it.
//!
//! Why no wake-up is lost, and no gift:
//!
//! - A thread sleeps only while the word is a value that it has just written: with `LOCKED`, with itself counted in `WAITER`, and without
//!   `AWAKE`. Freeing such a word changes it and then wakes: the kernel finds the sleeper, or the sleeper finds the word changed. It may
//!   change and come back to that value before the thread is in the kernel's queue; it is still one whose freeing wakes.
//! - `AWAKE` is set by who is awake itself, or right before a wake-up. It is cleared in the step in which its thread takes the lock, and by whoever
//!   goes to sleep, even where it is another's: that costs at most a wake-up too many. Where a wake-up finds nobody asleep, all that are
//!   counted are awake and on their way to sleep on a value that has changed: they look again, and clear it.
//! - A gift is made only where somebody is counted, who sleeps or finds the word changed before it does; either way it has
//!   been asleep for all it knows, and may take the gift. One that comes after the gift was made is counted in a value with `GIFT`, and sleeps
//!   on that: so the thread that gave the lock away does not get it back, but where the word changes again before it is asleep.
//! - `turn`, `due` and `experience` decide how long to look and whom else to wake, never whether the lock is free.
//!
//! Orderings. Taking the lock, or the gift, is `Acquire`; freeing it, or giving it away, is `Release`: the next owner sees what the one
//! before wrote. Everything else is `Relaxed`: it hands over no data. All that the argument above rests on is one word, whose changes all
//! threads see in one order.
//!
//! Nothing of the lock is touched after it was freed; only its address is passed to the kernel. So its memory may be freed by a
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
use crate::primitive::{AtomicU32, Word, const_unless_modelled, now_ns};

/// A microsecond, nearly, in a power of two.
const TICK_NS: u64 = 1 << 10;

/// How late one that is awake may be: longer than a wake-up out of an idle CPU's deep state takes, shorter than the time slice for which
/// it may have to wait for its CPU while others idle.
const LATENESS_NS: u64 = 150_000;

/// Spins while that is cheaper than blocking, then blocks.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptive {
    word: Word,
    /// How often it was taken since a sleeper was last woken, with wrap-around: written by the owner alone.
    turn: AtomicU32,
    /// By when the one that is awake is expected to look: in units of [`TICK_NS`], with wrap-around.
    due: AtomicU32,
    experience: Experience,
    #[cfg(loom)]
    model: Model,
}

impl RawAdaptive {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self {
                word: Word::new(0),
                turn: AtomicU32::new(0),
                due: AtomicU32::new(0),
                experience: Experience::new(),
                #[cfg(loom)]
                model: Model { is_giving: false, cpus: 2 },
            }
        }
    }

    /// Waits until this thread has it.
    #[inline]
    pub fn lock(&self) {
        if self.word.fetch_or(LOCKED, Acquire) & LOCKED != 0 {
            Waiter::new(self).wait();
        }
        self.count_turn();
    }

    /// A turn begins. A store: nobody else writes it meanwhile.
    #[inline]
    fn count_turn(&self) {
        self.turn.store(self.turn.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Takes it where it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let taken =
            self.word.load(Relaxed) & LOCKED == 0 && self.word.fetch_or(LOCKED, Acquire) & LOCKED == 0;
        if taken {
            self.count_turn();
        }
        taken
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let seen = self.word.load(Relaxed);
        // Compared with a constant where nobody waits: the processor need not wait for what it loaded.
        let freed = if seen == LOCKED {
            self.word.compare_exchange(LOCKED, 0, Release, Relaxed).is_ok()
        } else if seen & (AWAKE | HUNGRY) == AWAKE && !self.turn.load(Relaxed).is_power_of_two() {
            self.word.compare_exchange(seen, seen & !LOCKED, Release, Relaxed).is_ok()
        } else {
            false
        };
        if !freed {
            self.unlock_contended();
        }
    }

    #[cold]
    fn unlock_contended(&self) {
        let word = ptr::from_ref(&self.word);
        let mut seen = self.word.load(Relaxed);
        loop {
            let (new, wakes) = after_unlock(seen, || self.is_patience_over());
            if wakes {
                self.expect_look(0);
                self.turn.store(0, Relaxed);
            }
            match self.word.compare_exchange_weak(seen, new, Release, Relaxed) {
                Ok(_) if wakes => return Word::wake_one(word),
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// One that waits is awake, or is being woken, and will look after so long and what that may take.
    fn expect_look(&self, after_ns: u64) {
        self.due.store(ticks(now_ns() + after_ns + LATENESS_NS), Relaxed);
    }

    /// Whether the one that is awake should have looked by now.
    fn is_patience_over(&self) -> bool {
        let late = ticks(now_ns()).wrapping_sub(self.due.load(Relaxed));
        late != 0 && late < u32::MAX / 2
    }

    /// Whether anybody has it.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}

/// Time in units of [`TICK_NS`], with wrap-around after an hour.
const fn ticks(ns: u64) -> u32 {
    (ns / TICK_NS) as u32
}

/// What models vary.
#[cfg(loom)]
#[derive(Clone, Copy, Debug)]
struct Model {
    /// Whether every sleeper is hungry at once, so that gifts need not wait for a second sleep.
    is_giving: bool,
    /// With one nobody looks before it sleeps.
    cpus: u32,
}

/// What an unlock makes of the word, and whether it wakes a sleeper.
fn after_unlock(seen: u32, is_patience_over: impl FnOnce() -> bool) -> (u32, bool) {
    if waiters(seen) == 0 {
        // First of all: a gift without a taker would be a lock that is never free again.
        (seen & !LOCKED, false)
    } else if seen & HUNGRY != 0 {
        (seen & !HUNGRY | GIFT | AWAKE, true)
    } else if seen & AWAKE != 0 && !is_patience_over() {
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
        ] {
            assert_eq!(after_unlock(seen, || false), (new, wakes), "{seen:b}");
        }
    }

    #[test]
    fn a_lock_is_four_words() {
        assert_eq!(size_of::<RawAdaptive>(), 16);
    }
}
