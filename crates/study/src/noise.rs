//! Noise of a machine: repeated times of the same work, on one CPU and on many CPUs at once.
//!
//! This module holds measurements only.

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, Nanos};

/// Other CPUs that ran the loop at the same time as a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuRelation {
    /// No other CPU.
    Alone,
    /// Another hardware thread of the same core.
    Siblings,
    /// Another core of the same package.
    Cores,
    /// Core of another package.
    Packages,
    /// All CPUs that may be used.
    All,
}

/// Measurements of one CPU during a run of the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopThread {
    /// CPU of the thread; the thread could run on no other CPU.
    pub cpu: CpuId,
    /// Wall-clock time of each repetition of the loop, in order.
    pub times_ns: Vec<Nanos>,
    /// Number of times the thread was preempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// Time for which the thread was ready but did not run, because something else ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<Nanos>,
    /// Time that a hypervisor took from the CPU, in steps of 10 ms.
    pub steal_ns: Nanos,
}

/// Run of the loop on some CPUs at once, each in its own thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopRun {
    /// Round of the run, from 0. Every round holds each combination of CPUs once.
    pub round: u32,
    /// Relation of the CPUs to each other.
    #[serde(rename = "company")]
    pub relation: CpuRelation,
    /// Time from the first repetition to the last.
    pub lasted_ns: Nanos,
    /// Measurements of each CPU.
    pub threads: Vec<LoopThread>,
}

impl LoopRun {
    /// CPUs that ran the loop.
    pub fn cpus(&self) -> CpuSet {
        self.threads.iter().map(|thread| thread.cpu).collect()
    }
}

/// All measurements of a machine's noise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    /// Steps of the loop in one repetition; the same for every CPU.
    pub steps: u64,
    /// Runs of the loop, in the order of measurement.
    #[serde(rename = "stretches")]
    pub runs: Vec<LoopRun>,
}
