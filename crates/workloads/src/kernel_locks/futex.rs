//! `futex`: one word without waiters. Every operation makes the kernel add one to the word, under
//! the lock of the word's hash bucket of waiters.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{Flags, WakeOp, WakeOpCmp, wake_op};

use super::{Object, Tally, failed};
use crate::WorkloadError;
use crate::shared::Shared;

/// A word in memory that threads and processes share.
pub(super) struct Word {
    words: Shared,
}

impl Word {
    pub(super) fn new(words: Shared) -> Self {
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

impl Object for Word {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let word = self.futex();
        for _ in operations {
            // The call adds one and wakes one waiter of the word, but there are none.
            let woken = wake_op(word, Flags::empty(), 1, 1, word, WakeOp::Add, WakeOpCmp::Lt, 1, 0);
            woken.map_err(|error| failed("futex", error))?;
        }
        Ok(Tally::default())
    }

    /// The kernel only counts the operations.
    fn expected(&self, operations: u64) -> Tally {
        Tally { count: operations, sum: 0 }
    }

    fn seen(&self, _: Tally) -> Result<Tally, WorkloadError> {
        Ok(Tally { count: u64::from(self.futex().load(Ordering::Relaxed)), sum: 0 })
    }
}
