//! A study of locks: what was to be measured, on what, and what was.

use serde::{Deserialize, Serialize};

use super::{LockPlan, LockRun};
use crate::{Host, Nanos, Neighbour, Quiet, StopReason};

/// Name of the schema that this version reads and writes.
pub const LOCK_STUDY_SCHEMA: &str = "morecores.locks/1";

/// The content of `study.json` of a study of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockHeader {
    /// [`LOCK_STUDY_SCHEMA`].
    pub schema: String,
    /// Version of the tool that made the study.
    pub tool: String,
    /// When it was begun: nanoseconds of `CLOCK_REALTIME` since 1970.
    pub created_at_ns: Nanos,
    /// What is measured.
    pub plan: LockPlan,
    /// On what.
    pub host: Host,
    /// Absent while the study is being made, and after it was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<LockClosing>,
    /// Fields written by a later version, kept when the file is rewritten.
    #[serde(flatten)]
    pub unknown: serde_json::Map<String, serde_json::Value>,
}

/// What is known only at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockClosing {
    /// When the last cell had ended: nanoseconds of `CLOCK_REALTIME` since 1970.
    pub ended_at_ns: Nanos,
    /// Why no more were measured.
    pub reason: StopReason,
    /// The busiest other processes, busiest first; empty also in studies of versions that did not look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// How busy the machine was before the first cell; absent in studies of versions that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
}

/// A study of locks in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct LockStudy {
    /// `study.json`.
    pub header: LockHeader,
    /// What could be read of `cells.jsonl`, in the order measured.
    pub runs: Vec<LockRun>,
    /// How many lines could not.
    pub damaged_lines: usize,
}
