//! Replay of a program on CPUs that are not there: a discrete-event simulation of what its threads do and wait for.
//!
//! A [`Program`] is what is left of a traced run once its waits are taken out: what each thread demands, and what has to have
//! happened before it goes on. Nothing here knows of traces or studies.

mod bounds;
mod engine;
mod inflation;
mod machine;
mod program;
mod waiting;

pub use bounds::Bounds;
pub use engine::{Replayed, replay};
pub use inflation::{Inflation, Shape};
pub use machine::Machine;
pub use program::{Bag, LockPolicy, Program, Script, Step};

/// A thread's number in the program.
type Id = u32;
