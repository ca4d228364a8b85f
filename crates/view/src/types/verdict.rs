//! Answer of a study to "will more cores help?", as `morecores show --json` prints it.
//!
//! This module holds types only; `verdict` decides, and `report` words the decision.

use serde::{Deserialize, Serialize};

/// Answer to "will more cores help?".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Some larger count is worth its CPUs: the whole interval of its speedup is above the bound.
    Yes,
    /// No larger count is worth its CPUs: the intervals of all speedups are below the bound.
    No,
    /// The measurements do not tell.
    #[default]
    Unknown,
}

/// Reason for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Yes: some larger count is worth its CPUs.
    WorthIt,
    /// No: no larger count is worth its CPUs.
    NotWorthIt,
    /// No: more CPUs make the command slower.
    Slower,
    /// No: the command used no more CPUs, however many it had.
    UnusedCpus,
    /// Unknown: an interval contains the bound.
    WideInterval,
    /// Unknown: too few runs for an interval.
    TooFewRuns,
    /// Unknown: other programs, the hypervisor or a CPU quota took too much of the CPUs' time.
    CpusTaken,
    /// Unknown: the smallest count ran more threads than it had CPUs, so it is no baseline.
    NoBaseline,
    /// Unknown: the command ran on CPUs that it was not allotted.
    RanOutsideCpus,
    /// Unknown: zeros among the figures have no ratio.
    ZeroFigures,
    /// Unknown: only one CPU count was measured.
    OneCount,
    /// Unknown: the first run left the later runs almost nothing to do.
    AlreadyDone,
    /// Unknown: no run succeeded.
    #[default]
    NothingMeasured,
}

/// Answer of a study, with the figures that decided it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Verdict {
    /// Answer.
    pub answer: Answer,
    /// Reason for the answer.
    pub reason: Reason,
    /// Smallest share of a CPU that an added CPU must bring to be worth it.
    pub worth: f64,
    /// CPU count that decided; null if no counts were compared.
    pub cpus: Option<u32>,
    /// Speedup of `cpus` over the smallest count.
    pub speedup: Option<f64>,
    /// 95% confidence interval of `speedup`.
    pub ci95: Option<[f64; 2]>,
    /// Smallest CPU count that is shown to be about as good as every larger one. Null if the answer
    /// is not yes, or if the intervals do not show which count that is.
    pub up_to: Option<u32>,
    /// Number of rounds, including those already made, that would decide an unknown answer. Null if
    /// the answer is known, or if no number of rounds would decide it.
    pub rounds_needed: Option<u32>,
}
