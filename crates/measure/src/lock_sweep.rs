//! The loop over a study of locks: rounds, the cells of each in an order of its own, until all are measured.
//!
//! Knows neither processes nor files: both are passed in, so that the loop is tested with neither. It goes on where the
//! cells already measured left off.

use std::collections::BTreeSet;

use morecores_study::StopReason;
use morecores_study::lock::{LockCell, LockPlan, LockRun};

use crate::lock_cell::{Laboratory, LockCellError};
use crate::schedule::{Stream, round_order};
use crate::sweep::Pulse;

/// Takes each cell as it ends.
pub trait CellKeeper {
    /// What keeping can fail with.
    type Error;

    /// A cell is about to be measured.
    fn begins(&mut self, round: u32, cell: &LockCell);

    /// It was measured: to be kept before the next begins.
    ///
    /// # Errors
    /// Where it cannot be kept; the sweep ends.
    fn ended(&mut self, run: &LockRun) -> Result<(), Self::Error>;
}

/// Why a sweep could not go on.
#[derive(Debug)]
pub enum LockSweepError<K> {
    /// No cell can be measured.
    Laboratory(LockCellError),
    /// A cell could not be kept.
    Keep(K),
}

/// How a sweep ended.
#[derive(Debug)]
pub struct LockFinish {
    /// Why.
    pub reason: StopReason,
    /// The cells that cannot be measured here. None was tried twice.
    pub failed: Vec<(LockCell, LockCellError)>,
}

/// Measures the cells of `plan` that are not among `done`.
///
/// A cell that fails is left out of the rounds that follow: what a machine cannot do once it cannot do six times, and a
/// lock that hangs would cost its time limit every time.
///
/// # Errors
/// [`LockSweepError`]; all cells before were kept.
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
                // It was cut short by our own end, and is no failure of the cell's.
                Err(_) if pulse.is_interrupted() => return interrupted(failed),
                Err(error) if error.is_of_all() => return Err(LockSweepError::Laboratory(error)),
                Err(error) => failed.push((cell, error)),
            }
        }
    }
    let reason = if failed.is_empty() { StopReason::RunsExhausted } else { StopReason::RunFailed };
    Ok(LockFinish { reason, failed })
}
