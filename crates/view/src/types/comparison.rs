//! Comparison of two studies: the changes from BASE to NEW, and the verdict on conditions.
//!
//! This module holds types only, as `morecores compare --json` prints them. `crate::compare`
//! decides on the differences, and the report writes the text.

use serde::{Deserialize, Serialize};

use morecores_study::Coordinates;

use crate::{ComponentIntervals, Culprit, Estimate, Losses, Summary, Warning};

/// Name of the schema of [`Comparison`].
pub const COMPARISON_SCHEMA: &str = "morecores.comparison/1";

/// Changes from one study to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// Schema name, [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Study BASE, the reference.
    pub base: ComparedStudy,
    /// Study NEW, compared with BASE.
    pub new: ComparedStudy,
    /// Unit of the metric that both studies measure; null if they measure the elapsed time.
    pub metric: Option<String>,
    /// Other differences between the two studies than time. Each may explain a difference in time.
    pub unlike: Vec<Mismatch>,
    /// Cells in both studies, ascending by CPU count.
    pub points: Vec<ComparedPoint>,
    /// CPU counts in BASE only.
    pub only_base: Vec<u32>,
    /// CPU counts in NEW only.
    pub only_new: Vec<u32>,
    /// Differences between the speedup stacks that both studies have, ascending by CPU count.
    pub stack: Vec<ComparedStack>,
    /// Number of ratios that are tested together. In 95% of comparisons no ratio is called a
    /// difference because of noise alone (Holm).
    pub ratios: u32,
    /// Number of runs of each count that suffices to test so many ratios together.
    #[serde(default)]
    pub sufficient_runs: u32,
    /// Relative difference below which nothing is called a difference, in addition to noise; 0 if
    /// the user set none.
    pub at_least: f64,
    /// Verdicts on the conditions that the user gave.
    pub conditions: Vec<ConditionResult>,
}

/// One of the two studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedStudy {
    /// Path of the study.
    pub study: String,
    /// Words of the command.
    pub command: Vec<String>,
    /// Start of the study, in seconds since 1970.
    pub created_at_s: f64,
    /// Conditions that spoil, or may spoil, the study.
    pub warnings: Vec<Warning>,
}

/// Difference in the making of the two studies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Mismatch {
    /// Differing aspect.
    pub aspect: Aspect,
    /// Value in BASE, in words.
    pub base: String,
    /// Value in NEW, in words.
    pub new: String,
}

/// Aspect in which two studies may differ, other than their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Words of the command and the variables set for it.
    Command,
    /// Machine: host name, processor, or number of usable CPUs.
    Machine,
    /// Release of the kernel.
    Kernel,
    /// Mechanism that confined the command to its CPUs.
    Limit,
    /// Cold or warm caches.
    Cache,
    /// CPUs of one count.
    CpuSet,
    /// Cells of a count in both studies, which differ in the value of `{n}` or of a further axis.
    Cells,
    /// Version of morecores.
    Tool,
}

/// Verdict on a ratio of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// NEW is better, beyond the noise.
    Better,
    /// NEW is worse, beyond the noise.
    Worse,
    /// No difference beyond the noise.
    None,
    /// Too few runs for the level of the joint test.
    Unknown,
}

/// One cell in both studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedPoint {
    /// Number of CPUs.
    pub cpus: u32,
    /// Values on further axes, and `n` if it differs from `cpus`.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Elapsed time of BASE, in seconds; the metric if the studies are about one.
    pub base: Summary,
    /// Elapsed time of NEW, in seconds; the metric if the studies are about one.
    pub new: Summary,
    /// Number of runs in BASE.
    pub base_runs: u32,
    /// Number of runs in NEW.
    pub new_runs: u32,
    /// Ratio of the medians, `new` to `base`. The interval has the level of the joint test of all
    /// ratios; null if the runs are too few for this level.
    pub ratio: Estimate,
    /// Relative difference that chance alone gives (A/A), the larger one of the two studies; null
    /// with fewer than six runs. The verdict does not depend on it.
    pub noise_floor: Option<f64>,
    /// Verdict on the ratio.
    pub difference: Difference,
    /// Comparison of the speedup in this cell; null at the smallest common count of its further
    /// axes.
    pub speedup: Option<ComparedSpeedup>,
}

/// Speedup of both studies over their smallest common count with the same further axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedSpeedup {
    /// Speedup in BASE.
    pub base: f64,
    /// Speedup in NEW.
    pub new: f64,
    /// Ratio of the speedups, `new` to `base`, with an interval as that of the times.
    pub ratio: Estimate,
    /// Verdict on the ratio.
    pub difference: Difference,
}

/// Difference between two speedup stacks at one CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedStack {
    /// Number of CPUs.
    pub cpus: u32,
    /// Values on further axes, and `n` if it differs from `cpus`.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Speedup of BASE's stack, in CPUs.
    pub base_speedup: f64,
    /// Speedup of NEW's stack, in CPUs.
    pub new_speedup: f64,
    /// Growth of each component from BASE to NEW, in CPUs. The growths and the difference between
    /// the speedups add up to zero. Null if either stack cannot tell the component apart.
    pub grown: Losses,
    /// 95% interval of each growth, `[low, high]`. Null if a stack has no intervals, or if a count
    /// was traced only once in either study.
    #[serde(default)]
    pub grown_ci95: Option<ComponentIntervals>,
    /// Growth of the idle CPUs by the command that ran at the time, from BASE to NEW, most first.
    pub culprits: Vec<Culprit>,
}

/// Condition that the user gave, with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ConditionResult {
    /// Condition as the user wrote it.
    pub condition: String,
    /// Figure in BASE; null if the condition is about NEW alone.
    pub base: Option<Estimate>,
    /// Figure in NEW.
    pub new: Estimate,
    /// Left side of the condition: the figure in NEW, or its ratio to the figure in BASE.
    pub compared: Estimate,
    /// Right side of the condition.
    pub limit: f64,
    /// Whether the limit is a share of BASE.
    pub of_base: bool,
    /// Whether the condition holds; null if the interval lies on both sides of the limit, or if
    /// there is no interval.
    pub holds: Option<bool>,
}
