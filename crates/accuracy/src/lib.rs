//! Test of a trace's truth: programs with known truth, and the judge that compares the report with
//! it.
//!
//! A truth follows from the construction of the program (so much work in turn, so much at once).
//! Where no closed form is exact, the program's own clocks measure it. A truth never comes from the
//! tracer: this crate links neither tracer nor analysis; it runs `morecores trace --json` and reads
//! the result. Nothing here is installed, and only `main.rs` prints and exits.

pub mod accounts;
pub mod case;
pub mod clock;
pub mod compiled;
pub mod disturbance;
mod error;
mod expected;
mod function_names;
pub mod judge;
pub mod lock_count;
pub mod neighbour;
mod output;
pub mod program;
pub mod python;
pub mod quiet;
pub mod session;
pub mod table;
mod truth;
mod wait;

pub use error::AccuracyError;
pub use expected::{
    Count, CountedEvent, ExpectedReport, FunctionName, Part, Proportion, Share, ShareBound, Source,
};
pub use truth::{FunctionTruth, Truth};
