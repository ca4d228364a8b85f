//! Subject of an experiment: the program that the cells run.
//!
//! A study has the same form whatever its subject is. A subject determines only the settings in the
//! plan and the content of a run.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::lock::{Laboratory, LockPlan, LockRun};
use crate::{Command, Plan, Record, Run};

/// Subject of an experiment: a command of the user, or a cell program of morecores.
pub trait Subject: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// Kinds of this subject, as `study.json` names them in `subject.kind`.
    const KINDS: &'static [&'static str];
    /// Plan of an experiment with this subject.
    type Plan: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Record of one run.
    type Run: Record + Clone + Debug + PartialEq + Serialize + DeserializeOwned;
}

impl Subject for Command {
    const KINDS: &'static [&'static str] = &["program", "shell"];
    type Plan = Plan;
    type Run = Run;
}

impl Subject for Laboratory {
    const KINDS: &'static [&'static str] = &["locks"];
    type Plan = LockPlan;
    type Run = LockRun;
}
