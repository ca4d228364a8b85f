//! Explains where the CPU-seconds of a traced run went: the timeline, the cause of each wait, the
//! components, and the tables.
//!
//! `trace` turns events into a timeline and charges each CPU-second to a component. `tables`
//! derives phases, commands and locks from it. Pure functions of the recorded events; methods and
//! limits are in `docs/methods/explain.md`.
#![forbid(unsafe_code)]

mod tables;
pub mod trace;

pub use tables::{Lane, Lanes, lanes, trace_view};
