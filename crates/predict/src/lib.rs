//! Predictions of elapsed times on machines that are not available, and after hypothetical changes.
//!
//! `demand` turns a timeline into a program without its waits. `replay` runs that program on
//! virtual CPUs. `models` fits closed forms to the measured times. `forecast` weighs all
//! predictions.
//!
//! All functions are pure: a function that uses chance takes a seed as an argument.
//! `docs/methods/predict.md` describes the methods and their measured coverage.
#![forbid(unsafe_code)]

pub mod demand;
pub mod forecast;
pub mod models;
pub mod replay;

/// Examples of `docs/library.md`, which run as tests of this crate: it sees all pure crates.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
mod library {}
