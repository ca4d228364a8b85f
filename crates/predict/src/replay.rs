//! Replay of a program on CPUs that are not available: a discrete-event simulation of its threads'
//! work and waits.
//!
//! A [`Program`] is a traced run without its waits: the demands of each thread, and the events that
//! must precede each step. This module knows neither traces nor studies.

mod bounds;
mod engine;
mod inflation;
mod machine;
mod program;
mod waiting;

pub use bounds::Bounds;
pub use engine::{ReplayResult, replay, replay_on_each};
pub use inflation::{Inflation, Shape};
pub use machine::Machine;
pub use program::{LockPolicy, Program, Script, SharedWork, Step};

/// Number of a thread in the program.
type ThreadNumber = u32;
