//! A thread that waits for an adaptive lock: glances, spins, naps, sleeps. Why that is right is argued at [the lock](super).
//!
//! It must not free the lock, and keeps nothing once the thread has it.

#[cfg(all(test, loom))]
mod models;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::RawAdaptive;
use super::words::{AWAKE, GIFT, HUNGRY, LOCKED, WAITER};
#[cfg(not(loom))]
use crate::cost::{cpus, spins};
use crate::primitive::{Woken, now_ns, pause, sleep_ns, yield_cpu};

/// A glance: a look each pause, a microsecond or two at 20 ns a pause and some more where the word's line has to come from another CPU each time.
/// A lock that goes round more than once a look cannot be handed over and is left alone soon; one that goes round less often
/// comes free often enough for one who looks so often.
const GLANCE: Patience = Patience { pauses: if cfg!(loom) { 1 } else { 64 }, turns: 64, widest_gap: 1 };

/// More turns than this between two looks are shorter than a hand-over between CPUs.
const FAST: u32 = 2;

/// Pauses between two looks of a spinner, at most: each look takes the word's cache line from its owner.
const SPIN_GAP: u32 = 4;

/// Pauses between two yields of a spinner, some 3 µs: where the owner is ready for this CPU, it gets it.
const YIELD_EVERY: u32 = if cfg!(loom) { 1 } else { 128 };

/// What a yield to nobody takes, in pauses: a system call of a third of a microsecond.
const YIELD: u32 = 16;

/// The first nap, and the longest: each is twice the one before. Linux makes 50 µs longer of each for ordinary threads
/// (`PR_SET_TIMERSLACK`, prctl(2)); the longest takes a tenth of [`HUNGER_NS`].
const FIRST_NAP_NS: u32 = 50_000;
const LONGEST_NAP_NS: u32 = 1_000_000;

/// After so long asleep the lock is given to one that waits. A gift costs the owners a wake-up, tens of microseconds: with several
/// sleepers in turn, a few percent.
const HUNGER_NS: u64 = if cfg!(loom) { 1 } else { 10_000_000 };

/// Of loom's machine; a spin there is a look.
#[cfg(loom)]
fn spins() -> u32 {
    16
}

/// How looking for a free lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// This thread has it.
    Taken,
    /// It was never free.
    Held,
    /// It came free and others were faster.
    Missed,
}

/// For how long to look.
#[derive(Clone, Copy)]
struct Patience {
    pauses: u32,
    /// How many turns of others may begin meanwhile.
    turns: u32,
    widest_gap: u32,
}

/// A thread that waits.
pub(super) struct Waiter<'a> {
    lock: &'a RawAdaptive,
    /// What of the word is its own: `AWAKE` while it spins or naps and once it has slept, `WAITER` once it has slept, `HUNGRY`.
    awake: bool,
    counted: bool,
    hungry: bool,
    /// Whether it was woken, and others took the lock while it was on its way.
    outrun: bool,
    /// When it first slept or napped.
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

    /// Returns when this thread has the lock.
    #[cold]
    pub(super) fn wait(mut self) {
        loop {
            match self.look_around() {
                Look::Taken => return,
                // Owners that take it again at once are not to be made to wake this thread each time.
                Look::Missed if !self.hungry && self.stays_awake() => self.nap(),
                Look::Missed | Look::Held => {
                    if self.sleep() == Look::Taken {
                        return;
                    }
                }
            }
        }
    }

    /// Looks without sleeping: where there is one CPU, not at all.
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

    /// Looks for as long as that is cheaper than sleeping, as far as experience goes.
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

    /// Looks until it has the lock or its patience is over; and how many pauses it made.
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

    /// Makes this thread the one that is awake, unless another is.
    fn stays_awake(&mut self) -> bool {
        // One that was woken is it already.
        if !self.awake {
            self.awake = self.lock.word.fetch_or(AWAKE, Relaxed) & AWAKE == 0;
        }
        if self.awake {
            self.lock.expect_look(0);
        }
        self.awake
    }

    /// Sleeps for a fixed time as the one that is awake: nobody need wake it, nor another.
    fn nap(&mut self) {
        let since = *self.since_ns.get_or_insert_with(now_ns);
        self.lock.expect_look(u64::from(self.next_nap_ns));
        sleep_ns(self.next_nap_ns);
        self.next_nap_ns = (self.next_nap_ns * 2).min(LONGEST_NAP_NS);
        self.hungry |= now_ns() - since >= HUNGER_NS;
    }

    /// Whether it is free, or was given to one that has slept, as this thread has.
    const fn may_take(&self, seen: u32) -> bool {
        seen & LOCKED == 0 || (seen & GIFT != 0 && self.counted)
    }

    /// Tries once to take the lock, which was seen free or given away, and its own marks off the word in the same step.
    fn take(&self, seen: u32) -> Look {
        let taken = self.without_marks(seen & !GIFT) | LOCKED;
        match self.lock.word.compare_exchange(seen, taken, Acquire, Relaxed) {
            Ok(_) => Look::Taken,
            Err(_) => Look::Missed,
        }
    }

    const fn without_marks(&self, mut word: u32) -> u32 {
        // One that has slept clears it even where it is another's: for whom the wake-up was cannot be told.
        if self.awake {
            word &= !AWAKE;
        }
        if self.hungry {
            word &= !HUNGRY;
        }
        if self.counted { word - WAITER } else { word }
    }

    /// Takes the lock where it is free or given, or sleeps until it is called.
    fn sleep(&mut self) -> Look {
        let calls = self.lock.calls.load(Relaxed);
        let seen = self.lock.word.load(Relaxed);
        if self.may_take(seen) {
            return self.take(seen);
        }
        let mut asleep = self.without_marks(seen) + WAITER;
        // Where a gift is on its way, the next unlock is its taker's: time enough.
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
        // Whoever calls a sleeper begins to count turns from there.
        self.outrun = self.lock.turn.load(Relaxed) != 0;
        Look::Held
    }
}
