//! Ranking of the values of `{n}`, as `morecores show --json` prints it.
//!
//! This module holds types only; `crate::ranking` computes them.

use serde::{Deserialize, Serialize};

use super::Estimate;
use morecores_study::Coordinates;

/// Values of `{n}` at one CPU count, compared with the best of them. Further axes have one value
/// each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ranking {
    /// Number of allotted CPUs.
    pub cpus: u32,
    /// Values on further axes.
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub axes: Coordinates,
    /// Value of `{n}` with the best median.
    pub best: u32,
    /// All measured values of `{n}`, in the order of the plan.
    pub values: Vec<RankedValue>,
    /// Certainty of the best, if a search found it (`--tune`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub search: Option<SearchedBest>,
    /// Memory by the value of `{n}`; absent if the kernel did not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub memory: Option<MemoryByN>,
}

/// Memory that a command needs by the value of `{n}`: a straight line through the medians, without
/// the page cache that is left after a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MemoryByN {
    /// Largest measured value of `{n}`.
    pub largest: u32,
    /// Median need with it, in bytes.
    pub largest_bytes: f64,
    /// Bytes that one more adds, by the line.
    pub bytes_per_n: f64,
    /// Memory that the command had, in bytes; null if it is unknown.
    pub limit_bytes: Option<f64>,
    /// Largest value that needs at most that memory, by the line; null if there is none, if it is
    /// far above the measured values, or if no limit is known.
    pub fits: Option<u32>,
}

/// Certainty of the best value of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SearchedBest {
    /// Probability that it is the best of all values.
    pub probability: f64,
    /// Probability that it is as good as the best, within `tolerance`.
    pub probability_as_good: f64,
    /// Difference, as a share, below which values count as equally good.
    pub tolerance: f64,
    /// Timed runs of the search.
    pub runs: u32,
    /// Timed runs of all values in all rounds.
    pub grid_runs: u32,
}

/// Value of `{n}` in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RankedValue {
    /// Value of `{n}`.
    pub n: u32,
    /// Speedup of the best value over this one, the median over the rounds; 1 for the best itself.
    /// Its interval is joint with those of the other values.
    pub lead: Estimate,
    /// Whether no other value is shown to be better; in a search, whether the search did not leave
    /// it out. The value that is truly best is among these with a probability of 95%, in a search
    /// with the probability that it states.
    pub may_be_best: bool,
}
