//! `fork`: processes that are made, leave their number and end. The list of all processes has one
//! lock, and the copied address space has another.

use std::ops::Range;
use std::sync::atomic::Ordering;

use rustix::process::{WaitOptions, waitpid};

use super::tally::scattered;
use super::{Object, Tally, failed};
use crate::shared::Shared;
use crate::{WorkloadError, processes};

/// Words of shared memory: a count and a sum.
pub(super) const WORDS: usize = 2;

/// Traces of the child processes.
pub(super) struct Children {
    traces: Shared,
}

impl Children {
    pub(super) fn new(traces: Shared) -> Self {
        Self { traces }
    }
}

impl Object for Children {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let wanted = operations.end as usize;
        for number in operations {
            let leave = || {
                self.traces[0].fetch_add(1, Ordering::Relaxed);
                self.traces[1].fetch_add(scattered(number), Ordering::Relaxed);
            };
            let child = processes::fork(leave).map_err(|source| WorkloadError::Process {
                number: number as usize + 1,
                wanted,
                source,
            })?;
            waitpid(Some(child), WaitOptions::empty()).map_err(|error| failed("wait4", error))?;
        }
        Ok(Tally::default())
    }

    fn seen(&self, _: Tally) -> Result<Tally, WorkloadError> {
        let word = |index: usize| self.traces[index].load(Ordering::Relaxed);
        Ok(Tally { count: word(0), sum: word(1) })
    }
}
