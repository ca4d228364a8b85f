//! Statistics of samples: medians and their intervals, ratios, noise, and when to stop.
//!
//! Pure functions: the same numbers always give the same answer, and a seed is an argument where chance is used. Methods,
//! their sources and their measured coverage are in `docs/methods/measure.md`. This crate must not do I/O, read a clock, print, or
//! know studies.
//!
//! Values are `f64` in the caller's unit (seconds, requests per second). Every function is scale-equivariant, so the unit
//! never matters. No value may be NaN.
#![forbid(unsafe_code)]

mod assumptions;
mod design;
mod interval;
mod noise;
mod ratio;
mod scaling;
mod stopping;
mod summary;

pub use assumptions::{SerialCorrelation, serial_correlation, two_speeds};
pub use design::{Design, MIN_RUNS};
pub use interval::{Interval, median_interval};
pub use noise::{SameConfiguration, compare_same, noise_floor};
pub use ratio::{ratio_interval, ratio_interval_missing};
pub use scaling::{Estimate, efficiency, serial_fraction, speedup};
pub use stopping::{Decision, StoppingRule};
pub use summary::{Summary, median, outliers};
