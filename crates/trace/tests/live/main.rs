//! Traces of real programs on this machine. Each says that it was skipped where nobody may trace.

#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod contexts;
mod held;
mod spinning;
mod support;
mod tree;
mod workers;
