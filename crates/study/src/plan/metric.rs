//! Figures that the command prints: by which expression each is found, and what is known of it beforehand.
//!
//! Nothing here reads a figure.

use serde::{Deserialize, Serialize};

/// Whether more or less of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A rate: operations a second.
    Higher,
    /// A cost: seconds an operation.
    Lower,
}

/// A figure that the command prints and that is measured instead of its elapsed time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Metric {
    /// Its name, where the user gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub name: Option<String>,
    /// Regular expression; its first group, or the whole match, is the number. The last match counts.
    pub regex: String,
    /// Unit to print behind the number.
    pub unit: Option<String>,
    /// The better direction.
    pub better: Better,
}

/// A figure that is kept and shown beside the metric, and decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FurtherMetric {
    /// Its name; no other metric of the plan has the same.
    pub name: String,
    /// Regular expression, as in [`Metric::regex`].
    pub regex: String,
    /// Unit to print behind the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub unit: Option<String>,
}

/// What stands before the fraction of a number; the other of the two may stand between its thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// `1,234.5`
    Point,
    /// `1.234,5`
    Comma,
}
