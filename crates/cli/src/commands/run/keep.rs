//! Keeps each run as it ends, and informs the progress display.

use std::path::Path;

use morecores_measure::executor::{Outcome, Trial};
use morecores_measure::sweep::Keeper;
use morecores_study::{Closing, StudyError, StudyWriter};

use super::super::progress::Progress;

/// Writer of runs to a study.
#[derive(Debug)]
pub(super) struct StudyKeeper<'a> {
    writer: StudyWriter,
    progress: &'a Progress,
    made: usize,
}

impl<'a> StudyKeeper<'a> {
    pub(super) fn new(writer: StudyWriter, progress: &'a Progress) -> Self {
        Self { writer, progress, made: 0 }
    }

    /// Path of the study.
    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Number of runs kept by this writer.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Writes the closing record, which is known only at the end.
    pub(super) fn close(self, closing: Closing) -> Result<(), StudyError> {
        self.writer.close(closing)
    }

    /// Gives the study up. A new study without runs is removed; any other study stays as it is.
    pub(super) fn abandon(self) -> Result<(), StudyError> {
        self.writer.discard()
    }
}

impl Keeper for StudyKeeper<'_> {
    type Error = StudyError;

    fn begins(&mut self, trial: &Trial) {
        self.progress.begins(trial);
    }

    fn ended(&mut self, outcome: &Outcome) -> Result<(), StudyError> {
        self.made += 1;
        self.progress.ended(outcome);
        self.writer.append(&outcome.run)
    }
}
