//! One measurement of the laboratory.

use serde::{Deserialize, Serialize};

use super::LockName;
use crate::{CpuId, Nanos, Surroundings};

/// What is measured by one process of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LockCell {
    /// A lock and an unlock by one thread of a lock that nobody else wants.
    Free {
        /// Which lock.
        lock: LockName,
    },
    /// From an unlock on one CPU until a thread that waited on another has the lock.
    HandOver {
        /// Which lock.
        lock: LockName,
    },
    /// Threads that hold the lock and stay away from it in turn.
    Contest {
        /// Which lock.
        lock: LockName,
        /// How many threads, pinned to the plan's CPUs in turn.
        threads: u32,
        /// CPU time for which the lock is held each time.
        hold_ns: Nanos,
        /// CPU time between two holds of a thread.
        think_ns: Nanos,
        /// Whether every wait is timed, which costs two readings of the clock each time: such a contest is longer, and
        /// its throughput counts for nothing.
        watched: bool,
    },
    /// Waiting for an owner that shares its CPU with a busy thread and so is taken off it while it holds the lock.
    Preempted {
        /// Which lock.
        lock: LockName,
    },
    /// From one thread to another on the same CPU, each blocking for the other.
    Switch,
    /// A cache line's way from one CPU to another that wants to write it.
    Line {
        /// Where it is.
        from: CpuId,
        /// Where it is wanted.
        to: CpuId,
    },
}

/// What came of a contest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContestSample {
    /// From the start of all threads to the end.
    pub window_ns: Nanos,
    /// How often each thread had the lock.
    pub turns: Vec<u64>,
    /// User time of the threads together, over the window.
    pub user_ns: Nanos,
    /// System time of the threads together, over the window.
    pub system_ns: Nanos,
    /// The longest wait of each thread, one that the end of the window cut short included. Watched contests alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_waits_ns: Option<Vec<Nanos>>,
}

/// What one process of the laboratory found. A time of single operations is the median over many, in nanoseconds with a
/// fraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum LockSample {
    /// Of [`LockCell::Free`], [`LockCell::HandOver`], [`LockCell::Switch`] and [`LockCell::Line`].
    Time {
        /// The median.
        ns: f64,
    },
    /// Of [`LockCell::Contest`].
    Contest(ContestSample),
    /// Of [`LockCell::Preempted`].
    Preempted {
        /// For how long the waiter waited, all its waits together.
        waited_ns: Nanos,
        /// Its CPU time meanwhile.
        burned_ns: Nanos,
        /// How many waits these were.
        waits: u64,
    },
}

/// One line of `cells.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockRun {
    /// Which round, from 0 on.
    pub round: u32,
    /// What was measured.
    pub cell: LockCell,
    /// What was found.
    pub sample: LockSample,
    /// Time that the hypervisor took from the CPUs meanwhile, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<Nanos>,
    /// What the machine did since the reading before, with the process of the laboratory as its tree. Absent where that is too short to be
    /// read, and in studies of versions that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
    /// Fields written by a later version.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let cell = LockCell::Contest {
            lock: LockName::ParkingLot,
            threads: 4,
            hold_ns: Nanos(100),
            think_ns: Nanos(0),
            watched: true,
        };
        let sample = LockSample::Contest(ContestSample {
            window_ns: Nanos(5),
            turns: vec![1, 2],
            user_ns: Nanos(3),
            system_ns: Nanos(1),
            longest_waits_ns: Some(vec![Nanos(1), Nanos(4)]),
        });
        let run = LockRun {
            round: 3,
            cell,
            sample,
            steal_ns: None,
            surroundings: None,
            unknown: serde_json::Map::new(),
        };
        let line = serde_json::to_string(&run).unwrap();
        assert!(line.contains(r#""what":"contest","lock":"parking-lot","threads":4"#), "{line}");
        assert_eq!(serde_json::from_str::<LockRun>(&line).unwrap(), run);
    }
}
