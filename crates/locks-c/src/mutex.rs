//! `morecores_lock_t`: one owner at a time.
//!
//! In all functions the caller promises that `lock` points to one that was initialised and that nobody frees meanwhile, which is what a
//! reference means. The memory of a `morecores_lock_t` may go once it is free, before an unlock has returned: the reference is to atomics, so
//! the compiler does not take it to be readable until then.
#![allow(
    unsafe_code,
    reason = "SAFETY: the names are exported unmangled; all begin with morecores_, as no other library's do"
)]

use std::mem::MaybeUninit;

use libc::c_int;
use lock_api::RawMutex;
use morecores_locks::RawAdaptive;

use crate::tried;
use crate::wait::undisturbed;

/// Makes a free lock.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_init(lock: &mut MaybeUninit<RawAdaptive>) {
    lock.write(RawAdaptive::new());
}

/// Waits until this thread has it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_lock(lock: &RawAdaptive) {
    if !lock.try_lock() {
        undisturbed(|| lock.lock());
    }
}

/// Takes it where it is free: 0, or `EBUSY`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_trylock(lock: &RawAdaptive) -> c_int {
    tried(lock.try_lock())
}

/// Frees it.
///
/// # Safety
/// The caller has it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn morecores_lock_unlock(lock: &RawAdaptive) {
    // SAFETY: the caller has it.
    unsafe { RawMutex::unlock(lock) }
}

/// Whether anybody has it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_is_locked(lock: &RawAdaptive) -> bool {
    lock.is_locked()
}

/// Measures the price of a sleep and a wake-up, unless this process has done so.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn morecores_lock_prepare() {
    undisturbed(morecores_locks::prepare);
}
