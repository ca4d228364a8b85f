//! Options of a comparison: conditions, and the smallest difference to report.

use anyhow::Result;
use morecores_view::compare::Condition;

use super::percent;
use crate::args::CompareArgs;

/// Options of `morecores compare`.
#[derive(Debug)]
pub(crate) struct CompareOptions {
    pub(crate) conditions: Vec<Condition>,
    /// Smallest relative difference, as a ratio, not in percent.
    pub(crate) at_least: f64,
}

impl CompareOptions {
    /// Reads the arguments.
    pub(crate) fn new(args: &CompareArgs) -> Result<Self> {
        let conditions = args.fail_if.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let at_least =
            args.at_least.as_deref().map(|text| percent("--at-least", text)).transpose()?.unwrap_or(0.0);
        Ok(Self { conditions, at_least })
    }
}
