//! loom's machine: its atomics, and a futex made of its mutex and condition variable.
//!
//! A sleep never ends by itself here: nothing may rest on a time-out. A model chooses whether what wakes a sleeper that has a limit
//! is taken for its time-out, as it is at first.

use std::cell::Cell;
use std::ops::Deref;

use loom::sync::atomic::Ordering::SeqCst;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use loom::sync::{Condvar, Mutex};

use super::Woken;

/// A thread that has looked in vain so often teaches nothing new by looking once more: how all go on from there is followed in one order
/// of steps only. Without this two spinners beside an owner that stands still would be followed for ever.
const MOST_LOOKS: u32 = 10;

loom::thread_local! {
    static LOOKS: Cell<u32> = Cell::new(0);
    static CLOCK: Cell<u64> = Cell::new(0);
}

std::thread_local! {
    /// A model's own, all threads of which are one of the system's.
    static TIMES_OUT: Cell<bool> = const { Cell::new(true) };
}

/// Whether in this model time passes at each look at the clock, and a sleep that has a limit ends as if by that.
#[cfg(test)]
pub(crate) fn set_times_out(times_out: bool) {
    TIMES_OUT.set(times_out);
}

/// Another thread may go on.
pub(crate) fn yield_cpu() {
    let looks = LOOKS.with(|looks| looks.replace(looks.get() + 1));
    if looks >= MOST_LOOKS {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// A pause within a bounded spin.
pub(crate) fn pause() {
    yield_cpu();
}

/// A pause in a spin without a bound.
pub(crate) fn relax() {
    yield_cpu();
}

/// Sleeping is letting others go on.
pub(crate) fn sleep_ns(_: u32) {
    yield_cpu();
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

/// Time stands still, or passes by a nanosecond a look.
pub(crate) fn now_ns() -> u64 {
    CLOCK.with(|clock| clock.replace(clock.get() + u64::from(TIMES_OUT.get())))
}
