//! The nouns of morecores: what is measured, on what, and the directory that keeps it.
//!
//! Everything here is plain data that other crates fill in or compute from. This crate must not measure,
//! decide, compute statistics or print; its only system calls are those that keep a study on a disk.

mod command;
mod cpu;
mod diagnosis;
mod host;
mod noise;
mod placement;
mod plan;
mod run;
mod study;
mod topology;
mod units;
mod usable;
mod view;

pub use command::{Command, substitute};
pub use cpu::{CpuId, CpuSet, ParseCpuSetError};
pub use diagnosis::{Area, DIAGNOSIS_SCHEMA, Diagnosis, Finding, Remedy, State, Subject};
pub use host::{Frequency, Host};
pub use noise::{Company, CpuNoise, Disturbance, LoopThread, MachineNoise, Noise, Stretch};
pub use placement::{CpuKind, PlacedCpu, Placement};
pub use plan::{Better, Cache, Hooks, Limit, Metric, Output, Plan, Point, Stop, TraceMode};
pub use run::{CpuEstimator, CpuTime, Exit, Phase, Run, Rusage, Surroundings, TreeUsage};
pub use study::{
    Closing, Header, Neighbour, Quiet, STUDY_SCHEMA, StopReason, Study, StudyError, StudyWriter,
};
pub use topology::{CacheKind, Core, CoreClass, CoreType, CpuCache, NumaNode, Package, Topology, Unread};
pub use units::{Bytes, Kilohertz, Nanos};
pub use usable::{CgroupLevel, Quota, Restriction, Usable};
pub use view::{Estimate, MetricView, PointView, Summary, VIEW_SCHEMA, View, Warning};
