//! Measured locks: the list of locks, the plan of their measurement, and one measurement.
//!
//! This module holds names and data types. The locks themselves are in `morecores-locks`, their
//! measurement is in the workloads, and the analysis derives results from the measurements.

mod kept;
mod name;
mod plan;
mod sample;
mod study;
mod tuning;

pub use kept::LockStudyWriter;
pub use name::{LockName, UnknownLock, Waits, Whose};
pub use plan::{LockPlan, Think};
pub use sample::{ContestSample, LockCell, LockRun, LockSample};
pub use study::{LOCK_STUDY_SCHEMA, LockClosing, LockHeader, LockStudy};
pub use tuning::SpinTuning;
