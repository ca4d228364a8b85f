//! Experiment: the cells that are measured, and the schedule of their runs.
//!
//! A cell is one value on each axis. The runs of a command differ in the axes `cpus` and `n`, and
//! in any axis that its plan adds; the cells of the lock laboratory differ in `lock`, `threads`,
//! `hold_ns` and others. The sweep, the budget, the storage and the figures know only cells, so
//! that a new axis needs no code in them. Nothing here measures or decides.

mod axis;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Phase, QUOTA_AXIS, Stop};

pub(crate) use axis::cross_product;
pub use axis::{Axis, AxisSetting, AxisValue, CPUS_AXIS, Coordinates, N_AXIS};

/// Cell: the subject of a run, as one value on each axis. Two runs with equal cells measure the
/// same.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cell(Coordinates);

impl Cell {
    /// Creates the cell of a command: a number of CPUs, a value of `{n}`, and further axes.
    pub fn from_counts(cpus: u32, n: u32, further: &Coordinates) -> Self {
        let mut coordinates = further.clone();
        coordinates.insert(CPUS_AXIS.to_owned(), AxisValue::Number(cpus.into()));
        coordinates.insert(N_AXIS.to_owned(), AxisValue::Number(n.into()));
        Self(coordinates)
    }

    /// The same cell with this value on the axis.
    #[must_use]
    pub fn with(mut self, axis: &str, value: impl Into<AxisValue>) -> Self {
        self.0.insert(axis.to_owned(), value.into());
        self
    }

    /// Value on an axis; `None` if the cell has no value on this axis.
    pub fn get(&self, axis: &str) -> Option<&AxisValue> {
        self.0.get(axis)
    }

    /// Number on an axis; `None` if the axis is absent or not numeric.
    pub fn number(&self, axis: &str) -> Option<u64> {
        self.get(axis)?.number()
    }

    /// Values on the axes other than `cpus` and `n`.
    pub fn further_coordinates(&self) -> Coordinates {
        let mut further = self.0.clone();
        further.retain(|axis, _| axis != CPUS_AXIS && axis != N_AXIS);
        further
    }

    /// Values on the axes that are no amount of CPU time: neither `cpus` nor `n` nor a quota. Cells
    /// that agree in them do the same work, so that a speedup compares them.
    pub fn work_coordinates(&self) -> Coordinates {
        let mut work = self.further_coordinates();
        work.remove(QUOTA_AXIS);
        work
    }

    /// Values by axis, sorted by the name of the axis.
    pub fn coordinates(&self) -> impl Iterator<Item = (&str, &AxisValue)> {
        self.0.iter().map(|(axis, value)| (axis.as_str(), value))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (axis, value)) in self.coordinates().enumerate() {
            write!(f, "{}{axis} = {value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Anything that belongs to one cell: a planned run, a finished run.
pub trait InCell {
    /// Cell of this object.
    fn cell(&self) -> Cell;
}

impl InCell for Cell {
    fn cell(&self) -> Cell {
        self.clone()
    }
}

/// Record of a finished run.
pub trait RunRecord: InCell {
    /// Phase of the run.
    fn phase(&self) -> Phase;

    /// Round of the run, from 0; warm-up rounds are numbered separately.
    fn round(&self) -> u32;

    /// Value of the run, in the unit of its cell: the figure that the experiment is about.
    fn value(&self) -> f64;

    /// Returns whether others took so much CPU time around the run that it decides nothing. The
    /// decision does not depend on the value of the run.
    fn is_disturbed(&self) -> bool {
        false
    }

    /// Value of the run with its round.
    fn round_value(&self) -> RoundValue {
        RoundValue { round: self.round(), value: self.value() }
    }
}

/// Value of one run, with its round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundValue {
    /// Round of the run.
    pub round: u32,
    /// Value of the run, in the unit of its cell.
    pub value: f64,
}

/// Planned cell, with the number of its rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledCell<C> {
    /// Cell, with the facts that its run needs.
    pub cell: C,
    /// Number of rounds that contain this cell, counted from the first round; `None` for all.
    pub rounds: Option<u32>,
    /// Whether the warm-up rounds contain this cell.
    pub warms_up: bool,
}

impl<C> From<C> for ScheduledCell<C> {
    fn from(cell: C) -> Self {
        Self { cell, rounds: None, warms_up: true }
    }
}

/// Consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// A failed run ends the sweep.
    End,
    /// The sweep continues after a failed run; the cell runs again in the next round.
    Continue,
    /// The sweep continues without a cell whose run could not be made.
    LeaveOut,
}

/// Rules of the rounds. A round holds every cell once, in an order that is shuffled for each round.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Seed of the shuffle.
    pub seed: u64,
    /// Number of warm-up rounds before the timed rounds.
    pub warmup: u32,
    /// Rules for the end of the sweep.
    pub stop: Stop,
    /// Consequence of a failed run.
    pub on_failure: OnFailure,
}

/// Cells and their schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment<C> {
    /// Cells, in the order of the plan.
    pub cells: Vec<ScheduledCell<C>>,
    /// Rules of the rounds.
    pub schedule: Schedule,
}

impl<C: InCell> Experiment<C> {
    /// Cells of a round, in the order of the plan.
    pub fn cells_of_round(&self, round: u32) -> Vec<&C> {
        self.positions_of_round(round).map(|(_, cell)| cell).collect()
    }

    /// Cells of a round with their positions in the plan.
    pub fn positions_of_round(&self, round: u32) -> impl Iterator<Item = (usize, &C)> {
        let positions = self.cells.iter().enumerate();
        let in_round =
            positions.filter(move |(_, planned)| planned.rounds.is_none_or(|rounds| round < rounds));
        in_round.map(|(position, planned)| (position, &planned.cell))
    }

    /// Position, for each cell, of the first cell that does the same work: the cell over which a
    /// speedup is computed.
    pub fn base_positions(&self) -> Vec<usize> {
        let work: Vec<Coordinates> =
            self.cells.iter().map(|planned| planned.cell.cell().work_coordinates()).collect();
        let first = |own: &Coordinates| work.iter().position(|other| other == own);
        work.iter().enumerate().map(|(position, own)| first(own).unwrap_or(position)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(mib: u64) -> Coordinates {
        [("size_mib".to_owned(), AxisValue::Number(mib))].into()
    }

    fn schedule() -> Schedule {
        let stop = Stop { precision: None, min_runs: 1, max_runs: 2, max_time: None, budget: None };
        Schedule { seed: 1, warmup: 0, stop, on_failure: OnFailure::End }
    }

    #[test]
    fn a_cell_with_a_number_of_rounds_is_in_the_first_rounds_only() {
        let [always, first] = [1, 2].map(|cpus| Cell::from_counts(cpus, cpus, &Coordinates::new()));
        let cells = vec![always.clone().into(), ScheduledCell { rounds: Some(1), ..first.clone().into() }];
        let experiment = Experiment { cells, schedule: schedule() };
        assert_eq!(experiment.cells_of_round(0), [&always, &first]);
        assert_eq!(experiment.cells_of_round(1), [&always]);
    }

    #[test]
    fn the_base_of_a_cell_differs_only_in_its_cpus() {
        let cells = [(1, 100), (1, 150), (2, 150), (4, 100)];
        let cells = cells.map(|(cpus, mib)| Cell::from_counts(cpus, cpus, &size(mib)).into());
        let experiment = Experiment { cells: cells.into(), schedule: schedule() };
        assert_eq!(experiment.base_positions(), [0, 1, 1, 0]);
        let limited = experiment.cells[0].cell.clone().with(QUOTA_AXIS, 50_u64);
        let cells = vec![experiment.cells[0].clone(), limited.into()];
        assert_eq!(Experiment { cells, ..experiment }.base_positions(), [0, 0]);
    }

    #[test]
    fn a_cell_is_kept_as_the_values_by_axis() {
        let cell = Cell::from_counts(2, 4, &size(150)).with("variant", "mimalloc");
        let text = serde_json::to_string(&cell).unwrap();
        assert_eq!(text, r#"{"cpus":2,"n":4,"size_mib":150,"variant":"mimalloc"}"#);
        assert_eq!(serde_json::from_str::<Cell>(&text).unwrap(), cell);
        assert_eq!(cell.to_string(), "cpus = 2, n = 4, size_mib = 150, variant = mimalloc");
    }
}
