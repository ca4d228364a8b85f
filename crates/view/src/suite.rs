//! Summary of a suite: the published and the measured speedup of each part of the classic
//! benchmarks.
//!
//! This module holds types only. The terminal, the JSON, the page and its picture share them, and
//! the report fills them in.

use serde::{Deserialize, Serialize};

/// Published and measured speedups of all benchmarks of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SuiteSummary {
    /// Name of the measured machine; null without any study.
    pub machine: Option<String>,
    /// Rows of the summary, one for each part, in the order of the suite.
    pub rows: Vec<SuiteRow>,
}

/// Row of the summary: one part of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SuiteRow {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Name of the part within the benchmark.
    pub part: String,
    /// Name of its study.
    pub study: String,
    /// All published speedups on more than one CPU, in the order of the sources.
    pub published: Vec<PublishedSpeedup>,
    /// All measured speedups over one CPU, by ascending CPU count.
    pub measured: Vec<MeasuredSpeedup>,
    /// Published speedup of the row; null if none is published.
    pub then: Option<PublishedSpeedup>,
    /// Measured speedup of the row: on the published CPU count if that count was measured,
    /// otherwise on the largest measured count.
    pub now: Option<MeasuredSpeedup>,
    /// Comparison of `then` and `now`.
    pub verdict: SuiteVerdict,
    /// Reason why there is no measured speedup.
    pub missing: Option<String>,
}

/// Published speedup over one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PublishedSpeedup {
    /// Short name of the machine.
    pub machine: String,
    /// Year of the publication; null if the source gives none.
    pub year: Option<u32>,
    /// CPU count.
    pub cpus: u32,
    /// Ratio of the time on one CPU to the time on this count.
    pub speedup: f64,
}

/// Measured speedup over one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MeasuredSpeedup {
    /// CPU count.
    pub cpus: u32,
    /// Speedup over one CPU.
    pub speedup: f64,
    /// 95% confidence interval of the speedup; null with fewer than six runs.
    pub ci95: Option<[f64; 2]>,
}

/// Comparison of the published and the measured speedup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum SuiteVerdict {
    /// The published speedup lies below the measured interval.
    Higher,
    /// The published speedup lies above the measured interval.
    Lower,
    /// The published speedup lies in the measured interval.
    NoDifference,
    /// The measured speedup has no interval.
    TooFewRuns,
    /// No published CPU count was measured.
    OtherCounts,
    /// No speedup is published.
    NotPublished,
    /// The part prints a share, so its ratio is no speedup.
    NotASpeed,
    /// There is no study, or none on more than one CPU.
    NotMeasured,
}
