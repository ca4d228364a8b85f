//! A thread that waits for an adaptive lock: glances, spins, naps, sleeps. The argument for
//! correctness is at [the lock](super).
//!
//! The module must not free the lock, and keeps nothing once the thread owns the lock.

#[cfg(all(test, loom))]
mod models;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::RawAdaptive;
use super::words::{AWAKE, GIFT, HUNGRY, LOCKED, WAITER};
#[cfg(not(loom))]
use crate::cost::{cpus, spins};
use crate::primitive::{Woken, now_ns, pause, sleep_ns, yield_cpu};

/// A glance: one look per pause. It takes a microsecond or two at 20 ns per pause, and longer if
/// the word's line has to come from another CPU each time. A lock with more than one turn per look
/// is too fast to be handed over, and is soon left alone. A slower lock becomes free often enough
/// for a thread that looks so often.
const GLANCE: Patience = Patience { pauses: if cfg!(loom) { 1 } else { 64 }, turns: 64, widest_gap: 1 };

/// Number of turns between two looks above which turns are shorter than a hand-over between CPUs.
const FAST: u32 = 2;

/// Maximum pauses between two looks of a spinner: each look takes the word's cache line from its
/// owner.
const SPIN_GAP: u32 = 4;

/// Pauses between two yields of a spinner, some 3 µs. An owner that is ready for this CPU gets it.
const YIELD_EVERY: u32 = if cfg!(loom) { 1 } else { 128 };

/// Cost of a yield to no thread, in pauses: a system call of a third of a microsecond.
const YIELD: u32 = 16;

/// The first nap, and the longest: each is twice the previous one. Linux lengthens each by 50 µs
/// for ordinary threads (`PR_SET_TIMERSLACK`, prctl(2)). The longest takes a tenth of
/// [`HUNGER_NS`].
const FIRST_NAP_NS: u32 = 50_000;
const LONGEST_NAP_NS: u32 = 1_000_000;

/// Time asleep after which the lock is handed to a waiter. A hand-over costs the owners a wake-up,
/// tens of microseconds: a few percent with several sleepers in turn.
const HUNGER_NS: u64 = if cfg!(loom) { 1 } else { 10_000_000 };

/// Looks of a spin on loom's machine.
#[cfg(loom)]
fn spins() -> u32 {
    16
}

/// Result of looking for a free lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// The calling thread has taken the lock.
    Taken,
    /// The lock was never free.
    Held,
    /// The lock became free, and other threads were faster.
    Missed,
}

/// Limits of looking.
#[derive(Clone, Copy)]
struct Patience {
    pauses: u32,
    /// Number of other threads' turns that may begin in between.
    turns: u32,
    widest_gap: u32,
}

/// A waiting thread.
pub(super) struct Waiter<'a> {
    lock: &'a RawAdaptive,
    /// Marks in the word that belong to this thread: `AWAKE` while it spins or naps and once it has
    /// slept, `WAITER` once it has slept, `HUNGRY`.
    awake: bool,
    counted: bool,
    hungry: bool,
    /// Whether it was woken, and other threads took the lock before it arrived.
    outrun: bool,
    /// Time of its first sleep or nap.
    since_ns: Option<u64>,
    next_nap_ns: u32,
}

impl<'a> Waiter<'a> {
    pub(super) const fn new(lock: &'a RawAdaptive) -> Self {
        Self {
            lock,
            awake: false,
            counted: false,
            #[cfg(not(loom))]
            hungry: false,
            #[cfg(loom)]
            hungry: lock.model.is_giving,
            outrun: false,
            since_ns: None,
            next_nap_ns: FIRST_NAP_NS,
        }
    }

    /// Returns when this thread owns the lock.
    #[cold]
    pub(super) fn wait(mut self) {
        loop {
            match self.look_around() {
                Look::Taken => return,
                // Owners that take the lock again at once should not have to wake this thread each
                // time.
                Look::Missed if !self.hungry && self.stays_awake() => self.nap(),
                Look::Missed | Look::Held => {
                    if self.sleep() == Look::Taken {
                        return;
                    }
                }
            }
        }
    }

    /// Looks without sleeping; with one CPU it does not look at all.
    fn look_around(&mut self) -> Look {
        #[cfg(loom)]
        let cpus = || self.lock.model.cpus;
        if cpus() < 2 {
            return Look::Held;
        }
        let mut look = self.look(GLANCE).0;
        if look == Look::Held {
            look = self.spin();
        }
        if look == Look::Held && self.outrun { Look::Missed } else { look }
    }

    /// Looks as long as that is cheaper than sleeping, according to the experience.
    fn spin(&mut self) -> Look {
        let most = spins();
        let bound = self.lock.experience.bound(most);
        if bound == 0 || !self.stays_awake() {
            return Look::Held;
        }
        let (mut look, mut pauses) = (Look::Held, 0);
        while look == Look::Held && pauses < bound {
            yield_cpu();
            let piece = Patience { pauses: YIELD_EVERY.min(bound - pauses), turns: 0, widest_gap: SPIN_GAP };
            let (found, more) = self.look(piece);
            look = found;
            pauses += more + YIELD;
        }
        match look {
            Look::Taken => self.lock.experience.succeeded(pauses, most),
            Look::Held | Look::Missed => self.lock.experience.failed(most),
        }
        look
    }

    /// Looks until the thread owns the lock or its patience is over. Also returns the number of
    /// pauses.
    fn look(&self, patience: Patience) -> (Look, u32) {
        let first = self.lock.turn.load(Relaxed);
        let (mut last, mut pauses, mut gap) = (first, 0, 1);
        while pauses < patience.pauses {
            let seen = self.lock.word.load(Relaxed);
            let turn = self.lock.turn.load(Relaxed);
            if turn.wrapping_sub(last) > FAST || turn.wrapping_sub(first) > patience.turns {
                return (Look::Missed, pauses);
            }
            if self.may_take(seen) && self.take(seen) == Look::Taken {
                return (Look::Taken, pauses);
            }
            last = turn;
            for _ in 0..gap {
                pause();
            }
            pauses += gap;
            gap = (gap * 2).min(patience.widest_gap);
        }
        let turns = self.lock.turn.load(Relaxed).wrapping_sub(first);
        (if turns > patience.turns { Look::Missed } else { Look::Held }, pauses)
    }

    /// Makes this thread the waiter that is awake, unless there is another one.
    fn stays_awake(&mut self) -> bool {
        // A woken thread is already that waiter.
        if !self.awake {
            self.awake = self.lock.word.fetch_or(AWAKE, Relaxed) & AWAKE == 0;
        }
        if self.awake {
            self.lock.expect_look(0);
        }
        self.awake
    }

    /// Sleeps for a fixed time as the waiter that is awake, so that no unlock needs to wake this
    /// thread or another one.
    fn nap(&mut self) {
        let since = *self.since_ns.get_or_insert_with(now_ns);
        self.lock.expect_look(u64::from(self.next_nap_ns));
        sleep_ns(self.next_nap_ns);
        self.next_nap_ns = (self.next_nap_ns * 2).min(LONGEST_NAP_NS);
        self.hungry |= now_ns() - since >= HUNGER_NS;
    }

    /// Whether the lock is free, or was handed to a thread that has slept, like this one.
    const fn may_take(&self, seen: u32) -> bool {
        seen & LOCKED == 0 || (seen & GIFT != 0 && self.counted)
    }

    /// Tries once to take the lock, which looked free or handed over. The same step removes this
    /// thread's marks from the word.
    fn take(&self, seen: u32) -> Look {
        let taken = self.without_marks(seen & !GIFT) | LOCKED;
        match self.lock.word.compare_exchange(seen, taken, Acquire, Relaxed) {
            Ok(_) => Look::Taken,
            Err(_) => Look::Missed,
        }
    }

    const fn without_marks(&self, mut word: u32) -> u32 {
        // A thread that has slept clears `AWAKE` even if it belongs to another one: the receiver of
        // the wake-up is unknown.
        if self.awake {
            word &= !AWAKE;
        }
        if self.hungry {
            word &= !HUNGRY;
        }
        if self.counted { word - WAITER } else { word }
    }

    /// Takes the lock if it is free or handed over; otherwise sleeps until it is called.
    fn sleep(&mut self) -> Look {
        let calls = self.lock.calls.load(Relaxed);
        let seen = self.lock.word.load(Relaxed);
        if self.may_take(seen) {
            return self.take(seen);
        }
        let mut asleep = self.without_marks(seen) + WAITER;
        // If a hand-over is under way, its receiver makes the next unlock, which is early enough.
        if self.hungry && seen & GIFT == 0 {
            asleep |= HUNGRY;
        }
        if self.lock.word.compare_exchange(seen, asleep, Release, Relaxed).is_err() {
            return Look::Missed;
        }
        let since = *self.since_ns.get_or_insert_with(now_ns);
        let woken = self.lock.calls.sleep_while(calls, Some(HUNGER_NS));
        (self.awake, self.counted) = (true, true);
        self.hungry |= woken == Woken::TimedOut || now_ns() - since >= HUNGER_NS;
        // A thread that calls a sleeper restarts the count of turns at zero.
        self.outrun = self.lock.turn.load(Relaxed) != 0;
        Look::Held
    }
}
