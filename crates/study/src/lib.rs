//! Study on disk: its plan, its runs, its traces, and their types.
//!
//! The types are plain data that other crates fill in or compute from. Nothing here is derived.
//! This crate must not measure, decide, compute statistics or print. Its only system calls keep a
//! study, and the events of its traces, on a disk.

// The check is here because every other crate except the locks depends on this crate: cargo shows
// one line and stops.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "morecores supports Linux on x86-64 only; this target is another (README.md, \"What it runs on\")"
);

mod bandwidth;
mod command;
mod cpu;
mod experiment;
mod host;
pub mod lock;
pub mod memory_speed;
pub mod noise;
mod os_text;
mod placement;
mod plan;
pub mod quantity;
mod run;
mod study;
mod subject;
pub mod topology;
pub mod trace;
mod units;
pub mod usable;

pub use bandwidth::{Bandwidth, QUOTA_AXIS, QuotaPercent};
pub use command::{Command, substitute};
pub use cpu::{CpuId, CpuSet, ParseCpuSetError};
pub use experiment::{
    Axis, AxisSetting, AxisValue, CPUS_AXIS, Cell, Coordinates, Experiment, InCell, N_AXIS, OnFailure,
    RoundValue, RunRecord, Schedule, ScheduledCell,
};
pub use host::{Frequency, Host};
pub use placement::{CpuKind, PlacedCpu, Placement};
pub use plan::{
    Better, Cache, DecimalMark, FurtherMetric, Goal, Hooks, InputContent, InputSource, Limit, LockHolds,
    Metric, Output, Plan, Point, Scaling, Stop, TraceMode, Variable, default_success, holds_n,
};
pub use quantity::Quantity;
pub use run::{
    CpuEstimator, CpuTime, DeviceTime, Exit, Failure, Figure, MOST_TAKEN, MemoryKills, MissingFigure, Phase,
    Run, Rusage, Surroundings, TreeUsage,
};
pub use study::{
    AnyStudy, Closing, Header, OtherProgram, Quiet, ResumableStudy, STUDY_SCHEMA, StopReason, Study,
    StudyError, StudyHeader, StudyRecord, StudyRecordWriter, StudyState, StudyWriter,
};
pub use subject::Subject;
pub use units::{Bytes, Kilohertz, Nanos};
