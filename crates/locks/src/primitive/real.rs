//! The real machine: atomics of the CPU, the futex of Linux.

use core::ops::Deref;
use core::ptr;

pub(crate) use core::hint::spin_loop as pause;
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use super::Woken;

/// Pauses before a spinner that has no bound looks again: none here.
pub(crate) fn relax() {
    pause();
}

/// An atomic word that threads can sleep on.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU32);

impl Deref for Word {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Word {
    pub(crate) const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    /// Sleeps while the word is `expected`, until woken, for at most `at_most_ns`. The kernel compares and queues in one step as
    /// far as wakers are concerned, futex(2): who changes the word and then wakes finds every sleeper that saw the old value.
    pub(crate) fn sleep_while(&self, expected: u32, at_most_ns: Option<u64>) -> Woken {
        let time = at_most_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        #[allow(unsafe_code)]
        // SAFETY: the word lives as long as `self`, which this call borrows; `time` is null or points to a local that outlives
        // the call; the operation reads nothing else.
        let result = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                time,
            )
        };
        // Only a limit can time out, so errno need not be asked for elsewhere.
        if result != 0 && at_most_ns.is_some() && errno() == libc::ETIMEDOUT {
            Woken::TimedOut
        } else {
            Woken::Perhaps
        }
    }

    /// Wakes one thread that sleeps on the word. Takes the address alone: the word may be gone by now, where a thread
    /// that took the lock meanwhile has also freed it. The kernel then wakes nobody, or somebody who looks again.
    pub(crate) fn wake_one(word: *const Self) {
        #[allow(unsafe_code)]
        // SAFETY: the kernel uses the address as a key only; it reads no memory for a private futex's wake.
        unsafe {
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
        }
    }
}

fn errno() -> i32 {
    #[allow(unsafe_code)]
    // SAFETY: glibc's and musl's function has no precondition, and returns the address of this thread's errno, which is valid as
    // long as the thread.
    unsafe {
        *libc::__errno_location()
    }
}

/// The monotonic clock, in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[allow(unsafe_code)]
    // SAFETY: `time` is a local that the call fills in.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets another thread run on this CPU, where one is ready.
pub(crate) fn yield_cpu() {
    #[allow(unsafe_code)]
    // SAFETY: the function has no precondition.
    unsafe {
        libc::sched_yield();
    }
}

/// Sleeps for a time, or until a signal.
pub(crate) fn sleep_ns(ns: u32) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: libc::c_long::from(ns) };
    #[allow(unsafe_code)]
    // SAFETY: `time` is a local that is only read; the remaining time is not asked for.
    unsafe {
        libc::nanosleep(&raw const time, ptr::null_mut());
    }
}
