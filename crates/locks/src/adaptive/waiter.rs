//! A thread that waits for an adaptive lock: spins, backs off, sleeps. The argument for
//! correctness is at [the lock](super).
//!
//! The module must not free the lock, and keeps nothing once the thread owns the lock.

#[cfg(all(test, loom))]
mod models;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{AWAKE, HANDOFF, LOCKED, RawAdaptive, STARVING, WAITER};
#[cfg(not(loom))]
use crate::cost::{cpus, spin_limit};
use crate::primitive::{WaitResult, now_ns, pause, sleep_ns, yield_cpu};

/// Limits of the first, short spin: one look per pause. It takes a microsecond or two at 20 ns per
/// pause, and longer if the word's line has to come from another CPU each time. A lock with more
/// than one turn per look is too fast to be handed over, and is soon left alone. A slower lock
/// becomes free often enough for a thread that looks so often.
const SHORT_SPIN: SpinBudget = SpinBudget { pauses: if cfg!(loom) { 1 } else { 64 }, turns: 64, max_gap: 1 };

/// Number of turns between two looks above which turns are shorter than a handoff between CPUs.
const MAX_TURNS_PER_LOOK: u32 = 2;

/// Maximum pauses between two looks of a spinner: each look takes the word's cache line from its
/// owner.
const MAX_SPIN_GAP: u32 = 4;

/// Pauses between two yields of a spinner, some 3 µs. An owner that is ready for this CPU gets it.
const YIELD_INTERVAL: u32 = if cfg!(loom) { 1 } else { 128 };

/// Cost of a yield to no thread, in pauses: a system call of a third of a microsecond.
const YIELD_COST: u32 = 16;

/// The first backoff sleep, and the longest: each is twice the previous one. Linux lengthens each
/// by 50 µs for ordinary threads (`PR_SET_TIMERSLACK`, prctl(2)). The longest takes a tenth of
/// [`STARVATION_NS`].
const MIN_BACKOFF_NS: u32 = 50_000;
const MAX_BACKOFF_NS: u32 = 1_000_000;

/// Time asleep after which the lock is handed to a waiter. A handoff costs the owners a wake-up,
/// tens of microseconds: a few percent with several sleepers in turn.
const STARVATION_NS: u64 = if cfg!(loom) { 1 } else { 10_000_000 };

/// Maximum number of looks in a spin on loom's machine.
#[cfg(loom)]
fn spin_limit() -> u32 {
    16
}

/// Result of a spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpinResult {
    /// The calling thread has taken the lock.
    Acquired,
    /// The lock was never free.
    Held,
    /// The lock became free, and other threads were faster.
    Overtaken,
}

/// Limits of a spin.
#[derive(Clone, Copy)]
struct SpinBudget {
    pauses: u32,
    /// Number of other threads' turns that may begin in between.
    turns: u32,
    max_gap: u32,
}

/// A waiting thread.
pub(super) struct Waiter<'a> {
    lock: &'a RawAdaptive,
    /// Marks in the word that belong to this thread: `AWAKE` while it spins or backs off and once
    /// it has slept, `WAITER` once it has slept, `STARVING`.
    owns_awake: bool,
    has_slept: bool,
    is_starving: bool,
    /// Whether it was woken, and other threads took the lock before it arrived.
    was_overtaken: bool,
    /// Start of its first sleep, with or without a time limit.
    first_sleep_ns: Option<u64>,
    next_backoff_ns: u32,
}

impl<'a> Waiter<'a> {
    pub(super) const fn new(lock: &'a RawAdaptive) -> Self {
        Self {
            lock,
            owns_awake: false,
            has_slept: false,
            #[cfg(not(loom))]
            is_starving: false,
            #[cfg(loom)]
            is_starving: lock.model.starves_at_once,
            was_overtaken: false,
            first_sleep_ns: None,
            next_backoff_ns: MIN_BACKOFF_NS,
        }
    }

    /// Returns when this thread owns the lock.
    #[cold]
    pub(super) fn wait(mut self) {
        loop {
            match self.spin_before_sleep() {
                SpinResult::Acquired => return,
                // Owners that take the lock again at once should not have to wake this thread each
                // time.
                SpinResult::Overtaken if !self.is_starving && self.claim_awake() => self.backoff_sleep(),
                SpinResult::Overtaken | SpinResult::Held => {
                    if self.sleep() == SpinResult::Acquired {
                        return;
                    }
                }
            }
        }
    }

    /// Spins before the next sleep; with one CPU it does not spin at all.
    fn spin_before_sleep(&mut self) -> SpinResult {
        #[cfg(loom)]
        let cpus = || self.lock.model.cpus;
        if cpus() < 2 {
            return SpinResult::Held;
        }
        let mut result = self.spin_try(SHORT_SPIN).0;
        if result == SpinResult::Held {
            result = self.spin();
        }
        if result == SpinResult::Held && self.was_overtaken { SpinResult::Overtaken } else { result }
    }

    /// Spins as long as that is cheaper than sleeping, according to the spin history.
    fn spin(&mut self) -> SpinResult {
        let max = spin_limit();
        let limit = self.lock.spin_history.limit(max);
        if limit == 0 || !self.claim_awake() {
            return SpinResult::Held;
        }
        let (mut result, mut pauses) = (SpinResult::Held, 0);
        while result == SpinResult::Held && pauses < limit {
            yield_cpu();
            let spin_budget =
                SpinBudget { pauses: YIELD_INTERVAL.min(limit - pauses), turns: 0, max_gap: MAX_SPIN_GAP };
            let (latest, spent) = self.spin_try(spin_budget);
            result = latest;
            pauses += spent + YIELD_COST;
        }
        match result {
            SpinResult::Acquired => self.lock.spin_history.record_success(pauses, max),
            SpinResult::Held | SpinResult::Overtaken => self.lock.spin_history.record_failure(max),
        }
        result
    }

    /// Spins until the thread owns the lock or has used up its spin budget. Also returns the number
    /// of pauses.
    fn spin_try(&self, spin_budget: SpinBudget) -> (SpinResult, u32) {
        let first = self.lock.turn.load(Relaxed);
        let (mut last, mut pauses, mut gap) = (first, 0, 1);
        while pauses < spin_budget.pauses {
            let seen = self.lock.word.load(Relaxed);
            let turn = self.lock.turn.load(Relaxed);
            if turn.wrapping_sub(last) > MAX_TURNS_PER_LOOK || turn.wrapping_sub(first) > spin_budget.turns {
                return (SpinResult::Overtaken, pauses);
            }
            if self.may_take(seen) && self.take(seen) == SpinResult::Acquired {
                return (SpinResult::Acquired, pauses);
            }
            last = turn;
            for _ in 0..gap {
                pause();
            }
            pauses += gap;
            gap = (gap * 2).min(spin_budget.max_gap);
        }
        let turns = self.lock.turn.load(Relaxed).wrapping_sub(first);
        (if turns > spin_budget.turns { SpinResult::Overtaken } else { SpinResult::Held }, pauses)
    }

    /// Makes this thread the waiter that is awake, unless there is another one.
    fn claim_awake(&mut self) -> bool {
        // A woken thread is already that waiter.
        if !self.owns_awake {
            self.owns_awake = self.lock.word.fetch_or(AWAKE, Relaxed) & AWAKE == 0;
        }
        if self.owns_awake {
            self.lock.set_look_deadline(0);
        }
        self.owns_awake
    }

    /// Sleeps for a fixed time as the waiter that is awake, so that no unlock needs to wake this
    /// thread or another one.
    fn backoff_sleep(&mut self) {
        let first_sleep = *self.first_sleep_ns.get_or_insert_with(now_ns);
        self.lock.set_look_deadline(u64::from(self.next_backoff_ns));
        sleep_ns(self.next_backoff_ns);
        self.next_backoff_ns = (self.next_backoff_ns * 2).min(MAX_BACKOFF_NS);
        self.is_starving |= now_ns() - first_sleep >= STARVATION_NS;
    }

    /// Whether the lock is free, or was handed to a thread that has slept, like this one.
    const fn may_take(&self, seen: u32) -> bool {
        seen & LOCKED == 0 || (seen & HANDOFF != 0 && self.has_slept)
    }

    /// Tries once to take the lock, which looked free or handed over. The same step removes this
    /// thread's marks from the word.
    fn take(&self, seen: u32) -> SpinResult {
        let taken = self.without_marks(seen & !HANDOFF) | LOCKED;
        match self.lock.word.compare_exchange(seen, taken, Acquire, Relaxed) {
            Ok(_) => SpinResult::Acquired,
            Err(_) => SpinResult::Overtaken,
        }
    }

    const fn without_marks(&self, mut word: u32) -> u32 {
        // A thread that has slept clears `AWAKE` even if it belongs to another one: the receiver of
        // the wake-up is unknown.
        if self.owns_awake {
            word &= !AWAKE;
        }
        if self.is_starving {
            word &= !STARVING;
        }
        if self.has_slept { word - WAITER } else { word }
    }

    /// Takes the lock if it is free or handed over; otherwise sleeps until it is called.
    fn sleep(&mut self) -> SpinResult {
        let calls = self.lock.calls.load(Relaxed);
        let seen = self.lock.word.load(Relaxed);
        if self.may_take(seen) {
            return self.take(seen);
        }
        let mut asleep = self.without_marks(seen) + WAITER;
        // If a handoff is under way, its receiver makes the next unlock, which is early enough.
        if self.is_starving && seen & HANDOFF == 0 {
            asleep |= STARVING;
        }
        if self.lock.word.compare_exchange(seen, asleep, Release, Relaxed).is_err() {
            return SpinResult::Overtaken;
        }
        let first_sleep = *self.first_sleep_ns.get_or_insert_with(now_ns);
        let wait_result = self.lock.calls.sleep_while(calls, Some(STARVATION_NS));
        (self.owns_awake, self.has_slept) = (true, true);
        self.is_starving |= wait_result == WaitResult::TimedOut || now_ns() - first_sleep >= STARVATION_NS;
        // A thread that calls a sleeper restarts the count of turns at zero.
        self.was_overtaken = self.lock.turn.load(Relaxed) != 0;
        SpinResult::Held
    }
}
