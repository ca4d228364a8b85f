//! User and system ticks of a command's tree, for machines on which no cgroup supplies them. The
//! source is the record that the kernel sends for every task that exits (taskstats,
//! Documentation/accounting/taskstats.rst).
//!
//! The records are available if morecores has CAP_NET_ADMIN in the machine's initial user, PID and
//! network namespaces. They cover the whole machine; `tree` selects the command's records. The
//! records wait in the socket's buffer until the run is over, so that nothing wakes up during the
//! run. A run with a lost record has no figure from this source.
//!
//! A record is made when a task begins to exit (`do_exit` in kernel/exit.c). It does not include
//! the kernel's cost of releasing the task's memory.

mod message;
mod record;
mod socket;
mod tree;

use morecores_study::Nanos;

use socket::{Listener, RecordsLost};

pub use socket::{TaskstatsError, probe};

/// Capacity for waiting records, in bytes.
///
/// The kernel doubles the number, and counts a record as 1280 bytes with its book-keeping (2304 for
/// a process with several threads). A record is lost only after the exits of 200,000 processes or
/// 110,000 threads. Memory is used only while records wait.
const BUFFER_BYTES: usize = 128 << 20;

/// CPU time of a tree between two instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeTimes {
    /// Ticks that found a task of the tree in user mode. The ticks are raw: they are not scaled to
    /// `run`, unlike the values of `getrusage(2)` and `/proc` for a process.
    pub user: Nanos,
    /// Ticks that found a task of the tree in the kernel.
    pub system: Nanos,
    /// Time on a CPU as the scheduler counted it, up to the last tick or switch before each exit.
    /// Zero before Linux 5.14, unless delay accounting is on.
    pub run: Nanos,
    /// Number of tasks, that is threads, that exited.
    pub tasks: usize,
}

/// Receives the exit records of this machine.
#[derive(Debug)]
pub struct TaskstatsAccount {
    listener: Listener,
    incomplete_runs: u32,
}

impl TaskstatsAccount {
    /// Asks the kernel for the records. Until this account is dropped, every exit on this machine
    /// costs about a microsecond more.
    ///
    /// # Errors
    /// The privilege is missing, this process runs inside a container, or the kernel was built
    /// without taskstats.
    pub fn open() -> Result<Self, TaskstatsError> {
        Self::with_buffer_bytes(BUFFER_BYTES)
    }

    /// Like [`open`](Self::open), with a different capacity in bytes for waiting records.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn with_buffer_bytes(bytes: usize) -> Result<Self, TaskstatsError> {
        Ok(Self { listener: Listener::open(bytes)?, incomplete_runs: 0 })
    }

    /// Discards all exits so far. Must be called just before a run.
    pub fn begin(&mut self) {
        // A record that was lost before the run does not matter.
        let _ = self.listener.drain(|_| ());
    }

    /// Times of the exits since [`begin`](Self::begin) in the tree below this process. `None` if a
    /// record was lost. Must be called when the run is over and no descendant of this process is
    /// left except `excluded` processes and their own descendants.
    pub fn end(&mut self, excluded: &[u32]) -> Option<TreeTimes> {
        let mut records = Vec::new();
        match self.listener.drain(|record| records.push(record)) {
            Ok(()) => {
                Some(tree::sum_tree_times(&records, std::process::id(), excluded, crate::process::parent))
            }
            Err(RecordsLost) => {
                self.incomplete_runs += 1;
                None
            }
        }
    }

    /// Number of runs without a figure because a record was lost.
    pub fn incomplete_runs(&self) -> u32 {
        self.incomplete_runs
    }
}
