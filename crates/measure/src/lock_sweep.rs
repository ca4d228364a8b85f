//! Loop over a lock study: rounds, with a separate order of the cells in each, until all cells are
//! measured.
//!
//! The loop knows neither processes nor files. Both are passed in, so that tests of the loop need
//! neither. The loop continues after the cells that were already measured.

use std::collections::BTreeSet;

use morecores_study::StopReason;
use morecores_study::lock::{LockCell, LockPlan, LockRun};

use crate::lock_cell::{Laboratory, LockCellError};
use crate::schedule::{Stream, round_order};
use crate::sweep::Pulse;

/// Receives each cell when it ends.
pub trait CellKeeper {
    /// Error of keeping a cell.
    type Error;

    /// Notes the start of a cell's measurement.
    fn begins(&mut self, round: u32, cell: &LockCell);

    /// Keeps a measured cell, before the next one begins.
    ///
    /// # Errors
    /// The cell cannot be kept; the sweep ends.
    fn ended(&mut self, run: &LockRun) -> Result<(), Self::Error>;
}

/// Reason for which a sweep could not continue.
#[derive(Debug)]
pub enum LockSweepError<K> {
    /// No cell can be measured.
    Laboratory(LockCellError),
    /// A cell could not be kept.
    Keep(K),
}

/// End of a sweep.
#[derive(Debug)]
pub struct LockFinish {
    /// Reason for the end.
    pub reason: StopReason,
    /// Cells that cannot be measured on this machine, each tried once.
    pub failed: Vec<(LockCell, LockCellError)>,
}

/// Measures the cells of `plan` that are not among `done`.
///
/// A cell that fails is left out of the following rounds. A machine that cannot measure it once
/// cannot measure it six times, and a lock that hangs would use its time limit every time.
///
/// # Errors
/// [`LockSweepError`]; all earlier cells were kept.
pub fn lock_sweep<K: CellKeeper>(
    plan: &LockPlan,
    done: &[LockRun],
    laboratory: &mut dyn Laboratory,
    keeper: &mut K,
    pulse: &dyn Pulse,
) -> Result<LockFinish, LockSweepError<K::Error>> {
    let done: BTreeSet<(u32, LockCell)> = done.iter().map(|run| (run.round, run.cell)).collect();
    let mut failed: Vec<(LockCell, LockCellError)> = Vec::new();
    for round in 0..plan.rounds {
        let cells = plan.cells(round);
        for position in round_order(plan.seed, Stream::Timed, round, cells.len()) {
            let cell = cells[position];
            if done.contains(&(round, cell)) || failed.iter().any(|(without, _)| *without == cell) {
                continue;
            }
            let interrupted = |failed| Ok(LockFinish { reason: StopReason::Interrupted, failed });
            if pulse.is_interrupted() {
                return interrupted(failed);
            }
            keeper.begins(round, &cell);
            match laboratory.measure(round, &cell) {
                Ok(run) => keeper.ended(&run).map_err(LockSweepError::Keep)?,
                // This process cut the cell short, so the error is no failure of the cell.
                Err(_) if pulse.is_interrupted() => return interrupted(failed),
                Err(error) if error.is_of_all() => return Err(LockSweepError::Laboratory(error)),
                Err(error) => failed.push((cell, error)),
            }
        }
    }
    let reason = if failed.is_empty() { StopReason::RunsExhausted } else { StopReason::RunFailed };
    Ok(LockFinish { reason, failed })
}
