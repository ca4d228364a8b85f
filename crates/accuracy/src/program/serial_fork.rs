//! A serial fraction, by fork and wait: the shape of a build.
//!
//! In each round one process does the serial part, then forks two children that share the rest, and
//! waits for both.

use clap::Args;
use morecores_study::Nanos;

use super::KnownProgram;
use super::work_parts::{idle_while_working, part_of_time};
use crate::accounts::IdleClock;
use crate::clock::{burn, tree_cpu};
use crate::wait::{fork, wait_and_account};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Number of rounds; small, so that making processes (some 0.3 ms a round) is no part of the work.
const ROUNDS: u32 = 10;

/// Processes that share the parallel part.
pub(super) const WORKERS: u32 = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct SerialFork {
    /// Share of the work that is done in turn
    #[arg(long)]
    pub percent: f64,
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
}

impl KnownProgram for SerialFork {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let (idle, mut runnable) = (IdleClock::start()?, Nanos::ZERO);
        let round_s = self.work_s / f64::from(ROUNDS);
        for _ in 0..ROUNDS {
            burn(part_of_time(round_s, self.percent));
            let each = part_of_time(round_s, (100.0 - self.percent) / f64::from(WORKERS));
            let children = [fork(|| burn(each))?, fork(|| burn(each))?];
            for child in children {
                runnable += wait_and_account(child)?;
            }
        }
        let (idle_s, runnable_s) = (Some(idle.elapsed()?.as_secs_f64()), Some(runnable.as_secs_f64()));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), idle_s, runnable_s, ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        expected_serial(self.percent, self.work_s, truth, cpus)
    }

    fn arguments(&self) -> Vec<String> {
        ["serial-fork", "--percent", &self.percent.to_string(), "--work-s", &self.work_s.to_string()]
            .map(String::from)
            .to_vec()
    }
}

/// Truth of a serial fraction: `percent` of `work_s` in turn, the rest by [`WORKERS`] at once.
fn expected_serial(percent: f64, work_s: f64, truth: &Truth, cpus: u32) -> ExpectedReport {
    let times = [work_s * percent / 100.0, work_s * (100.0 - percent) / 100.0];
    expected_serial_times(times, Share::from_construction, truth, cpus)
}

/// Truth of a serial fraction: the first of the CPU times leaves all CPUs but one idle, the second
/// leaves all but [`WORKERS`] idle. The idle time has the source of `known`.
///
/// A CPU may also be idle while the scheduler leaves both workers on the other CPU. That is no
/// mistake of the trace, and no construction prevents it. Its truth is the workers' account of the
/// time, limited to the idle time of the CPUs, because a worker may also have waited for a daemon.
pub(super) fn expected_serial_times(
    [one, more]: [f64; 2],
    known: fn(Part, f64) -> Share,
    truth: &Truth,
    cpus: u32,
) -> ExpectedReport {
    let alone = idle_while_working(cpus, 1, one) + idle_while_working(cpus, WORKERS, more);
    let queued = if cpus > 1 { truth.runnable_s.unwrap_or(0.0) } else { 0.0 };
    ExpectedReport::from_shares([
        Share::from_own_clocks(Part::Work, truth.cpu_s),
        known(Part::TooLittleWork, alone),
        Share::from_kernel(Part::Scheduling, queued).limit_idle(truth, alone),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(percent: f64, cpus: u32) -> f64 {
        let truth = Truth { cpu_s: 10.1, ..Truth::default() };
        let expected = expected_serial(percent, 10.0, &truth, cpus);
        assert_eq!(expected.shares[0], Share::from_own_clocks(Part::Work, 10.1));
        expected.shares[1].seconds
    }

    #[test]
    fn the_serial_part_leaves_every_cpu_but_one_idle() {
        assert_eq!([idle(0.0, 1), idle(50.0, 1)], [0.0, 0.0]);
        assert_eq!([idle(0.0, 2), idle(10.0, 2), idle(30.0, 2), idle(50.0, 2)], [0.0, 1.0, 3.0, 5.0]);
        // Three of four CPUs are idle in the serial half, two of four in the other half, which
        // takes half its work as time.
        assert_eq!(idle(50.0, 4), 15.0 + 5.0);
    }

    #[test]
    fn a_worker_that_waits_while_a_cpu_is_idle_is_scheduling() {
        let queued = |cpus, runnable_s, idle_s| {
            let truth =
                Truth { cpu_s: 10.0, runnable_s: Some(runnable_s), idle_s: Some(idle_s), ..Truth::default() };
            expected_serial(50.0, 10.0, &truth, cpus).shares[2].seconds
        };
        // Five seconds of the idle time are beside the serial half.
        assert_eq!(queued(2, 0.5, 6.0), 0.5);
        assert_eq!(queued(2, 0.5, 5.25), 0.25);
        assert_eq!(queued(2, 0.5, 4.9), 0.0);
        assert_eq!(queued(1, 5.0, 0.0), 0.0);
    }
}
