//! Placement of a thread: on one CPU, at the scheduler's choice, or on one CPU after the other.

use std::time::Duration;

use clap::ValueEnum;
use morecores_study::Nanos;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::{WorkloadError, clock};

/// Placement of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Placement {
    /// Each thread on its own CPU, while there are enough
    Pinned,
    /// Each thread on a CPU of the scheduler's choice
    Free,
    /// Each thread on the next CPU after every --every
    Migrating,
}

/// CPUs that this process may use, in order.
pub(super) fn cpus() -> Result<Vec<usize>, WorkloadError> {
    let mask = sched_getaffinity(None).map_err(|error| {
        WorkloadError::CannotRun(format!("the CPUs that may be used could not be read: {error}"))
    })?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect())
}

/// Sequence of CPUs of one thread.
#[derive(Debug)]
pub(super) struct Route<'a> {
    placement: Placement,
    cpus: &'a [usize],
    /// Index in `cpus`.
    position: usize,
    every: Nanos,
    /// Time of the next move.
    next_move: Nanos,
    moves: u64,
    /// First refused CPU, and the reason.
    refusal: Option<(usize, rustix::io::Errno)>,
}

impl<'a> Route<'a> {
    /// Route of thread `index`.
    pub(super) fn new(placement: Placement, cpus: &'a [usize], index: usize, every: Duration) -> Self {
        let (position, every) = (index % cpus.len().max(1), Nanos::from(every));
        Self { placement, cpus, position, every, next_move: Nanos::ZERO, moves: 0, refusal: None }
    }

    /// Moves the calling thread to its first CPU.
    pub(super) fn move_to_first(&mut self) {
        if self.placement != Placement::Free {
            self.pin_to_current();
        }
        self.next_move = Nanos(clock::monotonic().0 + self.every.0);
    }

    /// Moves the calling thread if its move is due. The clock is read for all placements, so that
    /// its cost is equal for all of them.
    pub(super) fn move_if_due(&mut self) {
        let now = clock::monotonic();
        if now < self.next_move || self.placement != Placement::Migrating || self.cpus.len() < 2 {
            return;
        }
        self.position = (self.position + 1) % self.cpus.len();
        self.pin_to_current();
        self.moves += 1;
        self.next_move = Nanos(now.0 + self.every.0);
    }

    fn pin_to_current(&mut self) {
        let Some(&cpu) = self.cpus.get(self.position) else { return };
        let mut mask = CpuSet::new();
        mask.set(cpu);
        if let Err(error) = sched_setaffinity(None, &mask) {
            self.refusal.get_or_insert((cpu, error));
        }
    }

    /// Number of moves.
    pub(super) fn moves(&self) -> Result<u64, WorkloadError> {
        match self.refusal {
            None => Ok(self.moves),
            Some((cpu, error)) => Err(WorkloadError::CannotRun(format!(
                "no thread may run on CPU {cpu} any more ({error}): the CPUs were changed meanwhile, run it again"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getcpu;

    /// CPUs on which a thread of this placement was found in the given number of checks.
    fn observe_cpus(placement: Placement, index: usize, checks: usize) -> (Vec<usize>, u64) {
        let cpus = cpus().unwrap();
        let work = || {
            let mut route = Route::new(placement, &cpus, index, Duration::from_millis(1));
            route.move_to_first();
            let observed = (0..checks).map(|_| {
                std::thread::sleep(Duration::from_millis(2));
                route.move_if_due();
                sched_getcpu()
            });
            (observed.collect(), route.moves().unwrap())
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn a_pinned_thread_stays_and_a_migrating_one_visits_all_cpus() {
        let cpus = cpus().unwrap();
        for index in 0..cpus.len() + 1 {
            assert_eq!(observe_cpus(Placement::Pinned, index, 3), (vec![cpus[index % cpus.len()]; 3], 0));
            let round: Vec<_> = (1..=4).map(|step| cpus[(index + step) % cpus.len()]).collect();
            let moves = if cpus.len() > 1 { 4 } else { 0 };
            assert_eq!(observe_cpus(Placement::Migrating, index, 4), (round, moves));
        }
        assert_eq!(observe_cpus(Placement::Free, 0, 2).1, 0);
    }

    #[test]
    fn a_missing_cpu_is_reported_at_the_end() {
        let nowhere = [CpuSet::MAX_CPU - 1];
        let mut route = Route::new(Placement::Pinned, &nowhere, 0, Duration::from_millis(1));
        route.move_to_first();
        let error = route.moves().unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("CPU 1023"), "{error}");
    }
}
