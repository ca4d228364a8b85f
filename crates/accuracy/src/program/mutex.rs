//! Two threads and one mutex, which each thread holds for a part of its time.
//!
//! With fixed lengths the two threads would fall into step and never wait again, so lengths are
//! random (exponential, seeded). The expected wait of such a pair follows the machine repair model,
//! see the test. The wait of one run differs by chance, so the truth is the reading of the threads'
//! own clocks around `lock`. It includes the time from the wake-up until the thread runs.

use std::sync::{Mutex as Lock, PoisonError, TryLockError};
use std::thread;

use clap::Args;
use morecores_study::Nanos;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::KnownProgram;
use super::work_parts::part_of_time;
use crate::clock::{burn, monotonic, tree_cpu};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Mean length of one hold and one pause together. It is some 200 times the 40 µs for waking an
/// idle virtual CPU, which are no part of the wait in a trace.
const CYCLE_S: f64 = 0.008;

/// Number of threads.
const THREADS: u32 = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Mutex {
    /// Share of its CPU time that each thread holds the lock
    #[arg(long)]
    pub percent: f64,
    /// Elapsed time, in seconds
    #[arg(long)]
    pub elapsed_s: f64,
}

impl Mutex {
    /// Runs one thread; returns how long it waited.
    fn work(&self, lock: &Lock<()>, seed: u64, end: Nanos) -> Nanos {
        let mut lengths = Lengths { chance: ChaCha8Rng::seed_from_u64(seed), percent: self.percent };
        let mut waited = Nanos::ZERO;
        while monotonic() < end {
            let (hold, think) = lengths.next();
            burn(think);
            // A free lock is taken without reading the clock.
            let held = match lock.try_lock() {
                Ok(held) => held,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    let begun = monotonic();
                    let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                    waited += monotonic().since(begun);
                    held
                }
            };
            burn(hold);
            drop(held);
        }
        waited
    }
}

/// Source of the alternating lengths of holding and not holding the lock.
struct Lengths {
    chance: ChaCha8Rng,
    percent: f64,
}

impl Lengths {
    fn next(&mut self) -> (Nanos, Nanos) {
        let mut length = |percent| {
            // Exponential distribution with mean one, by inversion.
            let exponential = -(1.0 - self.chance.random::<f64>()).ln();
            part_of_time(CYCLE_S * exponential, percent)
        };
        (length(self.percent), length(100.0 - self.percent))
    }
}

impl KnownProgram for Mutex {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let lock = Lock::new(());
        let end = monotonic() + Nanos::from_secs_f64(self.elapsed_s);
        let waited: Nanos = thread::scope(|scope| {
            let other = scope.spawn(|| self.work(&lock, 2, end));
            let own = self.work(&lock, 1, end);
            // A panic in that thread continues in this one.
            [own, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))].into_iter().sum()
        });
        let (cpu_s, waited_s) = (tree_cpu().as_secs_f64(), Some(waited.as_secs_f64()));
        Ok(Truth { cpu_s, waited_s, ..Truth::default() })
    }

    /// While one thread waits, the other holds the lock and runs. On one CPU nothing is idle; on
    /// more, one CPU is idle for each waiting thread. CPUs beyond the number of threads are idle
    /// for lack of work.
    fn expected(&self, truth: &Truth, cpus: u32, elapsed_s: f64) -> ExpectedReport {
        let waited = if cpus > 1 { truth.waited_s.unwrap_or(0.0) } else { 0.0 };
        ExpectedReport::from_shares([
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            Share::from_own_clocks(Part::UserLock, waited),
            Share::from_construction(
                Part::TooLittleWork,
                f64::from(cpus.saturating_sub(THREADS)) * elapsed_s,
            ),
        ])
    }

    fn arguments(&self) -> Vec<String> {
        ["mutex", "--percent", &self.percent.to_string(), "--elapsed-s", &self.elapsed_s.to_string()]
            .map(String::from)
            .to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of the time that a thread waits: the lock serves one customer at a time with mean `h`,
    /// and each of two customers returns after a mean of `1-h`. With r = h/(1-h) the states with 0,
    /// 1, 2 customers at the lock are as 1 : 2r : 2r² (machine repair model, M/M/1//2; Kleinrock,
    /// Queueing Systems I, section 3.8). In the last state one of the two waits.
    fn by_theory(percent: f64) -> f64 {
        let r = percent / (100.0 - percent);
        r * r / (1.0 + 2.0 * r + 2.0 * r * r)
    }

    /// Simulates these lengths on two CPUs of their own; returns the share of the time that a
    /// thread waits.
    fn simulated(percent: f64, elapsed_s: f64) -> f64 {
        let mut threads = [1, 2].map(|seed| {
            let chance = ChaCha8Rng::seed_from_u64(seed);
            (Lengths { chance, percent }, 0.0_f64)
        });
        let mut draw = |thread: usize, at: f64| {
            let (hold, think) = threads[thread].0.next();
            threads[thread].1 = hold.as_secs_f64();
            (at + think.as_secs_f64(), threads[thread].1)
        };
        let mut next = [draw(0, 0.0), draw(1, 0.0)];
        let (mut free_at, mut waited) = (0.0_f64, 0.0);
        loop {
            let who = usize::from(next[1].0 < next[0].0);
            let (wants, hold) = next[who];
            if wants > elapsed_s {
                return waited / (2.0 * elapsed_s);
            }
            waited += (free_at - wants).max(0.0);
            free_at = free_at.max(wants) + hold;
            next[who] = draw(who, free_at);
        }
    }

    #[test]
    fn the_lengths_are_those_of_the_theory() {
        for percent in [5.0, 20.0, 50.0] {
            let (theory, simulated) = (by_theory(percent), simulated(percent, 3000.0));
            assert!((theory - simulated).abs() < 0.02 * theory + 0.0005, "{percent}: {theory} {simulated}");
        }
        assert_eq!(by_theory(50.0), 0.2);
    }

    #[test]
    fn one_waits_while_the_other_holds() {
        let program = Mutex { percent: 50.0, elapsed_s: 5.0 };
        let truth = Truth { cpu_s: 8.0, waited_s: Some(2.0), ..Truth::default() };
        let seconds =
            |cpus| program.expected(&truth, cpus, 5.0).shares.iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!([1, 2, 3].map(seconds), [vec![8.0, 0.0, 0.0], vec![8.0, 2.0, 0.0], vec![8.0, 2.0, 5.0]]);
    }
}
