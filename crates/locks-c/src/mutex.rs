//! `morecores_lock_t`: one owner at a time.
//!
//! In all functions the caller guarantees that `lock` points to an initialised lock that no thread
//! frees during the call, which is the meaning of a reference. The memory of a `morecores_lock_t`
//! may disappear once the lock is free, before an unlock has returned. The reference is to atomics,
//! so the compiler does not assume that the memory is readable until the return.
#![allow(
    unsafe_code,
    reason = "SAFETY: the names are exported unmangled; all begin with morecores_, as no other library's do"
)]

use std::mem::MaybeUninit;

use libc::c_int;
use lock_api::RawMutex;
use morecores_locks::RawAdaptive;

use crate::try_status;
use crate::wait::wait_uncancelled;

/// Initialises a free lock.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_init(lock: &mut MaybeUninit<RawAdaptive>) {
    lock.write(RawAdaptive::new());
}

/// Waits until this thread owns the lock.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_lock(lock: &RawAdaptive) {
    if !lock.try_lock() {
        wait_uncancelled(|| lock.lock());
    }
}

/// Takes the lock if it is free: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_trylock(lock: &RawAdaptive) -> c_int {
    try_status(lock.try_lock())
}

/// Frees the lock.
///
/// # Safety
/// The caller owns the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_lock_unlock(lock: &RawAdaptive) {
    // SAFETY: the caller owns the lock.
    unsafe { RawMutex::unlock(lock) }
}

/// Whether the lock has an owner.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_is_locked(lock: &RawAdaptive) -> bool {
    lock.is_locked()
}

/// Measures the cost of a sleep and a wake-up, unless this process has already done so.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_prepare() {
    wait_uncancelled(morecores_locks::prepare);
}
