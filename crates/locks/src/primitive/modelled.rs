//! loom's machine: its atomics, and a futex made of its mutex and condition variable.
//!
//! A sleep never ends by itself here: no lock may rely on a time-out. A model chooses whether the
//! wake-up of a sleeper with a time limit counts as its time-out, which is the default.

use std::cell::Cell;
use std::ops::Deref;

use loom::sync::atomic::Ordering::SeqCst;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use loom::sync::{Condvar, Mutex};

use super::WaitResult;

/// Number of vain looks after which a thread learns nothing new from another look. The model then
/// follows only one order of the further steps. Without this limit, two spinners next to a stalled
/// owner would be followed for ever.
const MAX_LOOKS: u32 = 10;

loom::thread_local! {
    static LOOKS: Cell<u32> = Cell::new(0);
    static CLOCK: Cell<u64> = Cell::new(0);
}

std::thread_local! {
    /// Flag of one model, all threads of which run on one system thread.
    static TIMES_OUT: Cell<bool> = const { Cell::new(true) };
}

/// Sets whether time passes at each look at the clock in this model, and a sleep with a time limit
/// ends as if by that limit.
#[cfg(test)]
pub(crate) fn set_times_out(times_out: bool) {
    TIMES_OUT.set(times_out);
}

/// Lets another thread run.
pub(crate) fn yield_cpu() {
    let looks = LOOKS.with(|looks| looks.replace(looks.get() + 1));
    if looks >= MAX_LOOKS {
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

/// Lets other threads run instead of sleeping.
pub(crate) fn sleep_ns(_: u32) {
    yield_cpu();
}

/// An atomic word on which threads can sleep.
#[derive(Debug)]
pub(crate) struct FutexWord {
    word: AtomicU32,
    /// The kernel's queue; its lock makes comparing and queueing one step.
    queue: Mutex<()>,
    sleepers: Condvar,
}

impl Deref for FutexWord {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.word
    }
}

impl FutexWord {
    pub(crate) fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value), queue: Mutex::new(()), sleepers: Condvar::new() }
    }

    pub(crate) fn sleep_while(&self, expected: u32, timeout_ns: Option<u64>) -> WaitResult {
        let queue = self.queue.lock().expect("nobody panics with it");
        if self.word.load(SeqCst) == expected {
            drop(self.sleepers.wait(queue).expect("nobody panics with it"));
        }
        if timeout_ns.is_some() && TIMES_OUT.get() {
            WaitResult::TimedOut
        } else {
            WaitResult::MayHaveChanged
        }
    }

    #[allow(unsafe_code)]
    pub(crate) fn wake_one(word: *const Self) {
        // SAFETY: models keep their locks until all threads have ended.
        let word = unsafe { &*word };
        let _queue = word.queue.lock().expect("nobody panics with it");
        word.sleepers.notify_one();
    }
}

/// Time that stands still, or advances by a nanosecond per look.
pub(crate) fn now_ns() -> u64 {
    CLOCK.with(|clock| clock.replace(clock.get() + u64::from(TIMES_OUT.get())))
}
