//! The noise of a machine: how long the same work takes again and again, on one CPU and on many at once.
//!
//! [`Noise`] is what was measured, [`MachineNoise`] what follows from it; the latter is computed elsewhere.

use serde::{Deserialize, Serialize};

use crate::{CpuId, CpuSet, Estimate, Nanos};

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

/// What is known of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: CpuId,
    /// Repetitions that it ran alone.
    pub repetitions: u32,
    /// Their median, alone.
    pub median_s: f64,
    /// 1.4826 times the median absolute deviation, over the median: the standard deviation, were the noise
    /// normal.
    pub spread: f64,
    /// The median of its slowest round over that of its fastest, less one: how its speed wanders in seconds.
    pub drift: f64,
    /// Share of its time alone in which something else ran in its stead; null where the kernel does not tell.
    pub waited: Option<f64>,
    /// Times that it was taken off the CPU, per second.
    pub switches_per_s: Option<f64>,
    /// Share of its time, in company or not, that a hypervisor took.
    pub steal: f64,
    /// How many times as long a repetition takes with all usable CPUs busy as alone; null where there was only one.
    pub slowdown: Option<f64>,
}

/// How much some CPUs disturb each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// What they are to each other.
    pub company: Company,
    /// Which.
    pub cpus: CpuSet,
    /// How many times as long a repetition takes in this company as alone, over the CPUs that were measured alone.
    pub slowdown: Estimate,
    /// The CPU that suffers most.
    pub worst_cpu: CpuId,
    /// By how much.
    pub worst: f64,
}

/// What follows from a [`Noise`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNoise {
    /// Median length of a repetition alone, over the CPUs.
    pub loop_s: f64,
    /// Values in each of the two arms that were compared.
    pub arm: u32,
    /// How many comparisons the floor rests on.
    pub comparisons: u32,
    /// The relative difference, larger over smaller less one, that the medians of two arms of the *same* work
    /// on the same CPU stay within in 95% of comparisons; null with too few repetitions.
    pub floor: Option<f64>,
    /// The slowest CPU's median over that of the fastest, less one, each alone.
    pub between_cpus: f64,
    /// Each CPU that was measured alone.
    pub cpus: Vec<CpuNoise>,
    /// Each company, all CPUs at once last.
    pub disturbances: Vec<Disturbance>,
}
