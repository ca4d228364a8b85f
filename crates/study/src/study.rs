//! A study: everything recorded about one command on one machine, and the directory that keeps it.
//!
//! ```text
//! NAME.study/
//!   study.json    schema, tool, command, plan, host; rewritten whole, once more when the study ends
//!   runs.jsonl    one line a run, appended the moment the run ends
//!   traces/       of each traced run a JSON file and the stream of its events
//! ```
//!
//! Only measurements are kept; every derived figure is computed again from them. A line that cannot be read is
//! counted and left where it is.

mod kept;
mod traces;

use serde::{Deserialize, Serialize};

use crate::trace::TraceHeader;
use crate::{Command, Host, Nanos, Plan, Run};

pub use kept::StudyWriter;
pub use traces::{DamagedTrace, TraceWriter, read_trace_events, trace_events_path};

/// Name of the schema that this version reads and writes.
pub const STUDY_SCHEMA: &str = "morecores.study/1";

/// Why a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Every median is known as closely as was asked.
    Precise,
    /// The largest number of runs was reached.
    RunsExhausted,
    /// The time for the sweep was used up.
    TimeExhausted,
    /// A run failed.
    RunFailed,
    /// The first run left the later ones next to nothing to do.
    AlreadyDone,
    /// The user or the system asked morecores to stop.
    Interrupted,
}

/// Processes of one name, outside the tree of what was measured, that used CPU time while the study was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Neighbour {
    /// Their name.
    pub name: String,
    /// CPU time that they used between the first and the last run, and that of processes that they started and waited for.
    pub cpu_ns: Nanos,
}

impl Neighbour {
    /// The share of others' CPU time from which one is named: a quarter. A choice: a process that did less does not explain it.
    pub const GOOD_PART: f64 = 0.25;

    /// Whether this one explains a good part of `all` that others used.
    pub fn is_good_part_of(&self, all: Nanos) -> bool {
        all > Nanos::ZERO && self.cpu_ns.as_secs_f64() >= Self::GOOD_PART * all.as_secs_f64()
    }
}

/// What is known only at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Closing {
    /// When the last run had ended: nanoseconds of `CLOCK_REALTIME` since 1970.
    pub ended_at_ns: Nanos,
    /// Why no more runs were made.
    pub reason: StopReason,
    /// The busiest processes outside the command's tree, busiest first.
    pub neighbours: Vec<Neighbour>,
    /// How busy the machine was between runs, where the runs were long enough to spend time on that.
    pub quiet: Option<Quiet>,
}

/// How busy the machine was while nothing was being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quiet {
    /// How long it was watched.
    pub watched_ns: Nanos,
    /// CPU time used meanwhile by everything, over all online CPUs.
    pub busy_ns: Nanos,
    /// Steal meanwhile.
    pub steal_ns: Nanos,
}

/// The content of `study.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`STUDY_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// When it was begun: nanoseconds of `CLOCK_REALTIME` since 1970.
    pub created_at_ns: Nanos,
    /// What was measured.
    pub command: Command,
    /// How.
    pub plan: Plan,
    /// On what.
    pub host: Host,
    /// Absent while the study is being made, and after it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
    /// Fields written by a later version, kept when the file is rewritten.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// A study in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// `study.json`.
    pub header: Header,
    /// The runs that could be read, in the order they were made.
    pub runs: Vec<Run>,
    /// How many lines of `runs.jsonl` could not be read.
    pub damaged_lines: usize,
    /// The traced runs, by CPUs, then n.
    pub traces: Vec<TraceHeader>,
    /// Traces that could not be read.
    pub damaged_traces: Vec<DamagedTrace>,
}
