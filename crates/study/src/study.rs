//! Study: everything recorded about one experiment on one machine, and the directory that keeps it.
//!
//! ```text
//! NAME.study/
//!   study.json    schema, tool, subject, plan, host; rewritten whole, also when the study ends
//!   runs.jsonl    one line a run, appended as soon as the run ends
//!   traces/       a header and an event stream for each traced run
//! ```
//!
//! A study keeps only measurements; every derived figure is computed again from them. A line that
//! cannot be read is counted and left in place.

mod directory;
mod error;
mod traces;
mod upgrade;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::lock::Laboratory;
use crate::trace::TraceHeader;
use crate::{Command, Host, Nanos, Subject};

pub use directory::{ResumableStudy, StudyRecordWriter};
pub use error::StudyError;
pub(crate) use error::io_error;
pub use traces::{
    DamagedTrace, TraceHeaders, TraceWriter, read_trace_events, read_trace_headers, trace_events_path,
    trace_name,
};

/// Name of the schema that this version writes. It also reads all earlier ones.
pub const STUDY_SCHEMA: &str = "morecores.study/2";

/// Reason for the end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The goal of the plan was reached: the requested precision, or an answer that stands.
    Precise,
    /// The largest number of runs was reached.
    RunsExhausted,
    /// The time for the sweep was used up.
    TimeExhausted,
    /// A run failed.
    RunFailed,
    /// The first run left almost no work to the later runs.
    AlreadyDone,
    /// The user or the system asked morecores to stop.
    Interrupted,
}

/// Processes of one name, outside the measured tree, that used CPU time during the study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct OtherProgram {
    /// Name of the processes.
    pub name: String,
    /// CPU time that the processes used between the first and the last run, including that of
    /// children that they waited for.
    pub cpu_ns: Nanos,
}

impl OtherProgram {
    /// Smallest share of the other processes' CPU time for naming one process: a quarter. This is a
    /// choice: a smaller share does not explain the CPU time.
    pub const GOOD_PART: f64 = 0.25;

    /// Returns whether these processes explain a good part of `all`, the CPU time of all other
    /// processes.
    pub fn is_good_part_of(&self, all: Nanos) -> bool {
        all > Nanos::ZERO && self.cpu_ns.as_secs_f64() >= Self::GOOD_PART * all.as_secs_f64()
    }
}

/// Facts that are known only at the end of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Closing {
    /// End of the last run, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub ended_at_ns: Nanos,
    /// Reason for the end of the sweep.
    pub reason: StopReason,
    /// Busiest processes outside the measured tree, busiest first. Empty in studies of locks of
    /// versions that did not record them.
    #[serde(default, rename = "neighbours")]
    pub other_programs: Vec<OtherProgram>,
    /// Load of the machine before or between the runs; absent if the runs were too short to spend
    /// time on this measurement.
    #[serde(default)]
    pub quiet: Option<Quiet>,
}

/// Load of the machine while nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quiet {
    /// Length of the observation.
    pub watched_ns: Nanos,
    /// CPU time of all processes during the observation, over all online CPUs.
    pub busy_ns: Nanos,
    /// Steal time during the observation.
    pub steal_ns: Nanos,
}

/// Content of `study.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct StudyHeader<S: Subject> {
    /// Schema of the study: [`STUDY_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// Start of the study, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub created_at_ns: Nanos,
    /// Program that the cells run.
    pub subject: S,
    /// Plan of the measurement.
    pub plan: S::Plan,
    /// Machine of the measurement.
    pub host: Host,
    /// Facts about the end; absent while the study is running and after it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
    /// Fields that a later version wrote; they are kept when the file is rewritten.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// Study in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyRecord<S: Subject> {
    /// Content of `study.json`.
    pub header: StudyHeader<S>,
    /// Readable runs, in the order of execution.
    pub runs: Vec<S::Run>,
    /// Number of unreadable lines in `runs.jsonl`.
    pub damaged_lines: usize,
    /// Traced runs, sorted by cell.
    pub traces: Vec<TraceHeader>,
    /// Traces that could not be read.
    pub damaged_traces: Vec<DamagedTrace>,
}

/// Header of a study of a command.
pub type Header = StudyHeader<Command>;
/// Study of a command.
pub type Study = StudyRecord<Command>;
/// Writer of a study of a command.
pub type StudyWriter = StudyRecordWriter<Command>;

impl<S: Subject> StudyRecord<S> {
    /// Creates a study from `study.json` alone, without runs and traces.
    pub const fn new(header: StudyHeader<S>) -> Self {
        Self { header, runs: Vec::new(), damaged_lines: 0, traces: Vec::new(), damaged_traces: Vec::new() }
    }

    /// Reads a study, finished or not. Lines and traces that cannot be read are not fatal; they are
    /// counted or kept separately. The events of the traces are not read; use
    /// [`read_trace_events`](crate::trace::read_trace_events).
    ///
    /// # Errors
    /// [`StudyError::NotAStudy`], [`StudyError::OfLocks`], [`StudyError::OfCommand`],
    /// [`StudyError::NewerSchema`], [`StudyError::DamagedHeader`], [`StudyError::Io`].
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        directory::read(path)
    }

    /// State of this study, which was read from `path`.
    pub fn state(&self, path: &Path) -> StudyState {
        match (directory::is_written_to::<S>(path), self.header.closing.is_some()) {
            (true, _) => StudyState::Measuring,
            (false, true) => StudyState::Ended,
            (false, false) => StudyState::Killed,
        }
    }
}

/// Study of any subject.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyStudy {
    /// Study of a command.
    Command(Box<Study>),
    /// Study of locks.
    Locks(Box<StudyRecord<Laboratory>>),
}

impl AnyStudy {
    /// Reads a study of any subject.
    ///
    /// # Errors
    /// The errors of [`StudyRecord::read`], except those about the subject.
    pub fn read(path: &Path) -> Result<Self, StudyError> {
        directory::read_any(path)
    }

    /// State of this study, which was read from `path`.
    pub fn state(&self, path: &Path) -> StudyState {
        match self {
            Self::Command(study) => study.state(path),
            Self::Locks(study) => study.state(path),
        }
    }
}

/// State of a study on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StudyState {
    /// A process adds to the study.
    Measuring,
    /// The study has ended.
    Ended,
    /// The study has no end, and no process adds to it.
    Killed,
}
