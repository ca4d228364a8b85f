//! Study: all records about one command on one machine, and the directory that keeps them.
//!
//! ```text
//! NAME.study/
//!   study.json    schema, tool, command, plan, host; rewritten whole, also when the study ends
//!   runs.jsonl    one line a run, appended as soon as the run ends
//!   traces/       a JSON file and an event stream for each traced run
//! ```
//!
//! A study keeps only measurements; every derived figure is computed again from them. A line that
//! cannot be read is counted and left in place.

mod kept;
mod traces;

use serde::{Deserialize, Serialize};

use crate::trace::TraceHeader;
use crate::{Command, Host, Nanos, Plan, Run};

pub use kept::StudyWriter;
pub use traces::{DamagedTrace, TraceWriter, read_trace_events, trace_events_path};

/// Name of the schema that this version reads and writes.
pub const STUDY_SCHEMA: &str = "morecores.study/1";

/// Reason for the end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every median reached the requested precision.
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
pub struct Neighbour {
    /// Name of the processes.
    pub name: String,
    /// CPU time that the processes used between the first and the last run, including that of
    /// children that they waited for.
    pub cpu_ns: Nanos,
}

impl Neighbour {
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
    /// Busiest processes outside the command's tree, busiest first.
    pub neighbours: Vec<Neighbour>,
    /// Load of the machine between runs; absent if the runs were too short to spend time on this
    /// measurement.
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
pub struct Header {
    /// Schema of the study: [`STUDY_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// Start of the study, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub created_at_ns: Nanos,
    /// Measured command.
    pub command: Command,
    /// Plan of the measurement.
    pub plan: Plan,
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
pub struct Study {
    /// Content of `study.json`.
    pub header: Header,
    /// Readable runs, in the order of execution.
    pub runs: Vec<Run>,
    /// Number of unreadable lines in `runs.jsonl`.
    pub damaged_lines: usize,
    /// Traced runs, sorted by CPUs, then by `n`.
    pub traces: Vec<TraceHeader>,
    /// Traces that could not be read.
    pub damaged_traces: Vec<DamagedTrace>,
}
