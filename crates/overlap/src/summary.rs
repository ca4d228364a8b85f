//! What a build did: numbers and reasons, and their text at the end.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::execution::Deferred;

/// Why a call of the build waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// It looked at a pending output.
    File(PathBuf),
    /// It listed a directory of pending outputs.
    Directory(PathBuf),
    /// It would have changed a file that pending commands may read.
    Write(PathBuf),
    /// A driver would have ended before its commands.
    Exit,
}

/// A call that waited.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) reason: WaitReason,
    /// Commands that were pending when it began to wait.
    pub(crate) jobs: usize,
}

/// Counts of one build.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Time from the start of the build to its end.
    pub(crate) elapsed: Duration,
    /// Time for which calls of the build waited.
    pub(crate) held: Duration,
    /// Sum of the elapsed times of the deferred commands.
    pub(crate) deferred_time: Duration,
    /// Number of deferred commands.
    pub(crate) deferred: usize,
    /// Number of calls that were shown to the supervisor.
    pub(crate) calls: usize,
    /// Number of deferred commands that failed.
    pub(crate) failures: usize,
    /// Calls that waited.
    pub(crate) waits: Vec<Wait>,
    /// Programs whose arguments were not understood, with the number of their runs.
    pub(crate) unknown: BTreeMap<String, usize>,
    /// Commands that were understood and not deferred, by reason.
    pub(crate) refused: BTreeMap<&'static str, usize>,
    /// Why nothing was deferred any more.
    pub(crate) passed_through: Option<&'static str>,
}

impl Summary {
    pub(crate) fn deferred(&mut self, _: &Deferred) {
        self.deferred += 1;
    }

    pub(crate) fn add_job(&mut self, elapsed: Duration) {
        self.deferred_time += elapsed;
    }

    pub(crate) fn not_understood(&mut self, arguments: &[String]) {
        let name = arguments.first().map_or("", String::as_str);
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        *self.unknown.entry(name).or_default() += 1;
    }

    pub(crate) fn refused(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    /// Estimated elapsed time of the serial build: the time in which the drivers did not wait, and
    /// the deferred commands one after the other.
    pub(crate) fn serial(&self) -> Duration {
        self.elapsed.saturating_sub(self.held) + self.deferred_time
    }

    /// The summary as lines of text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let seconds = |duration: Duration| format!("{:.2} s", duration.as_secs_f64());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "overlap: {}; in series it would have taken about {}. {} commands deferred, {} calls seen.",
            seconds(self.elapsed),
            seconds(self.serial()),
            self.deferred,
            self.calls,
        );
        if let Some(reason) = self.passed_through {
            let _ = writeln!(text, "overlap: nothing was deferred from some point on: {reason}.");
        }
        for (reason, count) in &self.refused {
            let _ = writeln!(text, "overlap: not deferred, {count} times: {reason}.");
        }
        text
    }
}
