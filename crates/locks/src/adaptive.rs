//! Implementation 4: spin while that is cheaper than blocking, then block.
//!
//! | bits of `word` | name | meaning |
//! |---|---|---|
//! | 0 | `LOCKED` | the lock has an owner, or it was handed to a sleeper |
//! | 1 | `AWAKE` | one waiter is awake or is being woken, and will look at the word: do not wake another one, and do not spin next to it |
//! | 2 | `HANDOFF` | the lock was handed to a sleeper: no other thread may take it (only with `LOCKED`) |
//! | 3 | `STARVING` | a sleeper has waited too long: the next unlock must hand the lock over |
//! | 4 to 31 | `WAITER` | number of waiters that sleep or have slept |
//!
//! | other words | meaning |
//! |---|---|
//! | `calls` | number of calls to sleepers; sleepers sleep on this word; only the owner writes it |
//! | `turn` | number of acquisitions since a sleeper was last woken; only the owner writes it |
//! | `look_deadline` | time by which the waiter behind `AWAKE` is expected to look |
//! | `spin_history` | duration for which spinning has paid off at this lock |
//!
//! Without waiters, one locked instruction takes the lock and one frees it. Otherwise an arriving
//! thread
//!
//! 1. *spins briefly*, for the duration of some handoffs between CPUs;
//! 2. *spins on* for the cost of a sleep and a wake-up ([`cost`](crate::cost)), or less if the
//!    spin history says so. It does not spin if another waiter spins or is being woken. It does not
//!    outwait an owner that is off its CPU for longer than that. It yields now and then, since the
//!    owner may be ready for this very CPU;
//! 3. *backs off* if it has seen other threads take the lock again before it could. Those threads
//!    then do best undisturbed. A backoff sleep has a fixed time, longer each time, and ends
//!    without a wake-up; it costs the owners nothing;
//! 4. *sleeps* otherwise, until it is woken. An unlock wakes one sleeper, unless a waiter is awake.
//!    A running thread may take the lock before the sleeper arrives, which keeps the CPUs busy. If
//!    the woken thread has not looked by `look_deadline`, it has no CPU. The unlock then wakes
//!    another sleeper, which may have one.
//!
//! The four steps alone do not prevent starvation. A thread that has waited for 10 ms asleep
//! therefore sets `STARVING`. The next unlock then hands the lock to the head of the kernel's queue
//! without freeing it.
//!
//! Argument that no wake-up and no handoff is lost:
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
//! - A handoff follows these steps too, with `STARVING` off and `AWAKE` on. An `AWAKE` that is
//!   still set does not prove that no possible receiver went back to sleep: a spinning thread,
//!   which cannot receive the lock, may have set it again. But the starving thread is counted. If
//!   it went back to sleep, `STARVING` is set again and the unlock starts again. Otherwise it is in
//!   the kernel's queue, where one possible receiver is woken, or it will not sleep and may take
//!   the lock itself. A thread that arrives after the handoff sleeps until it is called and
//!   cannot receive the lock before that. The thread that handed the lock over therefore does not
//!   get it back at once.
//! - `turn`, `look_deadline` and `spin_history` determine the spinning time and the additional
//!   wake-ups, never whether the lock is free.
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

#[cfg(all(test, loom))]
mod models;
pub(crate) mod spin_history;
mod waiter;

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use self::spin_history::SpinHistory;
use self::waiter::Waiter;
use crate::primitive::{AtomicU32, FutexWord, const_unless_modelled, now_ns};

/// The lock has an owner, or it was handed to a sleeper.
const LOCKED: u32 = 1;
/// One waiter is awake and will look at the word.
const AWAKE: u32 = 2;
/// The lock was handed to a sleeper.
const HANDOFF: u32 = 4;
/// A sleeper has waited too long.
const STARVING: u32 = 8;
/// One counted waiter. The maximum count of 2^28 exceeds Linux's maximum number of threads
/// (`PID_MAX_LIMIT`, 2^22).
const WAITER: u32 = 16;

/// Number of counted waiters.
const fn waiter_count(word: u32) -> u32 {
    word / WAITER
}

/// About a microsecond, as a power of two.
const TICK_NS: u64 = 1 << 10;

/// Permitted delay of a waiter that is awake. It is longer than a wake-up from an idle CPU's deep
/// state. It is shorter than the time slice for which the waiter may have to wait for its CPU while
/// other CPUs idle.
const MAX_LOOK_DELAY_NS: u64 = 150_000;

/// Adaptive lock: spins while that is cheaper than blocking, then blocks.
#[derive(Debug)]
#[repr(C)]
pub struct RawAdaptive {
    word: AtomicU32,
    /// Number of calls to sleepers, on which the sleepers sleep. Only the owner writes it.
    calls: FutexWord,
    /// Number of acquisitions since a sleeper was last woken, with wrap-around. Only the owner
    /// writes it.
    turn: AtomicU32,
    /// Time by which the waiter that is awake is expected to look: in units of [`TICK_NS`], with
    /// wrap-around.
    look_deadline: AtomicU32,
    spin_history: SpinHistory,
    #[cfg(loom)]
    model: Model,
}

impl RawAdaptive {
    const_unless_modelled! {
        /// A free lock.
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                calls: FutexWord::new(0),
                turn: AtomicU32::new(0),
                look_deadline: AtomicU32::new(0),
                spin_history: SpinHistory::new(),
                #[cfg(loom)]
                model: Model { starves_at_once: false, is_waiter_preempted: false, cpus: 2 },
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
        } else if seen & (AWAKE | STARVING) == AWAKE && !self.turn.load(Relaxed).is_power_of_two() {
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
        let mut hands_off = false;
        loop {
            let seen = self.word.load(Relaxed);
            let action = unlock_action(seen, || self.is_look_overdue());
            hands_off |= action == UnlockAction::Handoff;
            let done = match action {
                UnlockAction::Free if !hands_off => {
                    self.word.compare_exchange(seen, seen & !LOCKED, Release, Relaxed).is_ok()
                }
                UnlockAction::Free | UnlockAction::Wake | UnlockAction::Handoff => {
                    self.call_sleeper(seen, hands_off)
                }
            };
            if done {
                return;
            }
        }
    }

    /// Calls a sleeper, and then frees the word for it or hands the lock over. Returns false if the
    /// word is no longer `seen`, or if a possible receiver of the call went back to sleep in
    /// between. The caller then starts again.
    fn call_sleeper(&self, seen: u32, hands_off: bool) -> bool {
        let calls = ptr::from_ref(&self.calls);
        let mut seen = match self.word.compare_exchange(seen, seen & !STARVING | AWAKE, Acquire, Relaxed) {
            Ok(_) => seen & !STARVING | AWAKE,
            Err(_) => return false,
        };
        self.set_look_deadline(0);
        self.turn.store(0, Relaxed);
        self.calls.store(self.calls.load(Relaxed).wrapping_add(1), Relaxed);
        while seen & (AWAKE | STARVING) == AWAKE {
            let new = if hands_off { seen | HANDOFF } else { seen & !LOCKED };
            match self.word.compare_exchange_weak(seen, new, Release, Relaxed) {
                Ok(_) => {
                    FutexWord::wake_one(calls);
                    return true;
                }
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Records that a waiter is awake or is being woken. It is expected to look after `after_ns`
    /// plus the permitted delay.
    fn set_look_deadline(&self, after_ns: u64) {
        self.look_deadline.store(ticks(now_ns() + after_ns + MAX_LOOK_DELAY_NS), Relaxed);
    }

    /// Whether the waiter that is awake should have looked by now.
    fn is_look_overdue(&self) -> bool {
        #[cfg(loom)]
        if self.model.is_waiter_preempted {
            return true;
        }
        let late = ticks(now_ns()).wrapping_sub(self.look_deadline.load(Relaxed));
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
    /// Whether every sleeper starves at once, so that handoffs need not wait for a second sleep.
    starves_at_once: bool,
    /// Whether a waiter that is awake has always lost its CPU.
    is_waiter_preempted: bool,
    /// Number of CPUs. With one CPU no thread looks before it sleeps.
    cpus: u32,
}

/// Action of an unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnlockAction {
    /// Frees the word: no waiter sleeps, or one is awake.
    Free,
    /// Frees the word and wakes a sleeper.
    Wake,
    /// Hands the lock to a sleeper.
    Handoff,
}

fn unlock_action(seen: u32, is_look_overdue: impl FnOnce() -> bool) -> UnlockAction {
    if waiter_count(seen) == 0 {
        // This check comes first: a handoff without a receiver would leave the lock taken for
        // ever.
        UnlockAction::Free
    } else if seen & STARVING != 0 {
        UnlockAction::Handoff
    } else if seen & AWAKE != 0 && !is_look_overdue() {
        UnlockAction::Free
    } else {
        UnlockAction::Wake
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_unlock_wakes_only_if_needed_and_hands_off_only_to_a_starving_thread() {
        for (seen, in_time, overdue) in [
            (LOCKED, UnlockAction::Free, UnlockAction::Free),
            // There is a spinner but no sleeper.
            (LOCKED | AWAKE, UnlockAction::Free, UnlockAction::Free),
            (LOCKED | WAITER, UnlockAction::Wake, UnlockAction::Wake),
            (LOCKED | AWAKE | (3 * WAITER), UnlockAction::Free, UnlockAction::Wake),
            (LOCKED | STARVING | (2 * WAITER), UnlockAction::Handoff, UnlockAction::Handoff),
            (LOCKED | STARVING | AWAKE | WAITER, UnlockAction::Handoff, UnlockAction::Handoff),
        ] {
            assert_eq!(unlock_action(seen, || false), in_time, "{seen:b}");
            assert_eq!(unlock_action(seen, || true), overdue, "{seen:b}");
        }
    }

    #[test]
    fn a_lock_is_five_words() {
        assert_eq!(size_of::<RawAdaptive>(), 20);
    }
}
