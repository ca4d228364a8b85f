//! What a study of locks measures.

use serde::{Deserialize, Serialize};

use super::{LockCell, LockName};
use crate::{CpuSet, Nanos};

/// What a thread does between two holds of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// It computes for as long as it held the lock.
    Hold,
    /// It computes for so long.
    Fixed(Nanos),
}

impl Think {
    /// How long, where the lock is held for `hold`.
    pub const fn after(self, hold: Nanos) -> Nanos {
        match self {
            Self::Hold => hold,
            Self::Fixed(time) => time,
        }
    }
}

/// A study of locks: which, and under what contention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LockPlan {
    /// The locks, in the order in which they are shown.
    pub locks: Vec<LockName>,
    /// The CPUs that threads are pinned to, in turn.
    pub cpus: CpuSet,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// For how long the lock is held.
    pub holds: Vec<Nanos>,
    /// How long a thread stays away from it.
    pub thinks: Vec<Think>,
    /// How often each cell is measured.
    pub rounds: u32,
    /// For how long one contest goes on.
    pub window_ns: Nanos,
    /// For how long one contest goes on in which every wait is timed, and one with an owner that is off its CPU.
    pub watched_ns: Nanos,
    /// How many of the rounds have watched contests too: from the first on.
    pub watched_rounds: u32,
    /// Of the order of cells within a round.
    pub seed: u64,
}

impl LockPlan {
    /// For how long a cell goes on: longer where waits are timed, the longest of which are rare.
    pub const fn window_of(&self, cell: &LockCell) -> Nanos {
        match cell {
            LockCell::Contest { watched: true, .. } | LockCell::Preempted { .. } => self.watched_ns,
            _ => self.window_ns,
        }
    }

    /// Points of contention: threads, hold and think, without repetition where a think equals another.
    pub fn points(&self) -> Vec<(u32, Nanos, Nanos)> {
        let mut points = Vec::new();
        for &threads in &self.threads {
            for &hold in &self.holds {
                for think in self.thinks.iter().map(|think| think.after(hold)) {
                    if !points.contains(&(threads, hold, think)) {
                        points.push((threads, hold, think));
                    }
                }
            }
        }
        points
    }

    /// Everything that round `round`, from 0 on, measures, in the order of the plan.
    pub fn cells(&self, round: u32) -> Vec<LockCell> {
        let cpus: Vec<_> = self.cpus.iter().collect();
        let mut cells = vec![LockCell::Switch];
        for (index, &from) in cpus.iter().enumerate() {
            cells.extend(cpus[index + 1..].iter().map(|&to| LockCell::Line { from, to }));
        }
        for &lock in &self.locks {
            cells.push(LockCell::Free { lock });
            if cpus.len() > 1 {
                cells.extend([LockCell::HandOver { lock }, LockCell::Preempted { lock }]);
            }
            for (threads, hold_ns, think_ns) in self.points() {
                let contest = |watched| LockCell::Contest { lock, threads, hold_ns, think_ns, watched };
                cells.push(contest(false));
                if round < self.watched_rounds {
                    cells.push(contest(true));
                }
            }
        }
        cells
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
        // Switch, one line, free, hand-over, preempted; contests, and in the first round watched ones.
        assert_eq!(plan.cells(0).len(), 5 + 2 * 6);
        assert_eq!(plan.cells(1).len(), 5 + 6);
    }
}
