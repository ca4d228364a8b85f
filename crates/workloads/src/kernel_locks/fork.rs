//! `fork`: processes that are made, leave their number and end. The list of all processes has one
//! lock, and the copied address space has another.

use std::ops::Range;
use std::sync::atomic::Ordering;

use rustix::process::{WaitOptions, waitpid};

use super::tally::scatter;
use super::{SharedObject, Tally, call_error};
use crate::shared::SharedWords;
use crate::{WorkloadError, processes};

/// Words of shared memory: a count and a sum.
pub(super) const WORDS: usize = 2;

/// Traces of the child processes.
pub(super) struct Children {
    traces: SharedWords,
}

impl Children {
    pub(super) fn new(traces: SharedWords) -> Self {
        Self { traces }
    }
}

impl SharedObject for Children {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let wanted = operations.end as usize;
        for number in operations {
            let record = || {
                self.traces[0].fetch_add(1, Ordering::Relaxed);
                self.traces[1].fetch_add(scatter(number), Ordering::Relaxed);
            };
            let child = processes::fork(record).map_err(|source| WorkloadError::Process {
                number: number as usize + 1,
                wanted,
                source,
            })?;
            waitpid(Some(child), WaitOptions::empty()).map_err(|error| call_error("wait4", error))?;
        }
        Ok(Tally::default())
    }

    fn observed_tally(&self, _: Tally) -> Result<Tally, WorkloadError> {
        let word = |index: usize| self.traces[index].load(Ordering::Relaxed);
        Ok(Tally { count: word(0), sum: word(1) })
    }
}
