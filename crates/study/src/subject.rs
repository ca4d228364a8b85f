//! Subject of an experiment: the program that the cells run.
//!
//! Studies of all subjects have the same form. A subject determines only the settings in the
//! plan and the content of a run.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lock::{Laboratory, LockPlan, LockRun};
use crate::{Command, Plan, Run, RunRecord};

/// Subject of an experiment: a command of the user, or a cell program of morecores.
pub trait Subject: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// Kinds of this subject, as `study.json` names them in `subject.kind`.
    const KINDS: &'static [&'static str];
    /// Name of the file of the runs in an earlier schema, if it was another.
    const EARLIER_LINES: Option<&'static str> = None;
    /// Plan of an experiment with this subject.
    type Plan: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Record of one run.
    type Run: RunRecord + Clone + Debug + PartialEq + Serialize + DeserializeOwned;
}

impl Subject for Command {
    const KINDS: &'static [&'static str] = &["program", "shell"];
    type Plan = Plan;
    type Run = Run;
}

impl Subject for Laboratory {
    const KINDS: &'static [&'static str] = &["locks"];
    const EARLIER_LINES: Option<&'static str> = Some("cells.jsonl");
    type Plan = LockPlan;
    type Run = LockRun;
}
