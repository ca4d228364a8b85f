//! Is it true what a trace says? Programs whose truth is known, and the judge that holds the report against it.
//!
//! A truth is set by how the program is built (so much work in turn, so much at once) or, where no closed form is
//! exact, taken by the program's own clocks. It never comes from the tracer: this crate links neither tracer nor
//! analysis, it runs `morecores trace --json` and reads the result. Nothing here is installed, and only `main.rs`
//! prints and exits.

pub mod accounts;
pub mod case;
pub mod clock;
pub mod disturbance;
mod error;
mod expected;
pub mod judge;
pub mod lock_count;
pub mod neighbour;
pub mod program;
pub mod quiet;
pub mod session;
pub mod table;
mod truth;
mod wait;

pub use error::AccuracyError;
pub use expected::{Count, Counted, Expected, Part, Share, Source};
pub use truth::Truth;
