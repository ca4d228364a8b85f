//! A thread that waits for an adaptive lock: glances, spins, sleeps. Why that is right is argued at [the lock](super).
//!
//! It must not free the lock, and keeps nothing once the thread has it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::RawAdaptive;
use super::words::{AWAKE, GIFT, HUNGRY, LOCKED, WAITER, waiters};
use crate::primitive::{Woken, now_ns, pause};

#[cfg(not(loom))]
use crate::cost::{cpus, spins};
#[cfg(loom)]
use crate::primitive::cpus;

/// Looks of a glance: about half a microsecond at 20 ns a pause, a few hand-overs of a cache line between CPUs.
const GLANCES: u32 = if cfg!(loom) { 1 } else { 24 };

/// So many times may a spinner see the lock free and lose it: then it goes round too fast to be handed over.
const MOST_MISSES: u32 = if cfg!(loom) { 1 } else { 4 };

/// After so long asleep the lock is given to one that waits: ten times what a sleeper loses by a wake-up is a hundredth of this,
/// so that gifts to several sleepers in turn cost the owners a few percent at most.
pub(super) const HUNGER_NS: u64 = 10_000_000;

/// The most looks of a spin on loom's machine, to which it is worth one.
#[cfg(loom)]
fn spins() -> u32 {
    16
}

/// How looking for a free lock ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// This thread has it.
    Taken,
    /// It was not free, or not for long enough.
    InVain,
}

/// A thread that waits.
pub(super) struct Waiter<'a> {
    lock: &'a RawAdaptive,
    /// What of the word is its own: `AWAKE` while it spins or after it slept, `WAITER` once it is counted, `HUNGRY`.
    awake: bool,
    counted: bool,
    hungry: bool,
    slept: bool,
    /// When it first slept.
    since_ns: Option<u64>,
}

impl<'a> Waiter<'a> {
    pub(super) const fn new(lock: &'a RawAdaptive) -> Self {
        Self { lock, awake: false, counted: false, hungry: false, slept: false, since_ns: None }
    }

    /// Returns when this thread has the lock.
    #[cold]
    pub(super) fn wait(mut self) {
        if cpus() > 1 && (self.glance() == Look::Taken || self.spin() == Look::Taken) {
            return;
        }
        while self.sleep() == Look::InVain {}
    }

    /// Looks for as long as a few hand-overs take.
    fn glance(&mut self) -> Look {
        for _ in 0..GLANCES {
            let seen = self.lock.word.load(Relaxed);
            if seen & LOCKED == 0 {
                return self.take(seen);
            }
            pause();
        }
        Look::InVain
    }

    /// Looks for as long as that is cheaper than sleeping.
    fn spin(&mut self) -> Look {
        let seen = self.lock.word.load(Relaxed);
        // The owner, this thread, and those that sleep.
        let contenders = waiters(seen) + 2;
        if seen & AWAKE != 0 || contenders > cpus() {
            return Look::InVain;
        }
        let most = spins();
        let bound = self.lock.experience.bound(most);
        if bound == 0 || self.lock.word.fetch_or(AWAKE, Relaxed) & AWAKE != 0 {
            return Look::InVain;
        }
        self.awake = true;
        let mut misses = 0;
        for looks in 0..if cfg!(loom) { 1 } else { bound } {
            let seen = self.lock.word.load(Relaxed);
            if seen & LOCKED == 0 {
                if self.take(seen) == Look::Taken {
                    self.lock.experience.succeeded(looks, most);
                    return Look::Taken;
                }
                misses += 1;
                if misses == MOST_MISSES {
                    break;
                }
            }
            pause();
        }
        self.lock.experience.failed(most);
        Look::InVain
    }

    /// Tries once to take the lock, which was seen free or given away, and its own marks off the word in the same step.
    fn take(&self, seen: u32) -> Look {
        let taken = self.without_marks(seen & !GIFT) | LOCKED;
        match self.lock.word.compare_exchange(seen, taken, Acquire, Relaxed) {
            Ok(_) => Look::Taken,
            Err(_) => Look::InVain,
        }
    }

    const fn without_marks(&self, mut word: u32) -> u32 {
        // One that is counted clears it even where it is another's: whether the wake-up was meant for it cannot be told.
        if self.awake || self.counted {
            word &= !AWAKE;
        }
        if self.hungry {
            word &= !HUNGRY;
        }
        if self.counted { word - WAITER } else { word }
    }

    /// Takes the lock where it is free or given, or sleeps until something changes.
    fn sleep(&mut self) -> Look {
        // Before the mark: a call that comes after it is another.
        let calls = self.lock.calls.load(Relaxed);
        let seen = self.lock.word.load(Relaxed);
        let is_given_to_me = seen & GIFT != 0 && self.slept;
        if seen & LOCKED == 0 || is_given_to_me {
            return self.take(seen);
        }
        let mut asleep = self.without_marks(seen) + WAITER;
        // A gift is on its way: its taker, if it is another, need not be hurried.
        if self.hungry && seen & GIFT == 0 {
            asleep |= HUNGRY;
        }
        if self.lock.word.compare_exchange(seen, asleep, Release, Relaxed).is_err() {
            return Look::InVain;
        }
        (self.awake, self.counted) = (false, true);
        let since = *self.since_ns.get_or_insert_with(now_ns);
        let woken = self.lock.calls.sleep_while(calls, Some(HUNGER_NS));
        self.slept = true;
        self.hungry |= woken == Woken::TimedOut || now_ns() - since >= HUNGER_NS;
        Look::InVain
    }
}
