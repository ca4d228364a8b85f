//! The built-in programs: the workloads by which the classic sources measured SMP machines.
//!
//! Each workload has one module. Each is deterministic from its arguments, bounds its memory and
//! checks its own result. A wrong result is reported prominently. The binary `morecores-work` runs
//! one workload once, as a separate process.
//!
//! The locks by name (`lock`), threads that start together (`team`), their clock and the check of
//! the memory also serve the measured side of the lock laboratory, `morecores-lock-cell`.
//!
//! This crate must not link a tracer or statistics: a benchmark does not carry its own measuring
//! instrument. Only `main.rs` prints and exits.

mod barrier;
pub mod build;
mod c_lock;
pub mod cache;
mod cleanup;
pub mod clock;
pub mod count;
pub mod counter;
pub mod kernel_locks;
pub mod keysearch;
pub mod lock;
pub mod matmul;
pub mod memory;
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
pub mod team;
pub mod web;
mod workload;

pub use outcome::{Checksum, Figure, Outcome, Rate, WorkloadError};
pub use team::{Threads, WorkerKind};
pub use workload::Workload;
