//! A program's own account at its end: one line of JSON in a file that the judge reads.
//!
//! The account holds clock readings of the program alone; each program's `expected` turns them into
//! components.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::AccuracyError;

/// A program's own account. A quantity that the program does not measure is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// Quantities of single functions, by the name of the function in its source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, FunctionTruth>,
}

/// Account of one function, thread or lock, summed over the threads. A quantity that the program
/// does not measure is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionTruth {
    /// CPU time in the function, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Time for which the function was blocked by a lock, without the time from the wake-up until
    /// the thread ran; in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// Number of holds of the lock with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<u64>,
    /// Time for which the function held a lock while another thread waited for it, or the time of
    /// all holds of the lock with this name; in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_s: Option<f64>,
}

impl Truth {
    /// Quantity of a function; NaN if it is absent, which no report equals.
    pub fn in_function(&self, name: &str, quantity: impl Fn(&FunctionTruth) -> Option<f64>) -> f64 {
        self.functions.get(name).and_then(quantity).unwrap_or(f64::NAN)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_quantity_equals_nothing() {
        let line = r#"{"cpu_s":3.0,"functions":{"parse":{"cpu_s":2.0}}}"#;
        let truth: Truth = serde_json::from_str(line).unwrap();
        assert_eq!(truth.in_function("parse", |function| function.cpu_s), 2.0);
        assert!(truth.in_function("parse", |function| function.waited_s).is_nan());
        assert!(truth.in_function("print", |function| function.cpu_s).is_nan());
        assert_eq!(serde_json::to_string(&truth).unwrap(), line);
    }

    #[test]
    fn an_unknown_quantity_is_an_error() {
        for line in [r#"{"cpu_s":3.0,"wait_s":1.0}"#, r#"{"cpu_s":3.0,"functions":{"f":{"wait_s":1.0}}}"#] {
            assert!(serde_json::from_str::<Truth>(line).is_err(), "{line}");
        }
    }
}
