//! Noise of a machine, derived from the repeated loops.

use serde::{Deserialize, Serialize};

use super::Estimate;
use morecores_study::noise::CpuRelation;
use morecores_study::{CpuId, CpuSet};

/// Noise of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuNoise {
    /// CPU.
    pub cpu: CpuId,
    /// Number of repetitions that the CPU ran alone.
    pub repetitions: u32,
    /// Median time of these repetitions.
    pub median_s: f64,
    /// 1.4826 times the median absolute deviation, divided by the median. For normal noise this
    /// equals the standard deviation.
    pub spread: f64,
    /// Ratio of the median of its slowest round to that of its fastest, minus one: the drift of its
    /// speed over seconds.
    pub drift: f64,
    /// Share of its time alone in which something else ran in place of the loop; null if the kernel
    /// does not report it.
    pub waited: Option<f64>,
    /// Number of times per second that the kernel took the loop off the CPU.
    pub switches_per_s: Option<f64>,
    /// Share of its time, alone or with other CPUs, that a hypervisor took.
    pub steal: f64,
    /// Ratio of the time of a repetition with all usable CPUs busy to its time alone; null with
    /// only one CPU.
    pub slowdown: Option<f64>,
}

/// Disturbance of some CPUs by each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Relation between the CPUs.
    #[serde(rename = "company")]
    pub relation: CpuRelation,
    /// CPUs that ran together.
    pub cpus: CpuSet,
    /// Ratio of the time of a repetition with these CPUs to its time alone, over the CPUs that were
    /// measured alone.
    pub slowdown: Estimate,
    /// CPU with the largest slowdown.
    pub worst_cpu: CpuId,
    /// Slowdown of that CPU.
    pub worst: f64,
}

/// Figures derived from a [`Noise`](morecores_study::noise::Noise).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNoise {
    /// Median time of a repetition alone, over the CPUs.
    pub loop_s: f64,
    /// Number of values in each of the two compared arms.
    pub arm: u32,
    /// Number of comparisons behind the floor.
    pub comparisons: u32,
    /// Relative difference (larger over smaller, minus one) between the medians of two arms of the
    /// *same* work on the same CPU. 95% of the comparisons stay within the floor. Null with too few
    /// repetitions.
    pub floor: Option<f64>,
    /// Ratio of the slowest CPU's median to the fastest CPU's, minus one, each alone.
    pub between_cpus: f64,
    /// CPUs that were measured alone.
    pub cpus: Vec<CpuNoise>,
    /// Disturbances by relation of the CPUs; all CPUs together comes last.
    pub disturbances: Vec<Disturbance>,
}
