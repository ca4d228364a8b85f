//! A gate that threads and processes pass together: so that a measured time begins when all are there.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::WorkloadError;
use crate::shared::Shared;

/// Opens when the last of them has come. Waits asleep, so that those who wait take no CPU from those who come.
#[derive(Debug)]
pub(crate) struct Gate {
    /// How many have come, in memory that processes share.
    arrived: Shared,
    expected: u64,
    /// Everybody but the last reads a byte.
    reads: OwnedFd,
    writes: OwnedFd,
}

impl Gate {
    /// A gate for so many, made before they are.
    pub(crate) fn new(expected: usize) -> Result<Self, WorkloadError> {
        let arrived = Shared::new(1, "--threads")?;
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| WorkloadError::Thread {
            number: 1,
            wanted: expected,
            source: error.into(),
        })?;
        Ok(Self { arrived, expected: expected as u64, reads, writes })
    }

    /// Waits for the others, and passes.
    pub(crate) fn pass(&self) {
        let come = self.arrived.first().map_or(self.expected, |count: &AtomicU64| {
            // Whatever any of them did before happens before all that they do afterwards.
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
        // Pairs with the others' arrival.
        std::sync::atomic::fence(Ordering::Acquire);
    }
}

/// A signal that was handled is no reason to pass. The pipe cannot fail otherwise: both its ends are held here.
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
