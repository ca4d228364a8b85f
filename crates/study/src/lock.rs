//! Locks as they are measured: which there are, what is measured of them, and one measurement.
//!
//! Names and shapes. How a lock works is in `morecores-locks`, how it is measured in the workloads, and what follows
//! from the measurements in the analysis.

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
