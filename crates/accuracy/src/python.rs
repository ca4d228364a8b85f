//! A program with known truth in Python: two threads that compute under the interpreter's global
//! lock (GIL). It shows whether a trace knows this lock, in an interpreter without symbols.

use std::fs;
use std::path::Path;
use std::process::Command;

use morecores_view::code::RuntimeLock;

use crate::expected::{LockShare, ShareBound};
use crate::output::run_for_output;
use crate::{AccuracyError, ExpectedReport, Part, Share, Source, Truth};

/// The distribution's interpreter. Another one in the path may be a script that starts further
/// processes.
pub(crate) const INTERPRETER: &str = "/usr/bin/python3";

/// Name and text of the script.
const SCRIPT: (&str, &str) = ("gil.py", include_str!("../programs/gil.py"));

/// Least share of the waits for locks that are waits for the GIL, in percent. The rest is the start
/// and the end of a thread.
const GIL_PERCENT: f64 = 95.0;

/// Two threads that compute in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonThreads {
    /// Elapsed time in seconds, without the start of the interpreter.
    pub seconds: f64,
}

impl PythonThreads {
    /// Writes the script into a folder and runs it once without work; returns the command line that
    /// runs it, with a file for its truth.
    ///
    /// # Errors
    /// Fails if there is no interpreter; [`AccuracyError::lacks_prerequisite`] is true for this
    /// error.
    pub fn prepare(&self, dir: &Path, truth: &Path) -> Result<Vec<String>, AccuracyError> {
        let script = dir.join(SCRIPT.0);
        let failed = |error| AccuracyError::File { what: "write", path: script.clone(), error };
        fs::write(&script, SCRIPT.1).map_err(failed)?;
        let words = |truth: &Path, seconds: f64| {
            let path = |path: &Path| path.to_string_lossy().into_owned();
            vec![INTERPRETER.to_owned(), path(&script), path(truth), seconds.to_string()]
        };
        // The traced run must not wait for the disk, so the interpreter has been read before.
        run_for_output(Command::new(INTERPRETER).args(&words(&dir.join("unused"), 0.0)[1..]))?;
        Ok(words(truth, self.seconds))
    }

    /// While one thread computes, the other waits for the GIL. On one CPU nothing is idle. CPUs
    /// beyond the number of threads are idle for lack of work.
    pub fn expected(&self, truth: &Truth, cpus: u32) -> ExpectedReport {
        let waited = if cpus > 1 { truth.waited_s.unwrap_or(f64::NAN) } else { 0.0 };
        let shares = [
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            // A CPU is not idle for the lock while another process uses it.
            Share::from_own_clocks(Part::UserLock, waited).limit_idle(truth, 0.0),
            Share::from_construction(Part::TooLittleWork, f64::from(cpus.saturating_sub(2)) * self.seconds),
        ];
        let mut shares = shares.to_vec();
        if cpus > 1 {
            // One of the two threads has the lock all the time, and the other waits.
            let held = Part::RuntimeLockHeld(RuntimeLock::PythonGil);
            shares.push(Share::from_own_clocks(held, waited));
        }
        let gil = LockShare {
            part: Part::RuntimeLock(RuntimeLock::PythonGil),
            percent: GIL_PERCENT,
            bound: ShareBound::AtLeast,
            source: Source::Construction,
        };
        ExpectedReport { lock_shares: vec![gil], ..ExpectedReport::from_shares(shares) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_threads_waits() {
        let truth = Truth { cpu_s: 6.0, waited_s: Some(5.5), ..Truth::default() };
        let program = PythonThreads { seconds: 6.0 };
        let seconds =
            |cpus| program.expected(&truth, cpus).shares.iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!(seconds(1), [6.0, 0.0, 0.0]);
        assert_eq!([2, 3].map(seconds), [[6.0, 5.5, 0.0, 5.5], [6.0, 5.5, 6.0, 5.5]]);
    }
}
