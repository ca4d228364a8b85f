//! Waiting as C programs expect it of a lock: `errno` is left as it was, and a thread is not cancelled meanwhile.
//!
//! The locks' own sleeps see to both. The first wait of a process also asks for its CPUs, which may set `errno`; preparing starts and
//! joins threads, and `pthread_join(3)` is a cancellation point. It must not know any lock.

use libc::c_int;

/// `pthread.h` of glibc and musl.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

#[allow(unsafe_code)]
// SAFETY: declared as in POSIX.
unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Calls what may wait, and sets `errno` and whether this thread may be cancelled as they were. A thread that was cancelled while it measures
/// would leave others behind that use its stack.
#[cold]
pub(crate) fn undisturbed(wait: impl FnOnce()) {
    let mut state = 0;
    #[allow(unsafe_code)]
    // SAFETY: `state` is a local; the address of errno is valid as long as the thread, and no other thread's.
    let errno = unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut state);
        *libc::__errno_location()
    };
    wait();
    #[allow(unsafe_code)]
    // SAFETY: as above; `state` is what the call before gave.
    unsafe {
        *libc::__errno_location() = errno;
        pthread_setcancelstate(state, &raw mut state);
    }
}
