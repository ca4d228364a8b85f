//! The real machine: the CPU's atomics and Linux's futex.

use core::ops::Deref;
use core::ptr;

pub(crate) use core::hint::spin_loop as pause;
pub(crate) use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

use super::WaitResult;

/// Pause of an unbounded spinner between two looks: a single pause here.
pub(crate) fn relax() {
    pause();
}

/// An atomic word on which threads can sleep.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct FutexWord(AtomicU32);

impl Deref for FutexWord {
    type Target = AtomicU32;
    fn deref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl FutexWord {
    pub(crate) const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    /// Sleeps while the word is `expected`, until woken, for at most `timeout_ns`. For wakers the
    /// kernel compares and queues in one step, futex(2): a thread that changes the word and then
    /// wakes finds every sleeper that saw the old value. `errno` is preserved, which C programs
    /// expect of a lock.
    pub(crate) fn sleep_while(&self, expected: u32, timeout_ns: Option<u64>) -> WaitResult {
        let time = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        let errno_before = errno();
        #[allow(unsafe_code)]
        // SAFETY: the word lives as long as `self`, which this call borrows. `time` is null or
        // points to a local that outlives the call. The operation reads nothing else.
        let result = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                time,
            )
        };
        if result == 0 {
            return WaitResult::MayHaveChanged;
        }
        let timed_out = errno() == libc::ETIMEDOUT;
        set_errno(errno_before);
        if timed_out { WaitResult::TimedOut } else { WaitResult::MayHaveChanged }
    }

    /// Wakes one thread that sleeps on the word. The argument is only an address: the word may
    /// already be gone, if a thread that took the lock in between has also freed it. The kernel
    /// then wakes no thread, or a thread that looks again.
    pub(crate) fn wake_one(word: *const Self) {
        #[allow(unsafe_code)]
        // SAFETY: the kernel uses the address only as a key; it reads no memory for the wake of a
        // private futex.
        unsafe {
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
        }
    }
}

fn errno() -> i32 {
    #[allow(unsafe_code)]
    // SAFETY: the function of glibc and musl has no precondition. It returns the address of this
    // thread's errno, which is valid as long as the thread.
    unsafe {
        *libc::__errno_location()
    }
}

fn set_errno(errno: i32) {
    #[allow(unsafe_code)]
    // SAFETY: the function has no precondition, and no other thread uses this thread's errno.
    unsafe {
        *libc::__errno_location() = errno;
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

/// Lets another thread run on this CPU, if one is ready.
pub(crate) fn yield_cpu() {
    #[allow(unsafe_code)]
    // SAFETY: the function has no precondition.
    unsafe {
        libc::sched_yield();
    }
}

/// Sleeps for a time, or until a signal. Preserves `errno`, and is no cancellation point, unlike
/// the C library's call.
pub(crate) fn sleep_ns(ns: u32) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: libc::c_long::from(ns) };
    let errno_before = errno();
    #[allow(unsafe_code)]
    // SAFETY: `time` is a local that is only read, and the call does not request the remaining
    // time.
    let result =
        unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, ptr::null_mut::<libc::timespec>()) };
    if result != 0 {
        set_errno(errno_before);
    }
}
