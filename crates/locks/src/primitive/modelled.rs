//! loom's machine: its atomics, and a futex made of its mutex and condition variable.
//!
//! A sleep never times out by itself here: what a lock does after a time-out, it does in a model after any wake-up.

use std::ops::Deref;

use loom::sync::atomic::Ordering::SeqCst;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use loom::sync::{Condvar, Mutex};

use super::Woken;

/// A pause within a bounded spin: another thread may go on.
pub(crate) fn pause() {
    loom::thread::yield_now();
}

/// A pause in a spin without a bound: another thread must go on.
pub(crate) fn relax() {
    loom::thread::yield_now();
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
        if at_most_ns.is_some() { Woken::TimedOut } else { Woken::Perhaps }
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

/// Another thread may go on.
pub(crate) fn yield_cpu() {
    loom::thread::yield_now();
}

/// Sleeping is letting others go on.
pub(crate) fn sleep_ns(_: u32) {
    loom::thread::yield_now();
}
