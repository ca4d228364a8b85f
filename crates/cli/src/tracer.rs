//! Tracer of this machine and build, as the observer of a run.
//!
//! The command line builds without clang and libbpf too (cargo feature `trace`), and then no tracer
//! opens. Tests supply an observer of their own.

mod code_names;
mod debug_files;
#[cfg_attr(not(feature = "trace"), allow(dead_code, reason = "no tracer opens"))]
mod files;
#[cfg(feature = "trace")]
mod installed;
mod lock_files;

use std::path::{Path, PathBuf};

use anyhow::Result;
use morecores_measure::environment::Environment;
use morecores_measure::observer::RunObserver;
use morecores_measure::program;
use morecores_study::trace::TraceFacts;
use morecores_study::{Command, CpuSet, Plan, Point};

use lock_files::lock_files;

pub(crate) use debug_files::DebugFiles;
pub(crate) use files::{TraceFiles, UnfinishedTrace};
#[cfg(feature = "trace")]
pub(crate) use installed::{check_full, libbpf_version, open};
#[cfg(not(feature = "trace"))]
pub(crate) use missing::{check_full, libbpf_version, open};

/// Tracer for one run at a time.
pub(crate) struct RunTracer {
    /// Watches the run, and writes its events to `files`.
    pub(crate) observer: Box<dyn RunObserver<Observation = TraceFacts>>,
    /// Files of the run's trace.
    pub(crate) files: TraceFiles,
    /// Reason why the trace is incomplete, with the remedy; none for a full trace.
    pub(crate) shortfall: Option<String>,
}

/// Requirements of a traced run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceRequest {
    pub(crate) allotted: CpuSet,
    pub(crate) syscalls: bool,
    /// Files in which the command takes the locks whose holds are counted; none for no such
    /// account.
    pub(crate) lock_files: Vec<PathBuf>,
    /// Number of the trace in its cell, from 0.
    pub(crate) repetition: u32,
}

impl TraceRequest {
    /// Trace with the number 0 that the plan of a study of `command` requires at a point.
    pub(crate) fn new(command: &Command, plan: &Plan, point: &Point) -> Result<Self> {
        let lock_files = if plan.locks.are_exact() {
            let environment = Environment::from_this_process(plan);
            lock_files(&program::file(command, point, &environment)?)?
        } else {
            Vec::new()
        };
        Ok(Self { allotted: point.cpu_set.clone(), syscalls: plan.syscalls, lock_files, repetition: 0 })
    }
}

/// Function that prepares a tracer of runs of the study at a path.
pub(crate) type Open = dyn Fn(&TraceRequest, &Path) -> Result<RunTracer> + Send;

#[cfg(not(feature = "trace"))]
mod missing {
    use super::{Path, Result, RunTracer, TraceRequest};

    pub(crate) fn libbpf_version() -> Option<String> {
        None
    }

    pub(crate) fn open(_: &TraceRequest, _: &Path) -> Result<RunTracer> {
        anyhow::bail!("this morecores was built without its tracer: build it with the cargo feature `trace`")
    }

    pub(crate) fn check_full(wanted: &TraceRequest) -> Result<()> {
        open(wanted, Path::new("")).map(drop)
    }
}
