//! One measurement of the laboratory.

use serde::{Deserialize, Serialize};

use super::LockName;
use crate::{Cell, CpuId, InCell, Nanos, Phase, RunRecord, Surroundings};

/// Cell: the subject of a measurement by one process of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LockCell {
    /// Lock and unlock by one thread, of a lock that no other thread wants.
    Free {
        /// Measured lock.
        lock: LockName,
    },
    /// Time from an unlock on one CPU until a waiting thread on another CPU has the lock.
    #[serde(rename = "hand_over")]
    Handoff {
        /// Measured lock.
        lock: LockName,
    },
    /// Threads that hold the lock and stay away from it in turn.
    #[serde(rename = "contest")]
    Contention {
        /// Measured lock.
        lock: LockName,
        /// Number of threads, pinned to the plan's CPUs in turn.
        threads: u32,
        /// CPU time of each hold of the lock.
        hold_ns: Nanos,
        /// CPU time between two holds of a thread.
        think_ns: Nanos,
        /// Whether every wait is timed, which costs two readings of the clock each time. Such a
        /// measurement is longer, and its throughput is not used.
        watched: bool,
    },
    /// Wait for an owner that is preempted while it holds the lock, because it shares its CPU with
    /// a busy thread.
    Preempted {
        /// Measured lock.
        lock: LockName,
    },
    /// Switch from one thread to another on the same CPU; each thread blocks for the other.
    Switch,
    /// Transfer of a cache line from one CPU to another CPU that wants to write it.
    Line {
        /// CPU that has the line.
        from: CpuId,
        /// CPU that wants the line.
        to: CpuId,
    },
}

impl LockCell {
    /// Lock cell with these coordinates, which are the fields of its record; `None` if they are
    /// those of another subject.
    pub fn from_cell(cell: &Cell) -> Option<Self> {
        serde_json::from_value(serde_json::to_value(cell).ok()?).ok()
    }
}

impl InCell for LockCell {
    fn cell(&self) -> Cell {
        let cell = |what: &str| Cell::default().with("what", what);
        match *self {
            Self::Free { lock } => cell("free").with("lock", lock),
            Self::Handoff { lock } => cell("hand_over").with("lock", lock),
            Self::Preempted { lock } => cell("preempted").with("lock", lock),
            Self::Switch => cell("switch"),
            Self::Line { from, to } => cell("line").with("from", from.0).with("to", to.0),
            Self::Contention { lock, threads, hold_ns, think_ns, watched } => cell("contest")
                .with("lock", lock)
                .with("threads", threads)
                .with("hold_ns", hold_ns)
                .with("think_ns", think_ns)
                .with("watched", watched),
        }
    }
}

/// Result of a measurement of contention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentionSample {
    /// Time from the start of all threads to the end.
    pub window_ns: Nanos,
    /// Number of turns of each thread with the lock.
    pub turns: Vec<u64>,
    /// User time of all threads together, over the window.
    pub user_ns: Nanos,
    /// System time of all threads together, over the window.
    pub system_ns: Nanos,
    /// Longest wait of each thread, including a wait that the end of the window cut short. Present
    /// only if the waits are timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_waits_ns: Option<Vec<Nanos>>,
}

impl ContentionSample {
    /// Holds per second of all threads together.
    pub fn rate(&self) -> f64 {
        self.turns.iter().sum::<u64>() as f64 / self.window_ns.as_secs_f64()
    }
}

/// Result of one process of the laboratory. A time of single operations is the median over many, in
/// fractional nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum LockSample {
    /// Result of [`LockCell::Free`], [`LockCell::Handoff`], [`LockCell::Switch`] and
    /// [`LockCell::Line`].
    Time {
        /// Median time of one operation, in nanoseconds.
        ns: f64,
    },
    /// Result of [`LockCell::Contention`].
    #[serde(rename = "contest")]
    Contention(ContentionSample),
    /// Result of [`LockCell::Preempted`].
    Preempted {
        /// Total length of all waits.
        waited_ns: Nanos,
        /// CPU time of the waiter during the waits.
        burned_ns: Nanos,
        /// Number of waits.
        waits: u64,
    },
}

/// One run of the laboratory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockRun {
    /// Round of the measurement, from 0.
    pub round: u32,
    /// Measured cell.
    pub cell: LockCell,
    /// Result of the measurement.
    pub sample: LockSample,
    /// Time that the hypervisor took from the CPUs during the measurement; absent if the hypervisor
    /// does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<Nanos>,
    /// Activity of the machine since the previous reading; the process of the laboratory is the
    /// tree. Absent if the period is too short to read, and in studies of versions that did not
    /// record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
    /// Fields that a later version wrote.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

impl AsRef<LockRun> for LockRun {
    fn as_ref(&self) -> &LockRun {
        self
    }
}

impl InCell for LockRun {
    fn cell(&self) -> Cell {
        self.cell.cell()
    }
}

impl RunRecord for LockRun {
    fn phase(&self) -> Phase {
        Phase::Timed
    }

    fn round(&self) -> u32 {
        self.round
    }

    /// Time of one operation or of one wait in nanoseconds; of contention, the holds per second of
    /// all threads together.
    fn value(&self) -> f64 {
        match &self.sample {
            LockSample::Time { ns } => *ns,
            LockSample::Contention(contention) => contention.rate(),
            LockSample::Preempted { waited_ns, waits, .. } => waited_ns.0 as f64 / *waits as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coordinates of a cell are the fields of its record.
    #[test]
    fn a_cell_has_the_coordinates_of_its_record() {
        let lock = LockName::ParkingLot;
        let (hold_ns, think_ns) = (Nanos(100), Nanos(7));
        for cell in [
            LockCell::Free { lock },
            LockCell::Handoff { lock },
            LockCell::Preempted { lock },
            LockCell::Switch,
            LockCell::Line { from: CpuId(0), to: CpuId(3) },
            LockCell::Contention { lock, threads: 4, hold_ns, think_ns, watched: true },
        ] {
            assert_eq!(serde_json::to_value(cell).unwrap(), serde_json::to_value(cell.cell()).unwrap());
            assert_eq!(LockCell::from_cell(&cell.cell()), Some(cell));
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let cell = LockCell::Contention {
            lock: LockName::ParkingLot,
            threads: 4,
            hold_ns: Nanos(100),
            think_ns: Nanos(0),
            watched: true,
        };
        let sample = LockSample::Contention(ContentionSample {
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
