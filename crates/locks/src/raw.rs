//! The traits of `lock_api` for each lock. The locks have these methods themselves, so that models
//! can call them too: these traits want a constant, and under loom a lock cannot be made as a
//! constant.

use lock_api::{GuardSend, RawMutex, RawRwLock};

use crate::{RawAdaptive, RawAdaptiveRw, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

macro_rules! raw_mutex {
    ($($lock:ty),*) => { $(
        impl Default for $lock {
            fn default() -> Self {
                Self::new()
            }
        }

        #[allow(unsafe_code)]
        // SAFETY: the lock excludes: its module contains the argument, and its model in `models`
        // checks it.
        unsafe impl RawMutex for $lock {
            #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants a constant to copy from")]
            const INIT: Self = Self::new();
            // No lock stores the thread that locked it.
            type GuardMarker = GuardSend;

            #[inline]
            fn lock(&self) {
                Self::lock(self);
            }

            #[inline]
            fn try_lock(&self) -> bool {
                Self::try_lock(self)
            }

            #[inline]
            unsafe fn unlock(&self) {
                Self::unlock(self);
            }

            #[inline]
            fn is_locked(&self) -> bool {
                Self::is_locked(self)
            }
        }
    )* };
}

raw_mutex!(RawAdaptive, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket);

impl Default for RawAdaptiveRw {
    fn default() -> Self {
        Self::new()
    }
}

#[allow(unsafe_code)]
// SAFETY: a writer excludes all others, and readers exclude writers. The argument is in
// `adaptive_rw`, the check in `models`.
unsafe impl RawRwLock for RawAdaptiveRw {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants a constant to copy from")]
    const INIT: Self = Self::new();
    type GuardMarker = GuardSend;

    #[inline]
    fn lock_shared(&self) {
        Self::lock_shared(self);
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        Self::try_lock_shared(self)
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        Self::unlock_shared(self);
    }

    #[inline]
    fn lock_exclusive(&self) {
        Self::lock_exclusive(self);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        Self::try_lock_exclusive(self)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        Self::unlock_exclusive(self);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        Self::is_locked(self)
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        Self::is_locked_exclusive(self)
    }
}
