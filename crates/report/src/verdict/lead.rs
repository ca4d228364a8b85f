//! Lead of one measured value over another, in words.

use morecores_view::Estimate;

use super::ComparedQuantity;
use crate::format::{figure_with_bounds, ratio};

/// Speedup from which "times as fast" says more than a percentage. A choice.
const LEAST_TIMES: f64 = 2.0;

/// Lead over the value of this name: `4% ahead of -j2 (95% interval 1% to 7%)`.
pub(super) fn ahead_of(name: &str, lead: Estimate, compared: &ComparedQuantity) -> String {
    let interval = |[low, high]: [String; 2]| format!(" (95% interval {low} to {high})");
    if lead.value < LEAST_TIMES {
        let share = |times: f64| (times - 1.0) * 100.0;
        let (value, ends) = figure_with_bounds(share(lead.value), lead.ci95.map(|ends| ends.map(share)));
        let ends = ends.map(|ends| interval(ends.map(|end| format!("{end}%")))).unwrap_or_default();
        return format!("{value}% ahead of {name}{ends}");
    }
    let as_good = if *compared == ComparedQuantity::Time { "as fast" } else { "as good" };
    let ends = lead.ci95.map(|ends| interval(ends.map(ratio))).unwrap_or_default();
    format!("{} times {as_good} as {name}{ends}", ratio(lead.value))
}
