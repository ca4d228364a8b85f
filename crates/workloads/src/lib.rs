//! The built-in programs: the workloads by which the classic sources measured SMP machines.
//!
//! Each workload has one module. Each is deterministic from its arguments, bounds its memory and
//! checks its own result. A wrong result is reported prominently. The binary `morecores-work` runs
//! one workload once, as a separate process.
//!
//! This crate must not link a tracer or statistics: a benchmark does not carry its own measuring
//! instrument. Only `main.rs` prints and exits.

mod barrier;
pub mod build;
pub mod cache;
mod cleanup;
mod clock;
pub mod count;
pub mod counter;
pub mod kernel_locks;
pub mod keysearch;
pub mod laboratory;
pub mod matmul;
mod memory;
pub mod multiuser;
mod outcome;
pub mod pipe;
mod processes;
mod programs;
pub mod quicksort;
pub mod raytrace;
mod shared;
mod shortage;
pub mod soften;
mod team;
pub mod web;
mod workload;

pub use outcome::{Checksum, Figure, Outcome, Rate, WorkloadError};
pub use team::{Threads, WorkerKind};
pub use workload::Workload;
