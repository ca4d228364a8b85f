//! The counters and their increments.
//!
//! The plain counter loses updates and still has no data race, which would be undefined behaviour.
//! Its load and its store are separately atomic, which costs nothing on any machine. The pair of
//! them is not atomic.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clap::ValueEnum;

use crate::lock::{Lock, PaddedLock};

/// Kind of increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CounterKind {
    /// Load, addition, store, without protection
    Plain,
    /// Load, addition, store, under a lock
    Locked,
    /// One instruction that no other CPU can interrupt
    Atomic,
}

impl CounterKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Locked => "locked",
            Self::Atomic => "atomic",
        }
    }

    /// Names of its two figures: the surviving increments and the rate.
    pub(super) const fn figures(self) -> [&'static str; 2] {
        match self {
            Self::Plain => ["plain survived", "plain rate"],
            Self::Locked => ["locked survived", "locked rate"],
            Self::Atomic => ["atomic survived", "atomic rate"],
        }
    }
}

/// A counter that supports each kind of increment, with `L` as the lock of the locked kind. The
/// counter's cache line contains nothing else, and neither does the line that CPUs prefetch with
/// it.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Counter<L> {
    /// Word of the plain and the atomic kind.
    word: AtomicU64,
    padded_lock: Box<PaddedLock<L>>,
}

impl<L: Lock> Counter<L> {
    /// A counter that starts from zero.
    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(0), padded_lock: PaddedLock::new() }
    }

    /// Adds one `times` times and returns the number of increments.
    pub(super) fn increment(&self, kind: CounterKind, times: u64) -> u64 {
        // Without this the compiler could merge several additions into one, which is allowed even
        // for atomics.
        let counter = || black_box(self);
        match kind {
            CounterKind::Plain => repeat(times, || {
                let word = &counter().word;
                word.store(word.load(Relaxed) + 1, Relaxed);
            }),
            CounterKind::Locked => {
                let padded_lock = &*self.padded_lock;
                repeat(times, || black_box(padded_lock).with(|number| *number += 1))
            }
            CounterKind::Atomic => repeat(times, || {
                counter().word.fetch_add(1, Relaxed);
            }),
        }
    }

    /// Value of the counter.
    pub(super) fn value(&self, kind: CounterKind) -> u64 {
        match kind {
            CounterKind::Plain | CounterKind::Atomic => self.word.load(Relaxed),
            CounterKind::Locked => self.padded_lock.with(|number| *number),
        }
    }
}

fn repeat(times: u64, mut increment: impl FnMut()) -> u64 {
    let mut increments_made = 0;
    while increments_made < times {
        increment();
        increments_made += 1;
    }
    increments_made
}
