//! `morecores_rwlock_t`: many readers, or one writer. What the caller promises is said in `mutex`.
#![allow(
    unsafe_code,
    reason = "SAFETY: the names are exported unmangled; all begin with morecores_, as no other library's do"
)]

use std::mem::MaybeUninit;

use libc::c_int;
use lock_api::RawRwLock;
use morecores_locks::RawAdaptiveRw;

use crate::tried;

/// Makes a free lock.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_init(lock: &mut MaybeUninit<RawAdaptiveRw>) {
    lock.write(RawAdaptiveRw::new());
}

/// Waits until this thread may read.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_rdlock(lock: &RawAdaptiveRw) {
    lock.lock_shared();
}

/// Reads where no writer is there or waits: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_tryrdlock(lock: &RawAdaptiveRw) -> c_int {
    tried(lock.try_lock_shared())
}

/// Ends reading.
///
/// # Safety
/// The caller reads.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_rwlock_rdunlock(lock: &RawAdaptiveRw) {
    // SAFETY: the caller reads.
    unsafe { RawRwLock::unlock_shared(lock) }
}

/// Waits until this thread alone may read and write.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_wrlock(lock: &RawAdaptiveRw) {
    lock.lock_exclusive();
}

/// Writes where nobody is there: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_trywrlock(lock: &RawAdaptiveRw) -> c_int {
    tried(lock.try_lock_exclusive())
}

/// Ends writing.
///
/// # Safety
/// The caller writes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_rwlock_wrunlock(lock: &RawAdaptiveRw) {
    // SAFETY: the caller writes.
    unsafe { RawRwLock::unlock_exclusive(lock) }
}

/// Whether anybody reads or writes.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_rwlock_is_locked(lock: &RawAdaptiveRw) -> bool {
    lock.is_locked()
}
