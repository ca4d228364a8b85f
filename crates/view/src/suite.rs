//! The summary of a suite: the published and the measured speedup of each part of the classic benchmarks.
//!
//! Only shapes, shared by the terminal, the JSON, the page and its picture. The report fills them in.

use serde::{Deserialize, Serialize};

/// Speedups then and now of all benchmarks of a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SuiteSummary {
    /// The machine that measured; null without any study.
    pub machine: Option<String>,
    /// One row for each part, in the order of the suite.
    pub rows: Vec<SuiteRow>,
}

/// One part of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SuiteRow {
    /// Name of the benchmark.
    pub benchmark: String,
    /// What sets the part apart within the benchmark.
    pub part: String,
    /// Name of its study.
    pub study: String,
    /// All published speedups on more than one CPU, in the order of the sources.
    pub published: Vec<PublishedSpeedup>,
    /// All measured speedups over one CPU, by ascending CPU count.
    pub measured: Vec<MeasuredSpeedup>,
    /// The published speedup that the row shows; null where none is published.
    pub then: Option<PublishedSpeedup>,
    /// The measured speedup that stands beside it: on as many CPUs where that was measured, otherwise on the most.
    pub now: Option<MeasuredSpeedup>,
    /// Comparison of the two.
    pub verdict: SuiteVerdict,
    /// Reason why there is no measured speedup.
    pub missing: Option<String>,
}

/// A published speedup over one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PublishedSpeedup {
    /// Short name of the machine.
    pub machine: String,
    /// Year of the publication; null where the source gives none.
    pub year: Option<u32>,
    /// CPU count.
    pub cpus: u32,
    /// Time on one CPU over the time on this count.
    pub speedup: f64,
}

/// A measured speedup over one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MeasuredSpeedup {
    /// CPU count.
    pub cpus: u32,
    /// Speedup.
    pub speedup: f64,
    /// Its 95% interval; null with fewer than six runs.
    pub ci95: Option<[f64; 2]>,
}

/// Comparison of the speedups then and now.
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
