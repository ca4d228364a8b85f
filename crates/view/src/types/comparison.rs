//! Two studies beside each other: what changed from BASE to NEW, and whether a condition on that holds.
//!
//! Only shapes, as `morecores compare --json` prints them; the analysis decides what is a difference, the report words it.

use serde::{Deserialize, Serialize};

use crate::{Culprit, Estimate, Losses, Summary, Warning};

/// Name of the schema of [`Comparison`].
pub const COMPARISON_SCHEMA: &str = "morecores.comparison/1";

/// What changed from one study to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// What it is compared with.
    pub base: Compared,
    /// What is compared with it.
    pub new: Compared,
    /// What both are about, where that is not the elapsed time: its unit.
    pub metric: Option<String>,
    /// What else differs between the two than time: a difference may be one of these.
    pub unlike: Vec<Unlike>,
    /// CPU counts that both have, ascending.
    pub points: Vec<ComparedPoint>,
    /// CPU counts of BASE alone.
    pub only_base: Vec<u32>,
    /// CPU counts of NEW alone.
    pub only_new: Vec<u32>,
    /// Differences of the speedup stacks that both have, ascending.
    pub stack: Vec<ComparedStack>,
    /// How many ratios with an interval there are; each has the 95% of all of them together (Bonferroni).
    pub ratios: u32,
    /// The relative difference below which nothing is called a difference, besides noise; 0 where none was asked for.
    pub at_least: f64,
    /// The conditions that were asked about.
    pub conditions: Vec<Judged>,
}

/// One of the two studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Compared {
    /// Where it is.
    pub study: String,
    /// The command's words.
    pub command: Vec<String>,
    /// When it was begun, in seconds since 1970.
    pub created_at_s: f64,
    /// What spoils it.
    pub warnings: Vec<Warning>,
}

/// Something in which the two were not made alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Unlike {
    /// What.
    pub aspect: Aspect,
    /// In BASE, in words.
    pub base: String,
    /// In NEW.
    pub new: String,
}

/// What two studies may differ in besides their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// The command's words.
    Command,
    /// The machine: host name, processor, or how many CPUs are usable.
    Machine,
    /// The kernel's release.
    Kernel,
    /// How the command was held to its CPUs.
    Limit,
    /// Cold or warm caches.
    Cache,
    /// Which CPUs a count is.
    CpuSet,
    /// What `{n}` was at a count.
    N,
    /// The version of morecores.
    Tool,
}

/// What can be said of a ratio of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// NEW is better, beyond the noise.
    Better,
    /// NEW is worse, beyond the noise.
    Worse,
    /// None that could be told from noise.
    None,
    /// Too few runs to tell.
    Unknown,
}

/// One CPU count in both studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedPoint {
    /// How many CPUs.
    pub cpus: u32,
    /// The elapsed time of BASE, in seconds, or its metric where the studies are about one.
    pub base: Summary,
    /// The same of NEW.
    pub new: Summary,
    /// How many runs BASE has.
    pub base_runs: u32,
    /// How many runs NEW has.
    pub new_runs: u32,
    /// `new` over `base`, medians, with the interval of all ratios together.
    pub ratio: Estimate,
    /// Relative difference that chance alone gives (A/A), the larger of the two studies'; null with too few runs.
    pub noise_floor: Option<f64>,
    /// What that says.
    pub difference: Difference,
    /// The same of the speedup; null at the smallest common count.
    pub speedup: Option<ComparedSpeedup>,
}

/// The speedup of both studies over their smallest common count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedSpeedup {
    /// In BASE.
    pub base: f64,
    /// In NEW.
    pub new: f64,
    /// `new` over `base`, with the interval of all ratios together.
    pub ratio: Estimate,
    /// What that says.
    pub difference: Difference,
}

/// The difference of two speedup stacks at one CPU count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ComparedStack {
    /// How many CPUs.
    pub cpus: u32,
    /// The speedup in CPUs of BASE's stack.
    pub base_speedup: f64,
    /// The speedup in CPUs of NEW's stack.
    pub new_speedup: f64,
    /// CPUs that each component takes more in NEW; with the difference of the speedups they add up to nothing. Null where
    /// either cannot tell it.
    pub grown: Losses,
    /// CPUs more that are idle while these ran, most first.
    pub culprits: Vec<Culprit>,
}

/// A condition that was asked about, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Judged {
    /// As it was written.
    pub condition: String,
    /// The figure in BASE; null where the condition is on NEW alone.
    pub base: Option<Estimate>,
    /// The figure in NEW.
    pub new: Estimate,
    /// What stands before the comparison sign: the figure in NEW, or that over the one in BASE.
    pub compared: Estimate,
    /// What stands behind it.
    pub limit: f64,
    /// Whether it is a share of BASE.
    pub of_base: bool,
    /// Whether the condition holds; null where its interval lies on both sides of the limit, or there is none.
    pub holds: Option<bool>,
}
