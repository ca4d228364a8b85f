//! A pool of two threads, a queue and a condition variable: three equal tasks at a time, so one
//! thread does the third task while the other has none.

use clap::Args;

use super::KnownProgram;
use super::thread_pool::run_with_pool;
use super::work_parts::part_of_time;
use crate::accounts::IdleClock;
use crate::clock::{burn, tree_cpu};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Threads of the pool.
const WORKERS: u32 = 2;

/// Tasks that are handed out at once; all finish before the next batch.
const BATCH: u32 = 3;

/// CPU time of a task: some 500 times the time to wake an idle virtual CPU.
const TASK_S: f64 = 0.02;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Pool {
    /// Batches, of three tasks each
    #[arg(long)]
    pub batches: u32,
}

impl Pool {
    /// Builds a pool with enough batches to take this much CPU time.
    pub fn with_work(work_s: f64) -> Self {
        Self { batches: (work_s / TASK_S / f64::from(BATCH)).round() as u32 }
    }
}

impl KnownProgram for Pool {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let task = part_of_time(TASK_S, 100.0);
        let idle = IdleClock::start()?;
        let runnable = run_with_pool(
            WORKERS,
            || burn(task),
            |pool| (0..self.batches).for_each(|_| pool.run_batch(BATCH)),
        );
        let (idle_s, runnable_s) = (Some(idle.elapsed()?.as_secs_f64()), Some(runnable.as_secs_f64()));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), idle_s, runnable_s, ..Truth::default() })
    }

    /// A batch lasts as many turns as the busiest CPU has tasks; a CPU without a task in a turn is
    /// idle.
    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> ExpectedReport {
        let at_once = WORKERS.min(cpus);
        let turns = BATCH.div_ceil(at_once);
        // On one CPU the pool's threads share it, and nothing is idle.
        let idle = if cpus == 1 { 0 } else { turns * cpus - BATCH };
        let seconds = |tasks: u32| f64::from(self.batches) * f64::from(tasks) * TASK_S;
        let (alone, queued) = (seconds(idle), if cpus > 1 { truth.runnable_s.unwrap_or(0.0) } else { 0.0 });
        ExpectedReport::from_shares([
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_construction(Part::TooLittleWork, alone),
            // The scheduler may leave both threads on one CPU for a while, as in a serial fraction.
            Share::from_kernel(Part::Scheduling, queued).limit_idle(truth, alone),
        ])
    }

    fn arguments(&self) -> Vec<String> {
        ["pool", "--batches", &self.batches.to_string()].map(String::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_task_leaves_one_of_two_cpus_idle() {
        let pool = Pool::with_work(6.0);
        assert_eq!(pool.batches, 100);
        let seconds = |cpus| {
            let truth = Truth { cpu_s: 6.0, ..Truth::default() };
            let shares = pool.expected(&truth, cpus, 9.9).shares;
            shares.iter().take(2).map(|share| share.seconds).collect::<Vec<_>>()
        };
        assert_eq!(seconds(1), [6.0, 0.0]);
        assert_eq!(seconds(2), [6.0, 2.0]);
        assert_eq!(seconds(3), [6.0, 6.0]);
    }
}
