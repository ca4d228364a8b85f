//! User and system ticks of a command's tree where no cgroup tells them: from the record that the kernel sends of
//! every task that exits (taskstats, Documentation/accounting/taskstats.rst).
//!
//! Works wherever morecores has CAP_NET_ADMIN in the machine's initial user, PID and network namespaces. The records
//! are of the whole machine; `tree` picks the command's out of them. They wait in the socket's buffer until
//! the run is over, so that nothing wakes up while it lasts. A run of which a record was lost has no figure here.
//!
//! A record is made when a task begins to exit (`do_exit` in kernel/exit.c): what giving up its memory costs the
//! kernel is not in it.

mod message;
mod record;
mod socket;
mod tree;

use morecores_study::Nanos;

use socket::{Incomplete, Listener};

pub use socket::{TaskstatsError, probe};

/// Room for waiting records, in bytes. The kernel doubles the number, and counts a record as 1280 bytes with its
/// book-keeping (2304 for a process with several threads): 200,000 processes or 110,000 threads exit before one is
/// lost. Memory is taken only as records wait.
const ROOM: usize = 128 << 20;

/// CPU time of a tree between two instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeTimes {
    /// Ticks that found a task of the tree in user mode. Raw: not scaled to `run`, unlike what `getrusage(2)` and
    /// `/proc` show of a process.
    pub user: Nanos,
    /// Ticks that found one in the kernel.
    pub system: Nanos,
    /// Time on a CPU as the scheduler counted it, known to the last tick or switch before each exit; zero before
    /// Linux 5.14 unless delay accounting is on.
    pub run: Nanos,
    /// Tasks, that is threads, that exited.
    pub tasks: usize,
}

/// Receives the exit records of this machine.
#[derive(Debug)]
pub struct TaskstatsAccount {
    listener: Listener,
    incomplete_runs: u32,
}

impl TaskstatsAccount {
    /// Asks the kernel for the records. Every exit on this machine costs about a microsecond more until this is
    /// dropped.
    ///
    /// # Errors
    /// Without the privilege, inside a container, or where the kernel was built without taskstats.
    pub fn open() -> Result<Self, TaskstatsError> {
        Self::with_room(ROOM)
    }

    /// As [`open`](Self::open), with room for another number of bytes of waiting records.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_room(bytes: usize) -> Result<Self, TaskstatsError> {
        Ok(Self { listener: Listener::open(bytes)?, incomplete_runs: 0 })
    }

    /// A run is about to start: forgets all that exited before.
    pub fn begin(&mut self) {
        // What was lost before the run is not missed.
        let _ = self.listener.drain(|_| ());
    }

    /// The run is over and no descendant of this process is left but `spared` and their own: what exited since
    /// [`begin`](Self::begin), of the tree below this process. None where a record was lost.
    pub fn end(&mut self, spared: &[u32]) -> Option<TreeTimes> {
        let mut records = Vec::new();
        match self.listener.drain(|record| records.push(record)) {
            Ok(()) => Some(tree::sum(&records, std::process::id(), spared, crate::process::parent)),
            Err(Incomplete) => {
                self.incomplete_runs += 1;
                None
            }
        }
    }

    /// How many runs had to do without, because a record was lost.
    pub fn incomplete_runs(&self) -> u32 {
        self.incomplete_runs
    }
}
