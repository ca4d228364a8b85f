//! `morecores-shake`: finds failures of a program that appear only when its threads run in an
//! unusual order, as they do on more CPUs.
//!
//! The program runs under ptrace. A thread that reaches a *site*, an instruction at which the order
//! of threads may matter, is held for a moment while the others go on. Runs on one CPU and on
//! several, with holds and without, are shuffled in rounds. The order of threads in a run is always
//! one that a scheduler or the memory of several CPUs could produce, so that each failure is a
//! fault of the program.
//!
//! Data flow: `helgrind` and `disassembly` propose `sites`; `holds` plans a run; `tracer` makes it,
//! with breakpoints in an `address_space` and each `instruction` executed beside its place;
//! `outcome` judges it; `search` decides which run comes next. `morecores-findings` keeps the
//! runs, concludes and writes.

mod address_space;
mod chooser;
mod code;
mod description;
mod disassembly;
mod first_runs;
mod go_program;
mod helgrind;
mod holds;
mod imports;
mod instruction;
mod launch;
mod outcome;
mod program;
mod replay;
mod runner;
mod search;
mod shared_data;
mod sites;
mod spin;
mod tracee;
mod tracer;
mod variables;

use std::ffi::OsString;
use std::io;

use morecores_findings::{DirectoryError, Failure};

pub use replay::replay;
pub use search::{Options, OutputRule, search};

/// Reason for which a program could not be searched.
#[derive(Debug, thiserror::Error)]
pub enum ShakeError {
    /// Every first run failed, on one CPU too.
    #[error(
        "the program failed in all {runs} first runs, on one CPU too ({failure}); make it succeed on one CPU, then search"
    )]
    FailsAlways {
        /// Failure of the first run.
        failure: Failure,
        /// Number of first runs.
        runs: usize,
    },
    /// The shell could not run the user's check, in any first run.
    #[error("the shell cannot run --check (status {status}: a command of it {}); correct it", unrunnable(*.status))]
    CheckCannotRun {
        /// Exit status of the shell.
        status: i32,
    },
    /// No process had a second thread.
    #[error("no process of the program creates a second thread; there is no order of threads to change")]
    NoThreads,
    /// The directory of the search cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The search has no run with this number.
    #[error("the search has no run {run}; its runs are 1 to {runs}")]
    NoRun {
        /// Number of the run.
        run: u64,
        /// Number of runs.
        runs: usize,
    },
    /// A signal ended the search before its first round.
    #[error("stopped before the first round; nothing is kept")]
    Stopped,
    /// ptrace was refused.
    #[error("cannot trace the program: {0}; in a container, allow ptrace (--cap-add SYS_PTRACE)")]
    Ptrace(#[source] io::Error),
    /// Another call failed.
    #[error(transparent)]
    Io(io::Error),
}

/// Meaning of the statuses of [`Failure::unrunnable_check`], as words about a command.
fn unrunnable(status: i32) -> &'static str {
    match status {
        126 => "cannot be executed",
        _ => "is not found",
    }
}

impl From<io::Error> for ShakeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Ptrace(error),
            _ => Self::Io(error),
        }
    }
}

/// Role of a process of this program, by its arguments.
#[derive(Debug)]
pub enum Role<'a> {
    /// It could not execute the program to search.
    Launcher(io::Error),
    /// It searches.
    Searcher(&'a [OsString]),
}

/// Role of this process. As the launcher of the program it does not return, except with an error.
pub fn role(arguments: &[OsString]) -> Role<'_> {
    match arguments {
        [_, first, cpus, command @ ..] if first == launch::LAUNCH => {
            Role::Launcher(launch::launch(&cpus.to_string_lossy(), command))
        }
        [_, arguments @ ..] => Role::Searcher(arguments),
        [] => Role::Searcher(arguments),
    }
}
