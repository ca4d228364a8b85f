//! The adaptive locks of [`morecores_locks`] for C and C++: `include/morecores_locks.h` declares what is here and says what it promises.
//!
//! It must not have an algorithm of its own: each function is one call. Nothing of a lock is inlined into C programs, so that how a
//! lock works may change without building them again; what they hold of it is its size and the bytes of a free one.
//!
//! Nothing in these functions can panic; only a build with overflow checks has panics at all, and one that starts in a C program aborts it,
//! since nobody there catches it. They are `C-unwind` all the same: as `C`, each would carry the code that turns a panic into
//! an abort, and with it all of `std` would come into a program that is linked with the static library, 6 MB for some 10 kB of locks.

mod mutex;
mod rwlock;

pub use mutex::*;
pub use rwlock::*;

/// What C gets from a try: 0, or `EBUSY`, as from `pthread_mutex_trylock(3)`.
fn tried(has_it: bool) -> libc::c_int {
    if has_it { 0 } else { libc::EBUSY }
}
