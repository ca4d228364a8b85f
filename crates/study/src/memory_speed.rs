//! Speed of a machine's memory, by the number of CPUs that use it at once.
//!
//! This module holds measurements only.

use serde::{Deserialize, Serialize};

use crate::{Bytes, CpuSet, Nanos};

/// Measurements of the memory with some CPUs at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MemorySpeedPoint {
    /// CPUs that used the memory, each by a thread of its own.
    pub cpus: CpuSet,
    /// Memory that each of them used, none of it shared.
    pub bytes_per_cpu: Bytes,
    /// Bytes that all of them copied per second, in each round.
    pub copy_bytes_per_s: Vec<f64>,
    /// Nanoseconds of one access at random, the mean over the CPUs, in each round.
    pub access_ns: Vec<f64>,
}

/// All measurements of a machine's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MemorySpeed {
    /// Measured sets of CPUs, the smallest first. Each holds the one before it.
    pub points: Vec<MemorySpeedPoint>,
    /// Length of the measurement.
    pub lasted_ns: Nanos,
    /// CPU time of other programs on the measured CPUs meanwhile, in steps of 10 ms.
    pub others_ns: Nanos,
    /// Time that a hypervisor took from the measured CPUs, in steps of 10 ms.
    pub steal_ns: Nanos,
}
