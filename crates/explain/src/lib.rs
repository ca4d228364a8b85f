//! Explains where the CPU-seconds of a traced run went: the timeline, the cause of each wait, the
//! components, and the tables.
//!
//! [`DecodedTrace`] holds the timeline of a run, and every figure of the run is a function of it.
//! `trace` turns events into the timeline and charges each CPU-second to a component. `tables`
//! derives phases, commands and locks. Nothing here does I/O; methods and limits are in
//! `docs/methods/explain.md`.
#![forbid(unsafe_code)]

mod decoded_trace;
mod operational_laws;
mod tables;
pub mod trace;

pub use decoded_trace::DecodedTrace;
pub use operational_laws::EventCounts;
pub use tables::{
    CallStack, CommandLanes, Lane, Lanes, Programs, SampledStack, StackFunction, call_stacks, lanes,
    sampled_stacks, serial_phases, trace_view, user_lock_names,
};
