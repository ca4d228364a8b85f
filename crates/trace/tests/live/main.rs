//! Traces of real programs on this machine. Each test reports that it was skipped if tracing is not
//! permitted.

#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod contexts;
mod held;
mod lock_uses;
mod mappings;
mod spinning;
mod support;
mod tree;
mod user_stacks;
mod workers;
