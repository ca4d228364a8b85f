//! A pool of two threads, a queue and a condition variable: three equal tasks at a time, so one
//! thread does the third task while the other has none.

use clap::Args;

use super::Known;
use super::crew::with_crew;
use super::parts::part;
use crate::accounts::IdleClock;
use crate::clock::{burn, tree_cpu};
use crate::{AccuracyError, Expected, Part, Share, Truth};

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
    pub fn working(work_s: f64) -> Self {
        Self { batches: (work_s / TASK_S / f64::from(BATCH)).round() as u32 }
    }
}

impl Known for Pool {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let task = part(TASK_S, 100.0);
        let idle = IdleClock::start()?;
        let runnable =
            with_crew(WORKERS, || burn(task), |crew| (0..self.batches).for_each(|_| crew.batch(BATCH)));
        let (idle_s, runnable_s) = (Some(idle.elapsed()?.as_secs_f64()), Some(runnable.as_secs_f64()));
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), idle_s, runnable_s, ..Truth::default() })
    }

    /// A batch lasts as many turns as the busiest CPU has tasks; a CPU without a task in a turn is
    /// idle.
    fn expected(&self, truth: &Truth, cpus: u32, _: f64) -> Expected {
        let at_once = WORKERS.min(cpus);
        let turns = BATCH.div_ceil(at_once);
        // On one CPU the pool's threads share it, and nothing is idle.
        let idle = if cpus == 1 { 0 } else { turns * cpus - BATCH };
        let seconds = |tasks: u32| f64::from(self.batches) * f64::from(tasks) * TASK_S;
        let (alone, queued) = (seconds(idle), if cpus > 1 { truth.runnable_s.unwrap_or(0.0) } else { 0.0 });
        Expected::shares([
            Share::clocked(Part::Work, truth.cpu_s),
            Share::built(Part::TooLittleWork, alone),
            // The scheduler may leave both threads on one CPU for a while, as in a serial fraction.
            Share::accounted(Part::Scheduling, queued).idle_at_most(truth, alone),
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
        let pool = Pool::working(6.0);
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
