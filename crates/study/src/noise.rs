//! The noise of a machine: how long the same work takes again and again, on one CPU and on many at once.
//!
//! Only what was measured.

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, Nanos};

/// With whom a CPU ran the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Company {
    /// By itself.
    Alone,
    /// With another hardware thread of its core.
    Siblings,
    /// With another core of its package.
    Cores,
    /// With a core of another package.
    Packages,
    /// With every CPU that may be used.
    All,
}

/// What one CPU did during a stretch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopThread {
    /// The CPU; the thread could run on no other.
    pub cpu: CpuId,
    /// How long each repetition of the loop took, in order, wall-clock time.
    pub times_ns: Vec<Nanos>,
    /// How often the thread was taken off the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<u64>,
    /// How long it was ready to run and did not, because something else did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<Nanos>,
    /// Time that a hypervisor took from the CPU, in steps of 10 ms.
    pub steal_ns: Nanos,
}

/// A time during which some CPUs ran the loop at once, each in a thread of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The round it belongs to, from 0. Every round holds each combination of CPUs once.
    pub round: u32,
    /// What the CPUs are to each other.
    pub company: Company,
    /// From its first repetition to its last.
    pub lasted_ns: Nanos,
    /// One for each CPU.
    pub threads: Vec<LoopThread>,
}

impl Stretch {
    /// The CPUs that ran.
    pub fn cpus(&self) -> CpuSet {
        self.threads.iter().map(|thread| thread.cpu).collect()
    }
}

/// Everything measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noise {
    /// Steps of the loop in one repetition: the same for every CPU.
    pub steps: u64,
    /// In the order measured.
    pub stretches: Vec<Stretch>,
}
