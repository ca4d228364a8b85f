//! Names of the lock laboratory's cells, and their expected costs, for the progress line.

use morecores_measure::budget::Costs;
use morecores_study::lock::{LockCell, LockPlan, LockRun};
use morecores_study::{InCell, Nanos, Phase};

use super::super::progress::ProgressText;

/// Time of a cell beyond its window: the start of a process and of its threads. It serves only the
/// estimate of the time left before the cell's first run, so an approximate value suffices.
const OVERHEAD: Nanos = Nanos::from_millis(10);

/// The lock laboratory's part of the progress line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockProgressText;

impl ProgressText for LockProgressText {
    type Cell = LockCell;
    type Outcome = LockRun;

    fn cell_name(&self, cell: &LockCell) -> String {
        cell_name(cell)
    }

    fn count(&mut self, _: &LockRun) -> bool {
        true
    }
}

/// Costs of the cells of a plan before any of them was measured. A run replaces its cell's value.
pub(super) fn expected_costs(plan: &LockPlan) -> Costs {
    let mut costs = Costs::default();
    for planned in plan.experiment().cells {
        let expected = OVERHEAD + plan.cell_window(&planned.cell);
        costs.add(Phase::Warmup, &planned.cell.cell(), expected);
    }
    costs
}

/// Description of a cell for people.
pub(super) fn cell_name(cell: &LockCell) -> String {
    match cell {
        LockCell::Free { lock } => format!("{lock} when it is free"),
        LockCell::Handoff { lock } => format!("{lock} handed over"),
        LockCell::Contention { lock, threads: 1, .. } => format!("{lock} with 1 thread"),
        LockCell::Contention { lock, threads, .. } => format!("{lock} with {threads} threads"),
        LockCell::Preempted { lock } => format!("{lock} with a preempted owner"),
        LockCell::Switch => "a switch between threads".to_owned(),
        LockCell::Line { from, to } => format!("a cache line from CPU {} to {}", from.0, to.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::lock::LockName;
    use morecores_testkit::lock_plan;

    #[test]
    fn before_its_first_run_a_cell_is_expected_to_take_its_window() {
        let plan = lock_plan();
        let mut costs = expected_costs(&plan);
        let cells: Vec<_> = plan.experiment().cells_of_round(0).into_iter().map(InCell::cell).collect();
        // 6 cells and 8 of contention of 10 ms, 2 preempted owners and 8 timed contentions of 300
        // ms.
        assert_eq!(costs.runs(&cells), Some(Nanos::from_millis(14 * 20 + 10 * 310)));
        costs.add(Phase::Timed, &cells[0], Nanos::from_millis(25));
        assert_eq!(costs.runs(&cells), Some(Nanos::from_millis(14 * 20 + 5 + 10 * 310)));
    }

    #[test]
    fn each_cell_has_a_name() {
        let lock = LockName::Mcs;
        let contention = |threads| LockCell::Contention {
            lock,
            threads,
            hold_ns: Nanos::ZERO,
            think_ns: Nanos::ZERO,
            watched: false,
        };
        assert_eq!(
            [cell_name(&contention(1)), cell_name(&contention(4))],
            ["mcs with 1 thread", "mcs with 4 threads"]
        );
    }
}
