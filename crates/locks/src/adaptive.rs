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
//! | `calls` | how often a sleeper was called: what sleepers sleep on; written by the owner alone |
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
//! - Who goes to sleep reads `calls`, then marks the word, which has `LOCKED` and counts it from then on, and then sleeps while there is no new
//!   call. Who frees a word that counts somebody, without `AWAKE`, sets that first, then makes a call, and then frees the word, if `AWAKE`
//!   is still there; else it begins anew. So whoever was counted when `AWAKE` was set is in the kernel's queue, where one is woken; or it read the
//!   calls before, and will not sleep; or it has marked the word since, cleared `AWAKE`, and is noticed.
//! - The word alone would not do to sleep on: between a thread's mark and its sleep it can be freed, taken again and look as before, with an
//!   `AWAKE` that nobody stands for.
//! - `AWAKE` is set by who is awake itself, or with a call. It is cleared by its thread in the step in which it takes the lock or goes to sleep, and by
//!   whoever has slept in the same steps, even where it is another's: that costs at most a wake-up too many. One that goes to sleep for the first time
//!   leaves it: it relies on who is awake.
//! - A gift is made in the same way, with `HUNGRY` off and `AWAKE` on. That `AWAKE` is still there does not tell that no taker went back to sleep
//!   since: one that spins may have set it again, and cannot take a gift. But the one that was hungry is counted, and where it went back to
//!   sleep, `HUNGRY` is there again, and all begins anew. Else it is in the kernel's queue, where one that may take the gift is woken; or it will not
//!   sleep, and may take it itself. One that comes after the gift was made sleeps until it is called and is no taker before: so the thread that
//!   gave the lock away does not get it back at once.
//! - `turn`, `due` and `experience` decide how long to look and whom else to wake, never whether the lock is free.
//!
//! Orderings. Taking the lock, or the gift, is `Acquire`; freeing it, or giving it away, is `Release`: the next owner sees what the one
//! before wrote, `calls` among it. Marking the word before a sleep is `Release` and setting `AWAKE` with a call `Acquire`, so that the calls that a
//! sleeper read are older than the call that follows its mark. Everything else is `Relaxed`: it hands over no data, and is about one
//! word, whose changes all threads see in one order.
//!
//! Nothing of the lock is touched after it was freed; only an address is passed to the kernel. So its memory may be freed by a
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
    word: AtomicU32,
    /// How often a sleeper was called: what they sleep on. Written by the owner alone.
    calls: Word,
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
                word: AtomicU32::new(0),
                calls: Word::new(0),
                turn: AtomicU32::new(0),
                due: AtomicU32::new(0),
                experience: Experience::new(),
                #[cfg(loom)]
                model: Model { is_giving: false, is_late: false, cpus: 2 },
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
        let mut gives = false;
        loop {
            let seen = self.word.load(Relaxed);
            let unlock = unlock(seen, || self.is_patience_over());
            gives |= unlock == Unlock::Gives;
            let done = match unlock {
                Unlock::Frees if !gives => {
                    self.word.compare_exchange(seen, seen & !LOCKED, Release, Relaxed).is_ok()
                }
                Unlock::Frees | Unlock::Wakes | Unlock::Gives => self.call(seen, gives),
            };
            if done {
                return;
            }
        }
    }

    /// Calls a sleeper and frees the word for it, or gives it away; where the word is not `seen` any more, or one of those for whom the call is went
    /// back to sleep between the two, it does not, and all begins anew.
    fn call(&self, seen: u32, gives: bool) -> bool {
        let calls = ptr::from_ref(&self.calls);
        let mut seen = match self.word.compare_exchange(seen, seen & !HUNGRY | AWAKE, Acquire, Relaxed) {
            Ok(_) => seen & !HUNGRY | AWAKE,
            Err(_) => return false,
        };
        self.expect_look(0);
        self.turn.store(0, Relaxed);
        self.calls.store(self.calls.load(Relaxed).wrapping_add(1), Relaxed);
        while seen & (AWAKE | HUNGRY) == AWAKE {
            let new = if gives { seen | GIFT } else { seen & !LOCKED };
            match self.word.compare_exchange_weak(seen, new, Release, Relaxed) {
                Ok(_) => {
                    Word::wake_one(calls);
                    return true;
                }
                Err(now) => seen = now,
            }
        }
        false
    }

    /// One that waits is awake, or is being woken, and will look after so long and what that may take.
    fn expect_look(&self, after_ns: u64) {
        self.due.store(ticks(now_ns() + after_ns + LATENESS_NS), Relaxed);
    }

    /// Whether the one that is awake should have looked by now.
    fn is_patience_over(&self) -> bool {
        #[cfg(loom)]
        if self.model.is_late {
            return true;
        }
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
    /// Whether one that is awake has always lost its CPU.
    is_late: bool,
    /// With one nobody looks before it sleeps.
    cpus: u32,
}

/// What an unlock is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlock {
    /// Free the word: nobody sleeps, or one is awake.
    Frees,
    /// Free it and wake a sleeper.
    Wakes,
    /// Give it to a sleeper.
    Gives,
}

fn unlock(seen: u32, is_patience_over: impl FnOnce() -> bool) -> Unlock {
    if waiters(seen) == 0 {
        // First of all: a gift without a taker would be a lock that is never free again.
        Unlock::Frees
    } else if seen & HUNGRY != 0 {
        Unlock::Gives
    } else if seen & AWAKE != 0 && !is_patience_over() {
        Unlock::Frees
    } else {
        Unlock::Wakes
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::words::WAITER;
    use super::*;

    #[test]
    fn an_unlock_wakes_only_where_it_must_and_gives_only_to_the_hungry() {
        for (seen, patient, impatient) in [
            (LOCKED, Unlock::Frees, Unlock::Frees),
            // A spinner, and nobody asleep.
            (LOCKED | AWAKE, Unlock::Frees, Unlock::Frees),
            (LOCKED | WAITER, Unlock::Wakes, Unlock::Wakes),
            (LOCKED | AWAKE | (3 * WAITER), Unlock::Frees, Unlock::Wakes),
            (LOCKED | HUNGRY | (2 * WAITER), Unlock::Gives, Unlock::Gives),
            (LOCKED | HUNGRY | AWAKE | WAITER, Unlock::Gives, Unlock::Gives),
        ] {
            assert_eq!(unlock(seen, || false), patient, "{seen:b}");
            assert_eq!(unlock(seen, || true), impatient, "{seen:b}");
        }
    }

    #[test]
    fn a_lock_is_five_words() {
        assert_eq!(size_of::<RawAdaptive>(), 20);
    }
}
