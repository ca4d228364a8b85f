//! Statistics of samples: medians and their intervals, ratios, noise, and the stopping rule.
//!
//! All functions are pure: the same numbers always give the same result, and randomised functions
//! take a seed as an argument. `docs/methods/measure.md` gives the methods, their sources and their
//! measured coverage. This crate must not do I/O, read a clock, print, or depend on studies.
//!
//! Values are `f64` in the caller's unit (seconds, requests per second). Every function is
//! scale-equivariant, so that the unit never matters. No value may be NaN.
#![forbid(unsafe_code)]

mod assumptions;
mod design;
mod disturbance;
mod interval;
mod joint;
mod mean;
mod noise;
mod proportion;
mod question;
mod ranking;
mod ratio;
mod round_rule;
mod rounds;
mod scaling;
mod separation;
mod stopping;
mod summary;
mod tuning;

pub use assumptions::has_two_speeds;
pub use design::{Design, MIN_RUNS, runs_for_joint_ratio};
pub use disturbance::Disturbances;
pub use interval::{Interval, Z95, median_interval};
pub use joint::joint_intervals;
pub use mean::{mean, mean_interval};
pub use noise::noise_floor;
pub use proportion::proportion_interval;
pub use question::{Question, QuestionSample, worthwhile_speedup};
pub use ranking::{RankedSample, Ranking, best_of, leads_over, ranking};
pub use ratio::{
    paired_ratio_interval, paired_ratio_interval_with_alpha, ratio_interval, ratio_interval_with_alpha,
    smallest_ratio_alpha,
};
pub use round_rule::{OnDisturbance, RoundRule, Rounds};
pub use rounds::{RoundRatios, round_ratios, values};
pub use scaling::{
    ScalingRatio, efficiency, joint_speedup, run_speedups, scaled_serial_fraction, serial_fraction, speedup,
};
pub use separation::{rounds_until_apart, rounds_until_width};
pub use stopping::{Decision, StoppingRule};
pub use summary::{median, outliers, quantile};
pub use tuning::{Standing, Tuning, TuningState};
