//! The adaptive locks of [`morecores_locks`] for C and C++. `include/morecores_locks.h` declares
//! these functions and documents their guarantees.
//!
//! The crate must not have an algorithm of its own: each function is one call. No part of a lock is
//! inlined into C programs, so that its implementation may change without rebuilding them. The
//! programs contain only the size of a lock and the bytes of a free one.
//!
//! Nothing in these functions can panic. Only a build with overflow checks has panics, and a panic
//! aborts a C program, since no C code catches it. The functions are `C-unwind` all the same. As
//! `C`, each would carry the code that turns a panic into an abort, which brings all of `std` into
//! a statically linked program: 6 MB for some 10 kB of locks.

mod mutex;
mod rwlock;
mod wait;

pub use mutex::*;
pub use rwlock::*;

/// Return value of a try in C: 0, or `EBUSY`, as from `pthread_mutex_trylock(3)`.
fn try_status(is_acquired: bool) -> libc::c_int {
    if is_acquired { 0 } else { libc::EBUSY }
}
