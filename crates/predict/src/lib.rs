//! Elapsed times on machines that are not here, and after changes that were not made.
//!
//! `demand` turns a timeline into a program without its waits, `replay` runs that program on virtual CPUs, `models` fits
//! closed forms to the measured times, and `forecast` weighs all of them. Pure functions: a seed is an argument where chance
//! is used. Methods and their measured coverage are in `docs/methods/predict.md`.
#![forbid(unsafe_code)]

pub mod demand;
pub mod forecast;
pub mod models;
pub mod replay;
