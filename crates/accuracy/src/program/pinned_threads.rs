//! Two threads that pin themselves to one CPU: all other allotted CPUs are idle while one of the
//! threads waits.

use std::thread;

use clap::Args;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::KnownProgram;
use super::work_parts::part_of_time;
use crate::clock::{burn, tree_cpu};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Number of threads.
const THREADS: u32 = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct PinnedThreads {
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
}

impl KnownProgram for PinnedThreads {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let allotted = sched_getaffinity(None).map_err(AccuracyError::system("read own affinity"))?;
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|cpu| allotted.is_set(*cpu)).unwrap_or(0));
        // Threads inherit the affinity.
        sched_setaffinity(None, &one).map_err(AccuracyError::system("pin a thread"))?;
        let each = part_of_time(self.work_s, 100.0 / f64::from(THREADS));
        thread::scope(|scope| {
            (0..THREADS).for_each(|_| drop(scope.spawn(|| burn(each))));
        });
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), ..Truth::default() })
    }

    /// One thread runs, the other is runnable but not allowed on the second CPU; further CPUs have
    /// no thread.
    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        let barred = f64::from((cpus - 1).min(THREADS - 1));
        ExpectedReport::from_shares([
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_construction(Part::Pinned, barred * self.work_s),
            Share::from_construction(
                Part::TooLittleWork,
                f64::from(cpus.saturating_sub(THREADS)) * self.work_s,
            ),
        ])
    }

    fn arguments(&self) -> Vec<String> {
        ["pinned", "--work-s", &self.work_s.to_string()].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_cpu_is_forbidden_and_the_third_has_no_thread() {
        let program = PinnedThreads { work_s: 6.0 };
        let seconds = |cpus| {
            let shares = program.expected(&Truth { cpu_s: 6.0, ..Truth::default() }, cpus, 6.0).shares;
            shares.iter().map(|share| share.seconds).collect::<Vec<_>>()
        };
        assert_eq!([1, 2, 3].map(seconds), [[6.0, 0.0, 0.0], [6.0, 6.0, 0.0], [6.0, 6.0, 6.0]]);
    }
}
