//! Plan of a study of locks.

use serde::{Deserialize, Serialize};

use super::{LockCell, LockName};
use crate::experiment::cross_product;
use crate::{Axis, AxisSetting, Cell, CpuSet, Experiment, Nanos, OnFailure, Schedule, ScheduledCell, Stop};

/// Think time of a thread: its work between two holds of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// Computing for as long as the thread held the lock.
    Hold,
    /// Computing for a fixed time.
    Fixed(Nanos),
}

impl Think {
    /// Setting on the axis of think times.
    fn setting(self) -> AxisSetting {
        match self {
            Self::Hold => AxisSetting::same_as("hold_ns"),
            Self::Fixed(time) => time.into(),
        }
    }
}

/// Plan of a study of locks: the locks and the contention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockPlan {
    /// Locks, in the order in which they are shown.
    pub locks: Vec<LockName>,
    /// CPUs to which threads are pinned, in turn.
    pub cpus: CpuSet,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// Hold times: the times for which the lock is held.
    pub holds: Vec<Nanos>,
    /// Think times: the times for which a thread stays away from the lock.
    pub thinks: Vec<Think>,
    /// Number of measurements of each cell.
    pub rounds: u32,
    /// Length of one measurement of contention.
    pub window_ns: Nanos,
    /// Length of one measurement of contention in which every wait is timed, and of one with a
    /// preempted owner.
    pub watched_ns: Nanos,
    /// Number of rounds that also time the waits of contention, counted from the first round.
    pub watched_rounds: u32,
    /// Seed of the order of cells within a round.
    pub seed: u64,
}

impl LockPlan {
    /// Length of a cell's measurement. It is longer if waits are timed, because the longest waits
    /// are rare.
    pub const fn cell_window(&self, cell: &LockCell) -> Nanos {
        match cell {
            LockCell::Contention { watched: true, .. } | LockCell::Preempted { .. } => self.watched_ns,
            _ => self.window_ns,
        }
    }

    /// Axes of the points of contention.
    fn point_axes(&self) -> [Axis; 3] {
        [
            Axis::new("threads", self.threads.iter().copied()),
            Axis::new("hold", self.holds.iter().copied()).in_unit("ns"),
            Axis::new("think", self.thinks.iter().map(|think| think.setting())).in_unit("ns"),
        ]
    }

    /// Points of contention: threads, hold and think time. A think time equal to an earlier one is
    /// not repeated.
    pub fn points(&self) -> Vec<(u32, Nanos, Nanos)> {
        let point = |cell: &Cell| {
            let threads = u32::try_from(cell.number("threads")?).ok()?;
            Some((threads, Nanos(cell.number("hold_ns")?), Nanos(cell.number("think_ns")?)))
        };
        cross_product(&self.point_axes()).iter().filter_map(point).collect()
    }

    /// Cells of this plan and their schedule. A cell that fails is left out of the following
    /// rounds: a machine that cannot measure it once cannot measure it six times, and a lock that
    /// hangs would use its time limit every time.
    pub fn experiment(&self) -> Experiment<LockCell> {
        let cpus: Vec<_> = self.cpus.iter().collect();
        let mut cells = vec![LockCell::Switch.into()];
        for (index, &from) in cpus.iter().enumerate() {
            cells.extend(cpus[index + 1..].iter().map(|&to| LockCell::Line { from, to }.into()));
        }
        for &lock in &self.locks {
            cells.push(LockCell::Free { lock }.into());
            if cpus.len() > 1 {
                cells.extend([LockCell::Handoff { lock }.into(), LockCell::Preempted { lock }.into()]);
            }
            let [threads, hold, think] = self.point_axes();
            let (what, lock) = (Axis::new("what", ["contest"]), Axis::new("lock", [lock]));
            let watched = Axis::new("watched", [false, true]);
            let contention = cross_product(&[what, lock, threads, hold, think, watched]);
            cells.extend(contention.iter().filter_map(LockCell::from_cell).map(|cell| {
                let is_watched = matches!(cell, LockCell::Contention { watched: true, .. });
                ScheduledCell { rounds: is_watched.then_some(self.watched_rounds), ..cell.into() }
            }));
        }
        let (min_runs, max_runs) = (self.rounds, self.rounds);
        let stop = Stop { precision: None, min_runs, max_runs, max_time: None, budget: None };
        Experiment {
            cells,
            schedule: Schedule { seed: self.seed, warmup: 0, stop, on_failure: OnFailure::LeaveOut },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_think_that_equals_another_is_measured_once() {
        let plan = LockPlan {
            locks: vec![LockName::Adaptive],
            cpus: "0-1".parse().unwrap(),
            threads: vec![1, 2],
            holds: vec![Nanos(0), Nanos(100)],
            thinks: vec![Think::Fixed(Nanos(0)), Think::Hold],
            rounds: 2,
            window_ns: Nanos::from_millis(20),
            watched_ns: Nanos::from_millis(300),
            watched_rounds: 1,
            seed: 1,
        };
        assert_eq!(plan.points().len(), 2 * 3);
        // Switch, one line, free, handoff, preempted; contention, in the first round also with its
        // waits.
        let experiment = plan.experiment();
        assert_eq!(experiment.cells_of_round(0).len(), 5 + 2 * 6);
        assert_eq!(experiment.cells_of_round(1).len(), 5 + 6);
    }
}
