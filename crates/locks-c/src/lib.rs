//! The adaptive locks of [`morecores_locks`] for C and C++: `include/morecores_locks.h` declares what is here and says what it promises.
//!
//! It must not have an algorithm of its own: each function is one call. Nothing of a lock is inlined into C programs, so that how a
//! lock works may change without building them again; what they hold of it is its size and the bytes of a free one.
//!
//! None of the functions panics. Were one to, the process would be aborted: no panic gets into C.

mod mutex;
mod rwlock;

pub use mutex::*;
pub use rwlock::*;

/// What C gets from a try: 0, or `EBUSY`, as from `pthread_mutex_trylock(3)`.
fn tried(has_it: bool) -> libc::c_int {
    if has_it { 0 } else { libc::EBUSY }
}
