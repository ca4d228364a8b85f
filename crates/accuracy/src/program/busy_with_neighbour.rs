//! Threads that compute until a set time, beside a process outside the tree that takes CPU time
//! meanwhile.
//!
//! The neighbour's CPU time comes from its own account in /proc, read at the first and the last
//! instant of the program.

use std::thread;

use clap::Args;
use morecores_study::Nanos;

use super::KnownProgram;
use crate::accounts::{IdleClock, SchedAccount};
use crate::clock::{burn, monotonic, tree_cpu};
use crate::neighbour;
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Work between two reads of the time.
const STEP: Nanos = Nanos::from_millis(1);

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct BusyWithNeighbour {
    /// Threads: as many as CPUs, so that none is idle
    #[arg(long)]
    pub threads: u32,
    /// The neighbour
    #[arg(long)]
    pub pid: u32,
    /// Elapsed time, in seconds
    #[arg(long)]
    pub elapsed_s: f64,
}

impl KnownProgram for BusyWithNeighbour {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let (before, idle) = (SchedAccount::read_process(self.pid)?.ran, IdleClock::start()?);
        let end = monotonic() + Nanos::from_secs_f64(self.elapsed_s);
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while monotonic() < end {
                        burn(STEP);
                    }
                });
            }
        });
        let idle_s = Some(idle.elapsed()?.as_secs_f64());
        let outside_s = Some(SchedAccount::read_process(self.pid)?.ran.since(before).as_secs_f64());
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), outside_s, idle_s, ..Truth::default() })
    }

    /// Time that neither the threads nor the neighbour used is idle: the moments until a thread
    /// moves to the CPU that the neighbour leaves. The kernel's account limits it, because the
    /// machine's daemons take some of that time.
    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport {
        let outside = truth.outside_s.unwrap_or(0.0);
        let idle = (f64::from(cpus) * elapsed_s - truth.cpu_s - outside).max(0.0);
        let shares = [
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_kernel(Part::Neighbour, outside),
            Share::from_own_clocks(Part::Idle, idle).limit_idle(truth, 0.0),
        ];
        ExpectedReport { own_processes: &[neighbour::NAME], ..ExpectedReport::from_shares(shares) }
    }

    fn arguments(&self) -> Vec<String> {
        let (threads, pid) = (self.threads.to_string(), self.pid.to_string());
        ["neighboured", "--threads", &threads, "--pid", &pid, "--elapsed-s", &self.elapsed_s.to_string()]
            .map(String::from)
            .to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_time_is_idle() {
        let program = BusyWithNeighbour { threads: 2, pid: 1, elapsed_s: 4.0 };
        let truth = Truth { cpu_s: 5.5, outside_s: Some(2.0), ..Truth::default() };
        let seconds = program.expected(&truth, 2, 4.0).shares.iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!(seconds, [5.5, 2.0, 0.5]);
    }
}
