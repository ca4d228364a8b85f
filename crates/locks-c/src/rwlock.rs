//! `morecores_rwlock_t`: many readers, or one writer. The caller's guarantees are those in `mutex`.
#![allow(
    unsafe_code,
    reason = "SAFETY: the names are exported unmangled; all begin with morecores_, as no other library's do"
)]

use std::mem::MaybeUninit;

use libc::c_int;
use lock_api::RawRwLock;
use morecores_locks::RawAdaptiveRw;

use crate::try_status;
use crate::wait::wait_uncancelled;

/// Initialises a free lock.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_init(lock: &mut MaybeUninit<RawAdaptiveRw>) {
    lock.write(RawAdaptiveRw::new());
}

/// Waits until this thread may read.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_rdlock(lock: &RawAdaptiveRw) {
    if !lock.try_lock_shared() {
        wait_uncancelled(|| lock.lock_shared());
    }
}

/// Acquires the lock for reading if no writer is present or waits: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_tryrdlock(lock: &RawAdaptiveRw) -> c_int {
    try_status(lock.try_lock_shared())
}

/// Ends reading.
///
/// # Safety
/// The caller holds the lock for reading.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_rwlock_rdunlock(lock: &RawAdaptiveRw) {
    // SAFETY: the caller holds the lock for reading.
    unsafe { RawRwLock::unlock_shared(lock) }
}

/// Waits until this thread may read and write exclusively.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_wrlock(lock: &RawAdaptiveRw) {
    if !lock.try_lock_exclusive() {
        wait_uncancelled(|| lock.lock_exclusive());
    }
}

/// Acquires the lock for writing if it has no readers and no writer: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_trywrlock(lock: &RawAdaptiveRw) -> c_int {
    try_status(lock.try_lock_exclusive())
}

/// Ends writing.
///
/// # Safety
/// The caller holds the lock for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_rwlock_wrunlock(lock: &RawAdaptiveRw) {
    // SAFETY: the caller holds the lock for writing.
    unsafe { RawRwLock::unlock_exclusive(lock) }
}

/// Whether the lock has a reader or a writer.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_is_locked(lock: &RawAdaptiveRw) -> bool {
    lock.is_locked()
}
