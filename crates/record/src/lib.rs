//! The nouns of morecores: what is measured, on what, and the directory that keeps it.
//!
//! Everything here is plain data that other crates fill in or compute from. This crate must not measure,
//! decide, compute statistics or print; its only system calls are those that keep a study on a disk.

mod cpu;
mod units;

pub use cpu::{CpuId, CpuSet, ParseCpuSetError};
pub use units::{Bytes, Nanos};
