//! What is left when the main process has ended: orphans that ended too, and processes that mean to stay.
//!
//! They fall to us, since we are their subreaper, so that neither their counts nor they themselves are lost.

use std::thread::sleep;
use std::time::Duration;

use morecores_study::{Nanos, Rusage};

use super::ProcessExecutor;
use crate::account::add_orphan;
use crate::spawn::{self, Orphan};
use morecores_machine::clock::monotonic;
use morecores_machine::process;

/// How long processes that outlive the command may take to end by themselves: the tail of a pipeline, a
/// compiler's own helpers. Anything longer is a process that means to stay.
const TAIL: Nanos = Nanos::from_millis(100);
/// How long a killed process may take to be gone: one that waits for a device cannot be killed at all.
const PATIENCE: Nanos = Nanos::from_millis(10_000);

impl ProcessExecutor {
    /// Collects what the main process left behind: counts of those that ended, names of those that would not.
    pub(super) fn gather_orphans(&mut self, rusage: &mut Rusage) -> Vec<String> {
        let ended = monotonic();
        let mut survivors = Vec::new();
        let spared = &self.control.spared;
        loop {
            match spawn::reap_orphan() {
                Orphan::Reaped { pid, rusage: orphan } => {
                    if !spared.pids().contains(&pid) {
                        add_orphan(rusage, &orphan);
                    }
                }
                Orphan::None => return survivors,
                Orphan::StillRunning => {
                    let alive = spared.others();
                    let waited = monotonic().since(ended);
                    if alive.is_empty() && !spared.pids().is_empty() || waited > PATIENCE {
                        return survivors;
                    }
                    if waited > TAIL && survivors.is_empty() {
                        survivors = alive.iter().filter_map(|&pid| process::name(pid)).collect();
                        if self.plan.keep_survivors {
                            alive.into_iter().for_each(|pid| spared.add(pid));
                        } else {
                            spared.kill_others();
                        }
                    }
                    sleep(Duration::from_millis(1));
                }
            }
        }
    }
}
