//! The nouns of morecores: what is measured, on what, and the directory that keeps it.
//!
//! Everything here is plain data that other crates fill in or compute from. This crate must not measure,
//! decide, compute statistics or print; its only system calls are those that keep a study on a disk.

mod cpu;
mod host;
mod plan;
mod run;
mod study;
mod units;
mod view;

pub use cpu::{CpuId, CpuSet, ParseCpuSetError};
pub use host::{Frequency, Host};
pub use plan::{Better, Cache, Command, Hooks, Limit, Metric, Output, Plan, Point, Stop, TraceMode};
pub use run::{CpuEstimator, CpuTime, Exit, Phase, Run, Rusage, Surroundings, TreeUsage};
pub use study::{
    Closing, Header, Neighbour, Quiet, STUDY_SCHEMA, StopReason, Study, StudyError, StudyWriter,
};
pub use units::{Bytes, Nanos};
pub use view::{Estimate, MetricView, PointView, Summary, VIEW_SCHEMA, View, Warning};
