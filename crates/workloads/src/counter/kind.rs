//! The counters, and how each is incremented.
//!
//! The plain one loses updates and yet has no data race, which would make the program meaningless: its load and its
//! store are atomic, each by itself, which costs nothing on any machine. What it lacks is that the two are one.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::ValueEnum;

use crate::laboratory::lock::{Lock, Seat};

/// How a counter is incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Load, add, store: as if nobody else were there
    Plain,
    /// The same under a lock
    Locked,
    /// In one instruction that no other CPU can come into
    Atomic,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Locked => "locked",
            Self::Atomic => "atomic",
        }
    }

    /// Names of its figures: what survived, and how fast.
    pub(super) const fn figures(self) -> [&'static str; 2] {
        match self {
            Self::Plain => ["plain survived", "plain rate"],
            Self::Locked => ["locked survived", "locked rate"],
            Self::Atomic => ["atomic survived", "atomic rate"],
        }
    }
}

/// A counter that can be incremented in each way, under the lock `L` where that is one. Nothing else lies in its cache line,
/// nor in the one that CPUs fetch along with it.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Counter<L> {
    /// Plain and atomic.
    word: AtomicU64,
    locked: Box<Seat<L>>,
}

impl<L: Lock> Counter<L> {
    /// From zero.
    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(0), locked: Seat::new() }
    }

    /// Adds one, so many times; how many.
    pub(super) fn increment(&self, kind: Kind, times: u64) -> u64 {
        // The compiler could otherwise make one addition of several: that is allowed even for atomics.
        let counter = || black_box(self);
        match kind {
            Kind::Plain => repeat(times, || {
                let word = &counter().word;
                word.store(word.load(Relaxed) + 1, Relaxed);
            }),
            Kind::Locked => {
                let locked = &*self.locked;
                repeat(times, || black_box(locked).with(|number| *number += 1))
            }
            Kind::Atomic => repeat(times, || {
                counter().word.fetch_add(1, Relaxed);
            }),
        }
    }

    /// What it holds.
    pub(super) fn value(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Plain | Kind::Atomic => self.word.load(Relaxed),
            Kind::Locked => self.locked.with(|number| *number),
        }
    }
}

fn repeat(times: u64, mut increment: impl FnMut()) -> u64 {
    let mut made = 0;
    while made < times {
        increment();
        made += 1;
    }
    made
}
