//! A program's own account at its end: one line of JSON in a file that the judge reads.
//!
//! The account holds clock readings of the program alone; each program's `expected` turns them into
//! components.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::AccuracyError;

/// A program's own account. A quantity that the program does not measure is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// CPU time of the program and its children, in seconds.
    pub cpu_s: f64,
    /// Time that the program's threads were blocked by its subject (a lock, a disk), by
    /// `CLOCK_MONOTONIC` around the wait; summed over the threads, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// Idle time of the program's CPUs, by the kernel's account, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<f64>,
    /// Time that the program's threads were runnable and did not run, by the scheduler's account,
    /// in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_s: Option<f64>,
    /// Whether the kernel gave the program the large pages that it requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_pages: Option<bool>,
    /// CPU time that a process outside the tree took meanwhile, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_s: Option<f64>,
}

impl Truth {
    /// Writes the account as one line.
    pub fn write(&self, path: &Path) -> Result<(), AccuracyError> {
        let file = |error| AccuracyError::File { what: "write", path: path.to_owned(), error };
        let line = serde_json::to_string(self).map_err(|error| file(error.into()))?;
        fs::write(path, line + "\n").map_err(file)
    }

    /// Reads the output of [`write`](Self::write).
    pub fn read(path: &Path) -> Result<Self, AccuracyError> {
        let file = |error| AccuracyError::File { what: "read", path: path.to_owned(), error };
        serde_json::from_str(&fs::read_to_string(path).map_err(file)?).map_err(|error| file(error.into()))
    }
}
