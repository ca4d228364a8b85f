//! Remains of a run after the end of the main process: orphans that have ended, and processes that
//! mean to stay.
//!
//! This process adopts them as their subreaper, so that neither the processes nor their counts are
//! lost.

use std::thread::sleep;
use std::time::Duration;

use morecores_study::{Nanos, Rusage};

use super::ProcessExecutor;
use crate::account::add_orphan;
use crate::spawn::{self, Orphan};
use morecores_machine::clock::monotonic;
use morecores_machine::process;

/// Time in which processes that outlive the command may end by themselves, such as the tail of a
/// pipeline or a compiler's helpers. A process that lives longer means to stay.
const TAIL: Nanos = Nanos::from_millis(100);
/// Time in which a killed process must disappear. A process that waits for a device cannot be
/// killed at all.
const EXIT_TIMEOUT: Nanos = Nanos::from_millis(10_000);

impl ProcessExecutor {
    /// Adds the counts of the orphans that ended to `rusage`, and returns the names of those that
    /// did not end.
    pub(super) fn gather_orphans(&mut self, rusage: &mut Rusage) -> Vec<String> {
        let ended = monotonic();
        let mut survivors = Vec::new();
        let foreign = &self.control.foreign;
        loop {
            match spawn::reap_orphan() {
                Orphan::Reaped { pid, rusage: orphan } => {
                    if !foreign.pids().contains(&pid) {
                        add_orphan(rusage, &orphan);
                    }
                }
                Orphan::None => return survivors,
                Orphan::StillRunning => {
                    let alive = foreign.others();
                    let waited = monotonic().since(ended);
                    if alive.is_empty() && !foreign.pids().is_empty() || waited > EXIT_TIMEOUT {
                        return survivors;
                    }
                    if waited > TAIL && survivors.is_empty() {
                        survivors = alive.iter().filter_map(|&pid| process::command_name(pid)).collect();
                        if self.plan.keep_survivors {
                            alive.into_iter().for_each(|pid| foreign.add(pid));
                        } else {
                            foreign.kill_others();
                        }
                    }
                    sleep(Duration::from_millis(1));
                }
            }
        }
    }
}
