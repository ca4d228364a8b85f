//! Keeps each cell of a study of locks as the cell ends, and informs the progress display.

use morecores_measure::lock_sweep::CellKeeper;
use morecores_study::StudyError;
use morecores_study::lock::{LockCell, LockClosing, LockRun, LockStudyWriter};

use super::progress::LockProgress;

/// Writer of cells to a study.
#[derive(Debug)]
pub(super) struct CellsKeeper<'a> {
    writer: LockStudyWriter,
    progress: &'a LockProgress,
}

impl<'a> CellsKeeper<'a> {
    pub(super) fn new(writer: LockStudyWriter, progress: &'a LockProgress) -> Self {
        Self { writer, progress }
    }

    /// Writes the closing record, which is known only at the end.
    pub(super) fn close(self, closing: LockClosing) -> Result<(), StudyError> {
        self.writer.close(closing)
    }

    /// Gives the study up. A new study without cells is removed; any other study stays as it is.
    pub(super) fn abandon(self) -> Result<(), StudyError> {
        self.writer.discard()
    }
}

impl CellKeeper for CellsKeeper<'_> {
    type Error = StudyError;

    fn begins(&mut self, round: u32, cell: &LockCell) {
        self.progress.begins(round, cell);
    }

    fn ended(&mut self, run: &LockRun) -> Result<(), StudyError> {
        self.writer.append(run)
    }
}
