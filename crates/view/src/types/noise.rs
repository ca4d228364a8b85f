//! The noise of a machine, as it follows from the repeated loops.

use serde::{Deserialize, Serialize};

use super::Estimate;
use morecores_study::noise::Company;
use morecores_study::{CpuId, CpuSet};

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

/// What follows from a [`Noise`](morecores_study::noise::Noise).
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
