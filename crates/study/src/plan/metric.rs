//! Figures that the command prints: the expression that finds each figure, and its properties known
//! beforehand.
//!
//! Nothing here reads a figure.

use serde::{Deserialize, Serialize};

/// Better direction of a metric: more or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Rate, such as operations per second: more is better.
    Higher,
    /// Cost, such as seconds per operation: less is better.
    Lower,
}

/// Figure that the command prints and that is measured instead of the command's elapsed time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Metric {
    /// Name of the metric, if the user gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub name: Option<String>,
    /// Regular expression; the first group, or else the whole match, is the number. The last match
    /// counts.
    pub regex: String,
    /// Unit to print after the number.
    pub unit: Option<String>,
    /// Better direction of the metric.
    pub better: Better,
}

/// Figure that is kept and shown beside the metric, and that decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FurtherMetric {
    /// Name of the figure; it is unique among the metrics of the plan.
    pub name: String,
    /// Regular expression, as in [`Metric::regex`].
    pub regex: String,
    /// Unit to print after the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub unit: Option<String>,
}

/// Decimal mark of a number; the other of the two marks may separate thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// Decimal point: `1,234.5`.
    Point,
    /// Decimal comma: `1.234,5`.
    Comma,
}
