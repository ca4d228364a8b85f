//! The built-in programs: the workloads by which the classic sources measured SMP machines.
//!
//! One module a workload. Each is deterministic from its arguments, bounds its memory, checks its own result and
//! says so loudly if it is wrong. The binary `morecores-work` runs one of them once, as a process of its own.
//!
//! This crate must not link a tracer or statistics: a benchmark does not carry its own measuring instrument. It
//! does not print or exit either; `main.rs` alone does.

pub mod build;
pub mod cache;
mod clock;
pub mod count;
pub mod counter;
mod gate;
mod guard;
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
pub use team::{By, Threads};
pub use workload::Workload;
