//! Measured locks: the list of locks, the plan of their measurement, and one measurement.
//!
//! This module holds names and data types. The locks themselves are in `morecores-locks`, their
//! measurement is in `morecores-lock-cell`, and `morecores-lock-lab` derives results from it.

mod name;
mod plan;
mod sample;

use serde::{Deserialize, Serialize};

use crate::{StudyHeader, StudyRecord, StudyRecordWriter};

pub use name::{LockName, LockOrigin, UnknownLock, WaitStrategy};
pub use plan::{LockPlan, Think};
pub use sample::{ContentionSample, LockCell, LockRun, LockSample};

/// Subject of a study of locks: the lock laboratory, a cell program of morecores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Laboratory {
    /// `morecores-lock-cell`.
    Locks,
}

/// Header of a study of locks.
pub type LockHeader = StudyHeader<Laboratory>;
/// Study of locks.
pub type LockStudy = StudyRecord<Laboratory>;
/// Writer of a study of locks.
pub type LockStudyWriter = StudyRecordWriter<Laboratory>;
