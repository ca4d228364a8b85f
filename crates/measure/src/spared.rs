//! The processes below this one that are not the command's: what a hook left running, and survivors that are kept.
//!
//! The tree decides: whatever stands below a spared process is spared too, however late it was made. Everything else
//! below this process is the command's. Shared by the measuring thread and the thread that watches it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use morecores_machine::process;

/// One such process, told from a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    pid: u32,
    start_time: Option<u64>,
}

/// The set of them.
#[derive(Debug, Default)]
pub(crate) struct Spared(Mutex<Vec<Identity>>);

impl Spared {
    /// Adds a process, and with it everything below.
    pub(crate) fn add(&self, pid: u32) {
        self.lock().push(Identity { pid, start_time: process::start_time(pid) });
    }

    /// The numbers of those that were added, also of ended ones.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.lock().iter().map(|identity| identity.pid).collect()
    }

    /// Drops those that have ended and were reaped, whose numbers others may get; to be called between runs.
    pub(crate) fn forget_ended(&self) {
        self.lock().retain(|identity| process::start_time(identity.pid) == identity.start_time);
    }

    /// The living processes of the command: all below this process that are not spared.
    pub(crate) fn others(&self) -> Vec<u32> {
        process::below(&process::table(), std::process::id(), &self.pids())
    }

    /// Ends all processes of the command. What forks meanwhile is caught by looking again.
    pub(crate) fn kill_others(&self) {
        // A tree that forks faster than it is killed is not worth more than a second.
        for _ in 0..500 {
            let doomed = self.others();
            if doomed.is_empty() {
                return;
            }
            doomed.into_iter().for_each(process::kill);
            sleep(Duration::from_millis(2));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Identity>> {
        // A list of numbers is whole at any moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
