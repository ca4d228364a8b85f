//! Barrier of threads or processes, so that a measured time begins when all have arrived.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};

use crate::WorkloadError;
use crate::shared::SharedWords;

/// Barrier for a single use: it opens when the last participant has arrived. The wait is a sleep,
/// so that the waiting participants take no CPU from the arriving ones.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Number of participants that have arrived, in memory that processes share.
    arrived: SharedWords,
    expected: u64,
    /// Every participant but the last reads a byte.
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Barrier {
    /// A barrier for `expected` participants, made before the participants.
    pub(crate) fn new(expected: usize) -> Result<Self, WorkloadError> {
        let arrived = SharedWords::new(1, "--threads")?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| WorkloadError::Thread {
            number: 1,
            wanted: expected,
            source: error.into(),
        })?;
        Ok(Self { arrived, expected: expected as u64, reader, writer })
    }

    /// Waits for the other participants.
    pub(crate) fn wait(&self) {
        let arrivals = self.arrived.first().map_or(self.expected, |count: &AtomicU64| {
            // All that a participant did before the barrier happens before all that the others do
            // after it.
            count.fetch_add(1, Ordering::AcqRel) + 1
        });
        if arrivals == self.expected {
            let mut bytes = vec![0; self.expected.saturating_sub(1) as usize];
            while !bytes.is_empty() {
                let written = retry(|| rustix::io::write(&self.writer, &bytes));
                bytes.truncate(bytes.len() - written);
            }
        } else {
            retry(|| rustix::io::read(&self.reader, &mut [0]));
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
    use crate::team::{WorkerKind, run_workers};
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn no_thread_passes_before_all_have_arrived() {
        for worker_kind in [WorkerKind::Threads, WorkerKind::Processes] {
            let barrier = Barrier::new(5).unwrap();
            let arrived = SharedWords::new(1, "").unwrap();
            let piece = || {
                arrived[0].fetch_add(1, SeqCst);
                barrier.wait();
                Ok([arrived[0].load(SeqCst)])
            };
            assert_eq!(run_workers(worker_kind, "barrier", vec![piece; 5]).unwrap(), [[5]; 5]);
        }
    }
}
