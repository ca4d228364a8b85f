//! A gate that threads and processes pass together, so that a measured time begins when all have
//! arrived.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::WorkloadError;
use crate::shared::Shared;

/// Barrier that opens when the last participant has arrived. The wait is a sleep, so that the
/// waiting participants take no CPU from the arriving ones.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Number of participants that have arrived, in memory that processes share.
    arrived: Shared,
    expected: u64,
    /// Every participant but the last reads a byte.
    reads: OwnedFd,
    writes: OwnedFd,
}

impl Gate {
    /// A gate for `expected` participants, made before the participants.
    pub(crate) fn new(expected: usize) -> Result<Self, WorkloadError> {
        let arrived = Shared::new(1, "--threads")?;
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| WorkloadError::Thread {
            number: 1,
            wanted: expected,
            source: error.into(),
        })?;
        Ok(Self { arrived, expected: expected as u64, reads, writes })
    }

    /// Waits for the other participants and then passes.
    pub(crate) fn pass(&self) {
        let come = self.arrived.first().map_or(self.expected, |count: &AtomicU64| {
            // All that a participant did before the gate happens before all that the others do
            // after it.
            count.fetch_add(1, Ordering::AcqRel) + 1
        });
        if come == self.expected {
            let mut left = vec![0; self.expected.saturating_sub(1) as usize];
            while !left.is_empty() {
                let written = retry(|| rustix::io::write(&self.writes, &left));
                left.truncate(left.len() - written);
            }
        } else {
            retry(|| rustix::io::read(&self.reads, &mut [0]));
        }
        // The fence pairs with the others' arrival.
        std::sync::atomic::fence(Ordering::Acquire);
    }
}

/// Repeats a call that a handled signal interrupted. The pipe cannot fail otherwise: this process
/// holds both its ends.
fn retry(mut call: impl FnMut() -> rustix::io::Result<usize>) -> usize {
    loop {
        match call().map_err(io::Error::from) {
            Ok(done) => return done,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::{By, run_by};
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn nobody_passes_before_all_are_there() {
        for by in [By::Threads, By::Processes] {
            let gate = Gate::new(5).unwrap();
            let there = Shared::new(1, "").unwrap();
            let piece = || {
                there[0].fetch_add(1, SeqCst);
                gate.pass();
                Ok([there[0].load(SeqCst)])
            };
            assert_eq!(run_by(by, "gate", vec![piece; 5]).unwrap(), [[5]; 5]);
        }
    }
}
