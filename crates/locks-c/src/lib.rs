//! The adaptive lock and its reader-writer form for C programs: what `include/morecores_locks.h` declares.
//!
//! Each function is a call of the lock's own; there is no algorithm here, and must be none. The header documents them.

use core::mem::{align_of, size_of};

use lock_api::{RawMutex, RawRwLock};
use morecores_locks::{RawAdaptive, RawAdaptiveRw, cost};

// As in the header, which asserts the same of its own types.
const _: () = assert!(size_of::<RawAdaptive>() == 20 && align_of::<RawAdaptive>() == 4);
const _: () = assert!(size_of::<RawAdaptiveRw>() == 24 && align_of::<RawAdaptiveRw>() == 4);

/// `EBUSY` of Linux on all architectures (`asm-generic/errno-base.h`).
const BUSY: i32 = 16;

/// 0, or `EBUSY`, as the functions of pthreads return it.
const fn unless_busy(taken: bool) -> i32 {
    if taken { 0 } else { BUSY }
}

macro_rules! functions {
    ($lock:ty: $($name:ident $call:expr => $ret:ty;)*) => { $(
        /// Documented in the header.
        ///
        /// # Safety
        /// The pointer is that of a lock that was initialised and is not freed meanwhile; an unlock is by who has the lock.
        #[allow(unsafe_code)]
        // SAFETY: the name begins with the library's and is no other's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: *const $lock) -> $ret {
            // SAFETY: as this function asks for.
            let lock = unsafe { &*lock };
            let call: fn(&$lock) -> $ret = $call;
            call(lock)
        }
    )* };
}

functions! {
    RawAdaptive:
    morecores_mutex_lock RawMutex::lock => ();
    morecores_mutex_trylock |lock| unless_busy(RawMutex::try_lock(lock)) => i32;
    // SAFETY: the caller has it.
    morecores_mutex_unlock |lock| unsafe { RawMutex::unlock(lock) } => ();
    morecores_mutex_is_locked |lock| i32::from(RawMutex::is_locked(lock)) => i32;
}

functions! {
    RawAdaptiveRw:
    morecores_rwlock_rdlock RawRwLock::lock_shared => ();
    morecores_rwlock_tryrdlock |lock| unless_busy(RawRwLock::try_lock_shared(lock)) => i32;
    // SAFETY: the caller has it to read.
    morecores_rwlock_rdunlock |lock| unsafe { RawRwLock::unlock_shared(lock) } => ();
    morecores_rwlock_wrlock RawRwLock::lock_exclusive => ();
    morecores_rwlock_trywrlock |lock| unless_busy(RawRwLock::try_lock_exclusive(lock)) => i32;
    // SAFETY: the caller has it to write.
    morecores_rwlock_wrunlock |lock| unsafe { RawRwLock::unlock_exclusive(lock) } => ();
}

/// Documented in the header.
///
/// # Safety
/// The pointer is that of memory for a lock that nobody uses.
#[allow(unsafe_code)]
// SAFETY: the name begins with the library's and is no other's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn morecores_mutex_init(lock: *mut RawAdaptive) {
    // SAFETY: as this function asks for.
    unsafe { lock.write(RawAdaptive::new()) }
}

/// Documented in the header.
///
/// # Safety
/// The pointer is that of memory for a lock that nobody uses.
#[allow(unsafe_code)]
// SAFETY: the name begins with the library's and is no other's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn morecores_rwlock_init(lock: *mut RawAdaptiveRw) {
    // SAFETY: as this function asks for.
    unsafe { lock.write(RawAdaptiveRw::new()) }
}

/// Documented in the header.
#[allow(unsafe_code)]
// SAFETY: the name begins with the library's and is no other's.
#[unsafe(no_mangle)]
pub extern "C" fn morecores_locks_prepare() {
    cost::prepare();
}
