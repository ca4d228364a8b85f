//! A study of locks in words and tables: which lock to take, the cost of waiting, and each lock
//! under contention.
//!
//! This module only words the results and chooses the columns. `terminal`, `markdown` and `page`
//! decide the layout; the analysis decides which lock is best.

pub(crate) mod advice;
pub(crate) mod notices;
pub(crate) mod prices;
pub(crate) mod tables;

use morecores_study::Quantity;
use morecores_view::Estimate;

use crate::format::with_ends;

/// Estimate of a time in nanoseconds, in seconds.
pub(crate) fn in_seconds(ns: &Estimate) -> Estimate {
    Estimate { value: ns.value * 1e-9, ci95: ns.ci95.map(|ends| ends.map(|end| end * 1e-9)) }
}

/// Measured time in nanoseconds with the ends of its interval, all in the unit that suits it: `4.42
/// ns [4.38, 4.51]`.
pub(crate) fn time_with_ends(ns: &Estimate) -> String {
    with_ends(Quantity::Time, &in_seconds(ns))
}

/// Measured time in nanoseconds without the ends of its interval.
pub(crate) fn time(ns: f64) -> String {
    Quantity::Time.text(ns * 1e-9)
}
