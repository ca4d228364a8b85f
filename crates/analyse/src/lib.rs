//! What the runs of a study say.
//!
//! Pure functions of measured numbers: the same numbers always give the same answer, and where chance is
//! used the seed is an argument. This crate must not do I/O, read a clock or print. Methods, their sources
//! and their measured coverage are in `docs/methods.md`.
//!
//! Values are `f64` in whatever unit the caller has (seconds, requests per second); every function here is
//! scale-equivariant, so the unit never matters, and no value may be NaN.
#![forbid(unsafe_code)]

mod assumptions;
pub mod compare;
pub mod demand;
mod design;
pub mod forecast;
mod interval;
pub mod locks;
mod machine_noise;
pub mod memory;
pub mod models;
mod noise;
mod others;
mod ratio;
pub mod replay;
mod sample;
mod scaling;
mod stack;
mod stopping;
mod summary;
mod tables;
pub mod trace;
mod view;

pub use assumptions::{SerialCorrelation, serial_correlation, two_speeds};
pub use design::{Design, MIN_RUNS};
pub use interval::{Interval, median_interval};
pub use locks::locks_view;
pub use machine_noise::machine_noise;
pub use noise::{SameConfiguration, compare_same, noise_floor};
pub use ratio::ratio_interval;
pub use scaling::{Estimate, efficiency, serial_fraction, speedup};
pub use stopping::{Decision, StoppingRule};
pub use summary::{Summary, median, outliers};
pub use tables::{Lane, Lanes, lanes, trace_view};
pub use view::view;
