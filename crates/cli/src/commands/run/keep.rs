//! Keeps each run as it ends, and tells the progress display.

use std::path::Path;

use morecores_measure::executor::{Outcome, Trial};
use morecores_measure::sweep::Keeper;
use morecores_study::{Closing, StudyError, StudyWriter};

use super::super::progress::Progress;

/// Writes runs to a study.
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

    /// Where the study is.
    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    /// How many runs were kept.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Writes what is known only at the end.
    pub(super) fn close(self, closing: Closing) -> Result<(), StudyError> {
        self.writer.close(closing)
    }

    /// Gives the study up: a new one that holds no run goes, any other stays as it is.
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
