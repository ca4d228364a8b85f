//! `futex`: one word without waiters. Every operation makes the kernel add one to the word, under
//! the lock of the word's hash bucket of waiters.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{Flags, WakeOp, WakeOpCmp, wake_op};

use super::{SharedObject, Tally, call_error};
use crate::WorkloadError;
use crate::shared::SharedWords;

/// A word in memory that threads and processes share.
pub(super) struct FutexCounter {
    words: SharedWords,
}

impl FutexCounter {
    pub(super) fn new(words: SharedWords) -> Self {
        Self { words }
    }

    fn futex(&self) -> &AtomicU32 {
        // SAFETY: the pointer is to the first half of the first word, aligned for a 32-bit atomic.
        // No other code uses the whole word.
        #[allow(unsafe_code)]
        unsafe {
            &*self.words.as_ptr().cast::<AtomicU32>()
        }
    }
}

impl SharedObject for FutexCounter {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let word = self.futex();
        for _ in operations {
            // The call adds one and wakes one waiter of the word, but there are none.
            let wake_result = wake_op(word, Flags::empty(), 1, 1, word, WakeOp::Add, WakeOpCmp::Lt, 1, 0);
            wake_result.map_err(|error| call_error("futex", error))?;
        }
        Ok(Tally::default())
    }

    /// The kernel only counts the operations.
    fn expected_tally(&self, operations: u64) -> Tally {
        Tally { count: operations, sum: 0 }
    }

    fn observed_tally(&self, _: Tally) -> Result<Tally, WorkloadError> {
        Ok(Tally { count: u64::from(self.futex().load(Ordering::Relaxed)), sum: 0 })
    }
}
