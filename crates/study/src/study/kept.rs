//! Storage of a study of a command: its runs, and its traces beside them.

use std::path::Path;

use super::{Closing, Header, STUDY_SCHEMA, Study, traces};
use crate::Run;
use crate::kept::{self, Studied, StudyError};

/// Writer of a study of a command.
pub type StudyWriter = kept::StudyWriter<Study>;

impl Studied for Study {
    type Header = Header;
    type Line = Run;
    type Closing = Closing;
    const SCHEMA: &'static str = STUDY_SCHEMA;
    const LINES: &'static str = "runs.jsonl";
    const APPEND: &'static str = "append a run to";

    fn of(header: Header, runs: Vec<Run>, damaged_lines: usize) -> Self {
        Self { runs, damaged_lines, ..Self::new(header) }
    }

    fn header(&mut self) -> &mut Header {
        &mut self.header
    }

    fn close(header: &mut Header, closing: Option<Closing>) {
        header.closing = closing;
    }

    fn read_besides(&mut self, path: &Path) -> Result<(), StudyError> {
        let traces = traces::read(path)?;
        (self.traces, self.damaged_traces) = (traces.whole, traces.damaged);
        Ok(())
    }

    fn clean_besides(path: &Path) -> Result<(), StudyError> {
        traces::clean(path)
    }
}

impl Study {
    /// Creates a study from `study.json` alone, without runs and traces.
    pub const fn new(header: Header) -> Self {
        Self { header, runs: Vec::new(), damaged_lines: 0, traces: Vec::new(), damaged_traces: Vec::new() }
    }

    /// Reads a study, finished or not. Lines and traces that cannot be read are not fatal; they are
    /// kept separately. The events of the traces are not read; use
    /// [`read_trace_events`](crate::read_trace_events).
    ///
    /// # Errors
    /// [`StudyError::NotAStudy`], [`StudyError::OfLocks`], [`StudyError::NewerSchema`],
    /// [`StudyError::DamagedHeader`], [`StudyError::Io`].
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        kept::read(path)
    }
}
