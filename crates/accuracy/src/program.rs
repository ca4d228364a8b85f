//! The programs with known truth: one module each, which holds the program and the report expected
//! of its trace.
//!
//! A program is quiet, does the same work under any tracer, and never looks at the number of its
//! CPUs: its arguments set the number of its threads.

mod busy_with_neighbour;
mod calls;
mod disk;
mod false_sharing;
mod faults;
mod mutex;
mod pinned_threads;
mod pipe_chain;
mod pool;
mod serial_fork;
mod serial_threads;
mod sleeper;
mod storm;
mod thread_pool;
mod two_mutexes;
mod work_parts;

use clap::Subcommand;

pub use busy_with_neighbour::BusyWithNeighbour;
pub use calls::Calls;
pub use disk::{Disk, write_file};
pub use false_sharing::FalseSharing;
pub(crate) use false_sharing::{FUNCTIONS as SHARING_FUNCTIONS, expected_false_sharing};
pub use faults::Faults;
pub use mutex::Mutex;
pub use pinned_threads::PinnedThreads;
pub use pipe_chain::PipeChain;
pub use pool::Pool;
pub use serial_fork::SerialFork;
pub use serial_threads::SerialThreads;
pub(crate) use serial_threads::{FUNCTIONS as SERIAL_FUNCTIONS, expected_serial_functions};
pub use sleeper::Sleeper;
pub use storm::Storm;
pub use two_mutexes::TwoMutexes;
pub(crate) use two_mutexes::{FUNCTIONS as MUTEX_FUNCTIONS, expected_two_mutexes};

use crate::{AccuracyError, ExpectedReport, Truth};

/// Operations of every program.
pub trait KnownProgram {
    /// Runs the program, in a process of its own.
    fn run(&self) -> Result<Truth, AccuracyError>;

    /// Report expected of a trace of the program on `cpus` CPUs that took `elapsed_s`.
    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport;

    /// Command line after `morecores-accuracy program`: the inverse of parsing.
    fn arguments(&self) -> Vec<String>;

    /// Functions with a truth of their own.
    fn functions(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A program, by its arguments.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum AnyProgram {
    /// A part of the work in turn, the rest by two forked processes at once
    SerialFork(SerialFork),
    /// A part of the work in turn, the rest by two threads at once that wait for a condition
    /// variable
    SerialThreads(SerialThreads),
    /// Two threads that hold one mutex for a part of their time
    Mutex(Mutex),
    /// Two threads and two mutexes, each for one function
    TwoMutexes(TwoMutexes),
    /// Two threads that count in one cache line, and in turn in two
    FalseSharing(FalseSharing),
    /// Three processes that work in turn, handing on by pipes
    PipeChain(PipeChain),
    /// One thread that reads a file past the page cache
    Disk(Disk),
    /// One thread that sleeps
    Sleeper(Sleeper),
    /// Threads that compute beside a process outside
    Neighboured(BusyWithNeighbour),
    /// Threads that spend a part of their time in system calls
    Calls(Calls),
    /// Threads that spend a part of their time in page faults
    Faults(Faults),
    /// Three equal tasks at a time for a pool of two threads
    Pool(Pool),
    /// Two threads that pin themselves to one CPU
    Pinned(PinnedThreads),
    /// Short processes, one after another
    Storm(Storm),
}

impl AnyProgram {
    /// Operations of the program.
    pub fn as_known(&self) -> &dyn KnownProgram {
        match self {
            Self::SerialFork(program) => program,
            Self::SerialThreads(program) => program,
            Self::Mutex(program) => program,
            Self::TwoMutexes(program) => program,
            Self::FalseSharing(program) => program,
            Self::PipeChain(program) => program,
            Self::Disk(program) => program,
            Self::Sleeper(program) => program,
            Self::Neighboured(program) => program,
            Self::Calls(program) => program,
            Self::Faults(program) => program,
            Self::Pool(program) => program,
            Self::Pinned(program) => program,
            Self::Storm(program) => program,
        }
    }
}
