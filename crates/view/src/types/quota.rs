//! Comparison of CPU quotas, as `morecores show --json` prints it.
//!
//! This module holds types only; `crate::quota` computes them.

use morecores_study::QuotaPercent;
use serde::{Deserialize, Serialize};

use super::Estimate;

/// CPU quotas, compared with the largest of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QuotaComparison {
    /// Measured quotas, ascending, each with the best of its values of `{n}`.
    pub quotas: Vec<QuotaView>,
    /// Loss, as a share of the largest quota's speed, up to which a quota is enough.
    pub tolerance: f64,
    /// Number that the command's worker threads or processes follow; absent without traces, if
    /// `{n}` tells the command its count, or if it is not clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub sized_by: Option<SizedBy>,
}

/// Quota with its cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct QuotaView {
    /// Quota, in percent of the time of one CPU.
    pub quota_percent: QuotaPercent,
    /// Best value of `{n}` with this quota.
    pub n: u32,
    /// Speedup of the largest quota over this one; 1 for the largest itself. Its interval is joint
    /// with those of the other quotas.
    pub lead: Estimate,
    /// Position relative to the tolerance.
    pub suffices: Sufficiency,
    /// Throttling by it; null if the kernel did not count it.
    pub throttling: Option<Throttling>,
}

/// Throttling by a quota.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Throttling {
    /// Share of the time for which the command had or wanted a CPU that throttling took: median
    /// over the runs.
    pub share: f64,
    /// Share of the periods in which the quota was used up: median over the runs.
    pub periods_share: f64,
    /// Number of periods of 100 ms of a run: median over the runs.
    pub periods: f64,
}

impl QuotaComparison {
    /// Smallest quota that is enough. The largest one is, compared with itself.
    pub fn smallest_enough(&self) -> Option<&QuotaView> {
        self.quotas.iter().find(|quota| quota.suffices == Sufficiency::Enough)
    }
}

/// Whether a quota is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Sufficiency {
    /// It costs at most the tolerance.
    Enough,
    /// It costs more than the tolerance, or something that is not shown to be within it.
    TooSmall,
    /// The runs do not tell.
    Unknown,
}

/// Number that a command's own count of workers follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SizedBy {
    /// The quota, rounded up.
    Quota,
    /// The CPUs of the machine, or those of the affinity mask, or a number of its own that is no
    /// smaller.
    Machine {
        /// Smallest quota.
        quota_percent: QuotaPercent,
        /// Workers that were ready to run at once with it.
        workers: u32,
    },
}
