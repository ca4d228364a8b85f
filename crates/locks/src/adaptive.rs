//! Implementation 4: spin while that is cheaper than blocking, then block.
//!
//! | bits of `word` | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | the lock has an owner, or it was handed to a sleeper |
//! | 1 | `AWAKE` | one waiter is awake or is being woken, and will look at the word: do not wake another one, and do not spin next to it |
//! | 2 | `GIFT` | the lock was handed to a sleeper: no other thread may take it (only with `LOCKED`) |
//! | 3 | `HUNGRY` | a sleeper has waited too long: the next unlock must hand the lock over |
//! | 4 to 31 | `WAITER` | number of waiters that sleep or have slept |
//!
//! | other words | meaning |
//! |---|---|
//! | `calls` | number of calls to sleepers; sleepers sleep on this word; only the owner writes it |
//! | `turn` | number of acquisitions since a sleeper was last woken; only the owner writes it |
//! | `due` | time by which the waiter behind `AWAKE` is expected to look |
//! | `experience` | duration for which spinning has paid off at this lock |
//!
//! Without waiters, one locked instruction takes the lock and one frees it. Otherwise an arriving
//! thread
//!
//! 1. *glances* for the duration of some hand-overs between CPUs;
//! 2. *spins* for the cost of a sleep and a wake-up ([`cost`](crate::cost)), or less if the
//!    experience says so. It does not spin if another waiter spins or is being woken. It does not
//!    outwait an owner that is off its CPU for longer than that. It yields now and then, since the
//!    owner may be ready for this very CPU;
//! 3. *naps* if it has seen other threads take the lock again before it could. Those threads then
//!    do best undisturbed. A nap is a sleep of a fixed time, longer each time, without a wake-up;
//!    it costs the owners nothing;
//! 4. *sleeps* otherwise, until it is woken. An unlock wakes one sleeper, unless a waiter is awake.
//!    A running thread may take the lock before the sleeper arrives, which keeps the CPUs busy. If
//!    the woken thread has not looked by the `due` time, it has no CPU. The unlock then wakes
//!    another sleeper, which may have one.
//!
//! The four steps alone do not prevent starvation. A thread that has waited for 10 ms asleep
//! therefore sets `HUNGRY`. The next unlock then hands the lock to the head of the kernel's queue
//! without freeing it.
//!
//! Argument that no wake-up and no hand-over is lost:
//!
//! - A thread that goes to sleep reads `calls`. Then it marks the word, which has `LOCKED` and
//!   counts the thread from then on. Then it sleeps while there is no new call. An unlock of a word
//!   that counts a waiter, without `AWAKE`, first sets `AWAKE` and then makes a call. Then it frees
//!   the word if `AWAKE` is still set; otherwise it starts again. Each thread that was counted when
//!   `AWAKE` was set is thus in one of three states. It is in the kernel's queue, where one thread
//!   is woken. Or it read `calls` before the call and will not sleep. Or it has marked the word
//!   since, which cleared `AWAKE`, and the unlock notices that.
//! - A sleep on the word itself would not be enough. Between a thread's mark and its sleep the word
//!   can be freed, taken again and look unchanged, with an `AWAKE` for which no thread is awake.
//! - `AWAKE` is set by a thread that is itself awake, or together with a call. Its thread clears it
//!   in the step in which it takes the lock or goes to sleep. Any thread that has slept clears it
//!   in these steps too, even if it belongs to another thread: that costs at most one surplus
//!   wake-up. A thread that goes to sleep for the first time leaves it set and relies on the waiter
//!   that is awake.
//! - A hand-over follows these steps too, with `HUNGRY` off and `AWAKE` on. An `AWAKE` that is
//!   still set does not prove that no possible receiver went back to sleep: a spinning thread,
//!   which cannot receive the lock, may have set it again. But the starving thread is counted. If
//!   it went back to sleep, `HUNGRY` is set again and the unlock starts again. Otherwise it is in
//!   the kernel's queue, where one possible receiver is woken, or it will not sleep and may take
//!   the lock itself. A thread that arrives after the hand-over sleeps until it is called and
//!   cannot receive the lock before that. The thread that handed the lock over therefore does not
//!   get it back at once.
//! - `turn`, `due` and `experience` determine the spinning time and the additional wake-ups, never
//!   whether the lock is free.
//!
//! Orderings. Taking the lock, or receiving it, is `Acquire`. Freeing it, or handing it over, is
//! `Release`: the next owner sees all writes of the previous one, including `calls`. Marking the
//! word before a sleep is `Release`, and setting `AWAKE` with a call is `Acquire`. The calls that a
//! sleeper read are therefore older than the call after its mark. All other accesses are `Relaxed`:
//! they pass on no data and concern a single word, whose changes all threads see in one order.
//!
//! No access to the lock's memory follows its release; only an address is passed to the kernel. A
//! thread that has just taken the lock and knows that it is the last user may therefore free the
//! memory, as C programs do.

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

/// About a microsecond, as a power of two.
const TICK_NS: u64 = 1 << 10;

/// Permitted delay of a waiter that is awake. It is longer than a wake-up from an idle CPU's deep
/// state. It is shorter than the time slice for which the waiter may have to wait for its CPU while
/// other CPUs idle.
const LATENESS_NS: u64 = 150_000;

/// Adaptive lock: spins while that is cheaper than blocking, then blocks.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptive {
    word: AtomicU32,
    /// Number of calls to sleepers, on which the sleepers sleep. Only the owner writes it.
    calls: Word,
    /// Number of acquisitions since a sleeper was last woken, with wrap-around. Only the owner
    /// writes it.
    turn: AtomicU32,
    /// Time by which the waiter that is awake is expected to look: in units of [`TICK_NS`], with
    /// wrap-around.
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

    /// Waits until this thread owns the lock.
    #[inline]
    pub fn lock(&self) {
        if self.word.fetch_or(LOCKED, Acquire) & LOCKED != 0 {
            Waiter::new(self).wait();
        }
        self.count_turn();
    }

    /// Counts an acquisition. A store suffices: only the owner writes the word.
    #[inline]
    fn count_turn(&self) {
        self.turn.store(self.turn.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Takes the lock if it is free.
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
        // Without waiters the comparison is with a constant, so that the processor need not wait
        // for the loaded value.
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

    /// Calls a sleeper, and then frees the word for it or hands the lock over. Returns false if the
    /// word is no longer `seen`, or if a possible receiver of the call went back to sleep in
    /// between. The caller then starts again.
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

    /// Records that a waiter is awake or is being woken. It is expected to look after `after_ns`
    /// plus the permitted delay.
    fn expect_look(&self, after_ns: u64) {
        self.due.store(ticks(now_ns() + after_ns + LATENESS_NS), Relaxed);
    }

    /// Whether the waiter that is awake should have looked by now.
    fn is_patience_over(&self) -> bool {
        #[cfg(loom)]
        if self.model.is_late {
            return true;
        }
        let late = ticks(now_ns()).wrapping_sub(self.due.load(Relaxed));
        late != 0 && late < u32::MAX / 2
    }

    /// Whether the lock has an owner.
    #[inline]
    pub fn is_locked(&self) -> bool {
        self.word.load(Relaxed) & LOCKED != 0
    }
}

/// Time in units of [`TICK_NS`], with wrap-around after an hour.
const fn ticks(ns: u64) -> u32 {
    (ns / TICK_NS) as u32
}

/// Parameters that models vary.
#[cfg(loom)]
#[derive(Clone, Copy, Debug)]
struct Model {
    /// Whether every sleeper starves at once, so that hand-overs need not wait for a second sleep.
    is_giving: bool,
    /// Whether a waiter that is awake has always lost its CPU.
    is_late: bool,
    /// Number of CPUs. With one CPU no thread looks before it sleeps.
    cpus: u32,
}

/// Action of an unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unlock {
    /// Frees the word: no waiter sleeps, or one is awake.
    Frees,
    /// Frees the word and wakes a sleeper.
    Wakes,
    /// Hands the lock to a sleeper.
    Gives,
}

fn unlock(seen: u32, is_patience_over: impl FnOnce() -> bool) -> Unlock {
    if waiters(seen) == 0 {
        // This check comes first: a hand-over without a receiver would leave the lock taken for
        // ever.
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
            // There is a spinner but no sleeper.
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
