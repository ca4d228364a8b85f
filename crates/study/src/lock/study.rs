//! Study of locks: its plan, its machine, and its measurements.

use serde::{Deserialize, Serialize};

use super::{LockPlan, LockRun};
use crate::{Host, Nanos, Neighbour, Quiet, StopReason};

/// Name of the schema that this version reads and writes.
pub const LOCK_STUDY_SCHEMA: &str = "morecores.locks/1";

/// Content of `study.json` of a study of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockHeader {
    /// Schema of the study: [`LOCK_STUDY_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// Start of the study, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub created_at_ns: Nanos,
    /// Plan of the measurement.
    pub plan: LockPlan,
    /// Machine of the measurement.
    pub host: Host,
    /// Facts about the end; absent while the study is running and after it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<LockClosing>,
    /// Fields that a later version wrote; they are kept when the file is rewritten.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// Facts that are known only at the end of a study of locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockClosing {
    /// End of the last cell, in nanoseconds of `CLOCK_REALTIME` since 1970.
    pub ended_at_ns: Nanos,
    /// Reason for the end of the measurement.
    pub reason: StopReason,
    /// Busiest other processes, busiest first; also empty in studies of versions that did not
    /// record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// Load of the machine before the first cell; absent in studies of versions that did not record
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
}

/// Study of locks in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LockStudy {
    /// Content of `study.json`.
    pub header: LockHeader,
    /// Readable lines of `cells.jsonl`, in the order of measurement.
    pub runs: Vec<LockRun>,
    /// Number of unreadable lines.
    pub damaged_lines: usize,
}
