//! loom's machine: its atomics, and a futex made of its mutex and condition variable.
//!
//! A sleep never ends by itself here: nothing may rest on a time-out. A model chooses whether what wakes a sleeper that has a limit
//! is taken for its time-out.

use std::cell::Cell;
use std::ops::Deref;

use loom::sync::atomic::Ordering::{self, SeqCst};
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32};
use loom::sync::{Condvar, Mutex};

use super::Woken;

/// A thread that has looked in vain so often teaches nothing new by looking once more: how it goes on from there is followed in one order
/// of steps only. Without this two spinners beside an owner that stands still would be followed for ever.
const MOST_LOOKS: u32 = 6;

// A model's own, all threads of which are one of the system's.
std::thread_local! {
    static CPUS: Cell<u32> = const { Cell::new(2) };
    static TIMES_OUT: Cell<bool> = const { Cell::new(false) };
}

/// CPUs of the modelled machine: a lock that would not spin on one does not.
pub(crate) fn cpus() -> u32 {
    CPUS.get()
}

/// Chooses the machine of this model: its CPUs, and whether a sleep that has a limit ends as if by that.
#[cfg(test)]
pub(crate) fn set_machine(cpus: u32, times_out: bool) {
    CPUS.set(cpus);
    TIMES_OUT.set(times_out);
}

loom::thread_local! {
    static LOOKS: Cell<u32> = Cell::new(0);
}

/// Lets another thread go on.
fn rest() {
    let looks = LOOKS.with(|looks| looks.replace(looks.get() + 1));
    if looks >= MOST_LOOKS {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// A pause within a bounded spin.
pub(crate) fn pause() {
    rest();
}

/// A pause in a spin without a bound.
pub(crate) fn relax() {
    rest();
}

/// Sleeping is letting others go on.
pub(crate) fn sleep_ns(_: u32) {
    rest();
}

/// loom's, but for `store`. loom lets a read-modify-write follow a value that a plain store has already replaced, where two threads write
/// without an order between them; no machine does, and a lock would stay taken for ever. So a store is a read-modify-write here.
#[derive(Debug)]
pub(crate) struct AtomicBool(loom::sync::atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn new(value: bool) -> Self {
        Self(loom::sync::atomic::AtomicBool::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> bool {
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: bool, order: Ordering) {
        self.0.swap(value, order);
    }

    pub(crate) fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(value, order)
    }
}

/// An atomic word that threads can sleep on.
#[derive(Debug)]
pub(crate) struct Word {
    word: AtomicU32,
    /// The kernel's queue: its lock makes comparing and queueing one step.
    queue: Mutex<()>,
    sleepers: Condvar,
}

impl Deref for Word {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

impl Word {
    pub(crate) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), queue: Mutex::new(()), sleepers: Condvar::new() }
    }

    pub(crate) fn sleep_while(&self, expected: u32, at_most_ns: Option<u64>) -> Woken {
        let queue = self.queue.lock().expect("nobody panics with it");
        if self.word.load(SeqCst) == expected {
            drop(self.sleepers.wait(queue).expect("nobody panics with it"));
        }
        if at_most_ns.is_some() && TIMES_OUT.get() { Woken::TimedOut } else { Woken::Perhaps }
    }

    #[allow(unsafe_code)]
    pub(crate) fn wake_one(word: *const Self) {
        // SAFETY: models keep their locks until all threads have ended.
        let word = unsafe { &*word };
        let _queue = word.queue.lock().expect("nobody panics with it");
        word.sleepers.notify_one();
    }
}

/// Time stands still: a model has no clock.
pub(crate) fn now_ns() -> u64 {
    0
}
