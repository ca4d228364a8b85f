//! Short processes, one after another: fork, exec, wait.
//!
//! The processes are `true` from the path: a command name of its own, so that their number is
//! checked as well. The length of each process is not set by construction but clocked. Some of the
//! idle time on more than one CPU is the move between CPUs, the rest belongs to the single process.
//! The scheduler decides the two amounts, so their sum is judged.

use std::process::{Command, Stdio};

use clap::Args;

use super::KnownProgram;
use crate::accounts::IdleClock;
use crate::clock::tree_cpu;
use crate::expected::{Count, CountedEvent};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// The short process.
const PROCESS: &str = "true";

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Storm {
    /// Processes
    #[arg(long)]
    pub processes: u32,
}

impl KnownProgram for Storm {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let idle = IdleClock::start()?;
        let mut command = Command::new(PROCESS);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for _ in 0..self.processes {
            command.status().map_err(|error| AccuracyError::Start { command: PROCESS.to_owned(), error })?;
        }
        let idle_s = Some(idle.elapsed()?.as_secs_f64());
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), idle_s, ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport {
        let idle = (f64::from(cpus) * elapsed_s - truth.cpu_s).max(0.0);
        let shares = vec![
            // Soft interrupts that release the resources of a process hit the next one: two points
            // of its time.
            Share::from_own_clocks(Part::WorkAndInterrupts, truth.cpu_s),
            Share::from_own_clocks(Part::Idle, idle).limit_idle(truth, 0.0),
        ];
        let (event, number) = (CountedEvent::Calls(PROCESS.to_owned()), u64::from(self.processes));
        ExpectedReport {
            counts: vec![Count { event, number, source: "construction" }],
            ..ExpectedReport::from_shares(shares)
        }
    }

    fn arguments(&self) -> Vec<String> {
        ["storm", "--processes", &self.processes.to_string()].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_no_process_used_is_idle() {
        let truth = Truth { cpu_s: 4.0, ..Truth::default() };
        let expected = Storm { processes: 5_000 }.expected(&truth, 2, 4.5);
        assert_eq!(expected.shares[1], Share::from_own_clocks(Part::Idle, 5.0));
        assert_eq!(expected.counts[0].number, 5_000);
    }
}
