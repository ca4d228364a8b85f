//! Waiting as C programs expect it of a lock: `errno` is preserved, and the thread is not cancelled
//! during the wait.
//!
//! The locks' own sleeps ensure both. The first wait of a process also determines its CPUs, which
//! may set `errno`. Preparing starts and joins threads, and `pthread_join(3)` is a cancellation
//! point. The module must not know any lock.

use libc::c_int;

/// Value from `pthread.h` of glibc and musl.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

#[allow(unsafe_code)]
// SAFETY: declared as in POSIX.
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Calls `wait`, which may wait, and restores `errno` and the thread's cancellation state. A thread
/// cancelled while it measures would leave threads behind that use its stack.
#[cold]
pub(crate) fn wait_uncancelled(wait: impl FnOnce()) {
    let mut state = 0;
    #[allow(unsafe_code)]
    // SAFETY: `state` is a local. The address of errno is valid as long as the thread, and belongs
    // to this thread alone.
    let errno = unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state);
        *libc::__errno_location()
    };
    wait();
    #[allow(unsafe_code)]
    // SAFETY: the address of errno is valid as above; `state` is the value from the previous call.
    unsafe {
        *libc::__errno_location() = errno;
        pthread_setcancelstate(state, &raw mut state);
    }
}
