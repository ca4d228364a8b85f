//! This machine: its CPUs and the usable ones among them, placement, cgroups, limits, the undo
//! journal, and the doctor.
//!
//! Every change to the system is a `Change` in the journal of [`undo`]. This crate must not run the
//! command, compute statistics or print.

pub mod activity;
pub mod cgroup;
pub mod clock;
pub mod counts;
mod diagnosis;
pub mod doctor;
pub mod host;
pub mod kernel_files;
pub mod limit;
pub mod memory_speed;
pub mod noise;
mod pinned_threads;
pub mod placement;
pub mod process;
pub mod taskstats;
pub mod topology;
pub mod undo;

pub use diagnosis::{Area, CheckedFacility, DIAGNOSIS_SCHEMA, Diagnosis, Finding, Remedy, State};
pub use pinned_threads::PinnedThreadError;
