//! Keeps each run of a study as it ends, and informs the progress display.

use std::path::Path;

use morecores_measure::sweep::{RunRecorder, Trial};
use morecores_study::{Closing, StudyError, StudyRecordWriter, Subject};

use super::progress::{Progress, ProgressText};

/// Writer of runs to a study.
#[derive(Debug)]
pub(super) struct StudyRecorder<'a, S: Subject, N: ProgressText> {
    writer: StudyRecordWriter<S>,
    progress: &'a Progress<N>,
    made: usize,
}

impl<'a, S: Subject, N: ProgressText> StudyRecorder<'a, S, N> {
    pub(super) fn new(writer: StudyRecordWriter<S>, progress: &'a Progress<N>) -> Self {
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

impl<S: Subject, N: ProgressText<Outcome: AsRef<S::Run>>> RunRecorder<N::Cell, N::Outcome>
    for StudyRecorder<'_, S, N>
{
    type Error = StudyError;

    fn begins(&mut self, trial: &Trial<N::Cell>) {
        self.progress.begins(trial);
    }

    fn ended(&mut self, outcome: &N::Outcome) -> Result<(), StudyError> {
        self.made += 1;
        self.progress.ended(outcome);
        self.writer.append(outcome.as_ref())
    }
}
