//! `futex`: one word on which nobody waits. Every operation makes the kernel add one to it, under the lock of the hash
//! bucket that holds those who wait on it.

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
        // SAFETY: the first half of the first word, aligned for it. Nobody uses the whole.
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
            // Adds one, and wakes one of those who wait for the word, of whom there are none.
            let woken = wake_op(word, Flags::empty(), 1, 1, word, WakeOp::Add, WakeOpCmp::Lt, 1, 0);
            woken.map_err(|error| failed("futex", error))?;
        }
        Ok(Tally::default())
    }

    /// The kernel only counts them.
    fn expected(&self, operations: u64) -> Tally {
        Tally { count: operations, sum: 0 }
    }

    fn seen(&self, _: Tally) -> Result<Tally, WorkloadError> {
        Ok(Tally { count: u64::from(self.futex().load(Ordering::Relaxed)), sum: 0 })
    }
}
