//! The locks with data: instances of `lock_api`'s types.

use core::num::NonZeroUsize;

use lock_api::{GetThreadId, Mutex, MutexGuard, ReentrantMutex, RwLock};

use crate::{RawAdaptive, RawAdaptiveRw, RawBlock, RawMcs, RawSleep, RawSpin, RawSpinBackoff, RawTicket};

/// Data under [`RawSpin`].
pub type SpinMutex<T> = Mutex<RawSpin, T>;
/// Data under [`RawSpinBackoff`].
pub type SpinBackoffMutex<T> = Mutex<RawSpinBackoff, T>;
/// Data under [`RawSleep`].
pub type SleepMutex<T> = Mutex<RawSleep, T>;
/// Data under [`RawBlock`].
pub type BlockMutex<T> = Mutex<RawBlock, T>;
/// Data under [`RawAdaptive`]: the default choice.
pub type AdaptiveMutex<T> = Mutex<RawAdaptive, T>;
/// Guard that [`AdaptiveMutex::lock`](Mutex::lock) returns.
pub type AdaptiveMutexGuard<'a, T> = MutexGuard<'a, RawAdaptive, T>;
/// Data under [`RawTicket`].
pub type TicketMutex<T> = Mutex<RawTicket, T>;
/// Data under [`RawMcs`].
pub type McsMutex<T> = Mutex<RawMcs, T>;
/// Data under [`RawAdaptiveRw`]: many readers or one writer.
pub type AdaptiveRwLock<T> = RwLock<RawAdaptiveRw, T>;
/// Data under [`RawAdaptive`], with nested ownership: the owner may lock again, and the lock is
/// free after an equal number of unlocks.
pub type ReentrantAdaptiveMutex<T> = ReentrantMutex<RawAdaptive, ThreadId, T>;

/// Identification of threads by `pthread_self(3)`, which reads one register and is unique among the
/// living threads.
#[derive(Clone, Copy, Debug)]
pub struct ThreadId;

#[allow(unsafe_code)]
// SAFETY: the address of a living thread's descriptor is never zero and never that of another
// living thread. The address of an ended thread may return, but that thread owns nothing: a guard
// of a reentrant mutex cannot leave its thread.
unsafe impl GetThreadId for ThreadId {
    const INIT: Self = Self;

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        #[allow(unsafe_code)]
        // SAFETY: the function has no precondition.
        let id = unsafe { libc::pthread_self() } as usize;
        NonZeroUsize::new(id).unwrap_or(NonZeroUsize::MIN)
    }
}
