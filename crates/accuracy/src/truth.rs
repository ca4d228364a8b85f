//! What a program says of itself when it ends: one line of JSON in a file that the judge reads.
//!
//! Clocks of the program alone; how the judge makes components of them is each program's `expected`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::AccuracyError;

/// A program's own account. What a program does not measure is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// CPU time of the program and its children, in seconds.
    pub cpu_s: f64,
    /// Time that its threads were held up by what the program is about (a lock, a disk), by `CLOCK_MONOTONIC` around
    /// it; all threads together, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// Time that its CPUs were idle, by the kernel's account of them, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<f64>,
    /// Time that its threads were runnable and did not run, by the scheduler's account of them, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable_s: Option<f64>,
    /// Whether the kernel gave it the large pages that it asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_pages: Option<bool>,
    /// CPU time that a process outside the tree took meanwhile, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_s: Option<f64>,
}

impl Truth {
    /// Writes it as one line.
    pub fn write(&self, path: &Path) -> Result<(), AccuracyError> {
        let file = |error| AccuracyError::File { what: "write", path: path.to_owned(), error };
        let line = serde_json::to_string(self).map_err(|error| file(error.into()))?;
        fs::write(path, line + "\n").map_err(file)
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(path: &Path) -> Result<Self, AccuracyError> {
        let file = |error| AccuracyError::File { what: "read", path: path.to_owned(), error };
        serde_json::from_str(&fs::read_to_string(path).map_err(file)?).map_err(|error| file(error.into()))
    }
}
