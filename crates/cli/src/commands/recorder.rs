//! Record of a study in the making: its header, and each run as it ends, which the progress display
//! also learns.

use std::path::Path;

use morecores_machine::clock;
use morecores_measure::sweep::{RunRecorder, Trial};
use morecores_study::{Closing, Host, STUDY_SCHEMA, StudyError, StudyHeader, StudyRecordWriter, Subject};

use super::progress::{Progress, ProgressText};

/// Header of a new study.
pub(super) fn new_header<S: Subject>(subject: S, plan: S::Plan, host: Host) -> StudyHeader<S> {
    StudyHeader {
        schema: STUDY_SCHEMA.to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        created_at_ns: clock::realtime(),
        subject,
        plan,
        host,
        closing: None,
        unknown: serde_json::Map::new(),
    }
}

/// Writer of runs to a study.
#[derive(Debug)]
pub(super) struct StudyRecorder<'a, S: Subject, N: ProgressText> {
    writer: StudyRecordWriter<S>,
    progress: &'a Progress<N>,
    runs: Vec<S::Run>,
}

impl<'a, S: Subject, N: ProgressText> StudyRecorder<'a, S, N> {
    pub(super) fn new(writer: StudyRecordWriter<S>, progress: &'a Progress<N>) -> Self {
        Self { writer, progress, runs: Vec::new() }
    }

    /// Path of the study.
    pub(super) fn path(&self) -> &Path {
        self.writer.path()
    }

    /// Runs kept by this writer.
    pub(super) fn runs(&self) -> &[S::Run] {
        &self.runs
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

    fn on_begin(&mut self, trial: &Trial<N::Cell>) {
        self.progress.on_begin(trial);
    }

    fn on_end(&mut self, outcome: &N::Outcome) -> Result<(), StudyError> {
        self.progress.on_end(outcome);
        self.runs.push(outcome.as_ref().clone());
        self.writer.append(outcome.as_ref())
    }
}
