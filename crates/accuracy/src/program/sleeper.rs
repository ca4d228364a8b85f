//! One thread that sleeps: only a timer ends each wait, and every CPU is idle for the timer.

use std::thread::sleep;
use std::time::Duration;

use clap::Args;

use super::KnownProgram;
use crate::clock::tree_cpu;
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Length of one sleep. Linux makes it last 50 µs longer (`timer_slack_ns`), which is 0.1% of it.
const SLEEP: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Sleeper {
    /// Number of sleeps, of 50 ms each
    #[arg(long, value_name = "COUNT")]
    pub sleeps: u32,
}

impl Sleeper {
    /// Builds a sleeper with as many sleeps as fit into some seconds.
    pub fn with_seconds(seconds: f64) -> Self {
        Self { sleeps: (seconds / SLEEP.as_secs_f64()).round() as u32 }
    }
}

impl KnownProgram for Sleeper {
    fn run(&self) -> Result<Truth, AccuracyError> {
        (0..self.sleeps).for_each(|_| sleep(SLEEP));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        let slept = f64::from(self.sleeps) * SLEEP.as_secs_f64();
        ExpectedReport::from_shares([
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_construction(Part::Timer, f64::from(cpus) * slept),
        ])
    }

    fn arguments(&self) -> Vec<String> {
        ["sleeper", "--sleeps", &self.sleeps.to_string()].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_sleeps() {
        let program = Sleeper::with_seconds(6.0);
        assert_eq!(program.sleeps, 120);
        let timer = |cpus| program.expected(&Truth::default(), cpus, 6.1).shares[1].seconds;
        assert_eq!([timer(1), timer(2)], [6.0, 12.0]);
    }
}
