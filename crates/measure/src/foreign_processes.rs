//! Descendants of this process that do not belong to the command: processes that a hook left
//! running, and survivors that are kept.
//!
//! The process tree decides: every process below a spared process is spared too, however late it
//! starts. All other descendants of this process belong to the command. The measuring thread and
//! the watching thread share the set.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use morecores_machine::process;

/// Longest time for which new processes of the tree are killed too.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// Identity of a spared process, which distinguishes it from a later process with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    pid: u32,
    start_time: Option<u64>,
}

/// Set of spared processes.
#[derive(Debug, Default)]
pub(crate) struct ForeignProcesses(Mutex<Vec<Identity>>);

impl ForeignProcesses {
    /// Adds a process, and so all processes below it.
    pub(crate) fn add(&self, pid: u32) {
        self.lock().push(Identity { pid, start_time: process::start_time(pid) });
    }

    /// Numbers of the added processes, including ended ones.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.lock().iter().map(|identity| identity.pid).collect()
    }

    /// Drops processes that have ended and were reaped, because other processes may get their
    /// numbers. Must be called between runs.
    pub(crate) fn forget_ended(&self) {
        self.lock().retain(|identity| process::start_time(identity.pid) == identity.start_time);
    }

    /// Living processes of the command: all descendants of this process that are not spared.
    pub(crate) fn others(&self) -> Vec<u32> {
        process::descendants_in(&process::process_table(), std::process::id(), &self.pids())
    }

    /// Kills all processes of the command, and looks again for processes that forked in the
    /// meantime.
    pub(crate) fn kill_others(&self) {
        // The loop gives up on a tree that forks faster than it can be killed.
        let deadline = Instant::now() + KILL_TIMEOUT;
        while Instant::now() < deadline {
            let doomed = self.others();
            if doomed.is_empty() {
                return;
            }
            doomed.into_iter().for_each(process::kill);
            sleep(Duration::from_millis(2));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Identity>> {
        // The list is consistent at any moment, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
