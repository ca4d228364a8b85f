//! The summary of a build: numbers and reasons, and their text at the end.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reason for which a call of the build waited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitReason {
    /// It looked at a pending output.
    File(PathBuf),
    /// It listed a directory of pending outputs.
    Directory(PathBuf),
    /// It would have changed a file that pending commands may read.
    Write(PathBuf),
    /// It would have read from a pipe or a terminal, which cannot be taken back.
    Input,
    /// A driver would have ended before its commands.
    Exit,
    /// As many commands were deferred as one build may have.
    Limit,
}

/// Calls that waited for one reason.
#[derive(Debug, Default)]
struct Waits {
    calls: usize,
    elapsed: Duration,
    /// Most commands that were pending when a call began to wait.
    jobs: usize,
}

/// Counts of one build.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Time from the start of the build to its end.
    pub(crate) elapsed: Duration,
    /// Sum of the elapsed times of the deferred commands.
    pub(crate) deferred_time: Duration,
    /// Number of deferred commands.
    pub(crate) deferred: usize,
    /// Number of calls that were shown to the supervisor.
    pub(crate) calls: usize,
    /// Number of deferred commands that failed.
    pub(crate) failures: usize,
    /// Reason for which nothing was deferred from some point on.
    pub(crate) passed_through: Option<&'static str>,
    waits: BTreeMap<WaitReason, Waits>,
    /// Programs that are not understood, with the number of their runs.
    unknown: BTreeMap<String, usize>,
    /// Reasons for which understood commands were not deferred, with their number.
    refused: BTreeMap<&'static str, usize>,
}

/// Rows of each list in the text.
const MAX_ROWS: usize = 5;
/// Shortest total wait that is told.
const MIN_WAIT: Duration = Duration::from_millis(10);

impl Summary {
    pub(crate) fn add_job(&mut self, elapsed: Duration) {
        self.deferred_time += elapsed;
    }

    pub(crate) fn waited(&mut self, reason: WaitReason, jobs: usize, elapsed: Duration) {
        let waits = self.waits.entry(reason).or_default();
        waits.calls += 1;
        waits.elapsed += elapsed;
        waits.jobs = waits.jobs.max(jobs);
    }

    pub(crate) fn not_understood(&mut self, arguments: &[String]) {
        let name = arguments.first().map_or("", String::as_str);
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        *self.unknown.entry(name).or_default() += 1;
    }

    pub(crate) fn refused(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    /// Estimated elapsed time of the serial build: the time in which no call waited, and the
    /// deferred commands one after the other.
    fn serial(&self) -> Duration {
        let waited: Duration = self.waits.values().map(|waits| waits.elapsed).sum();
        self.elapsed.saturating_sub(waited) + self.deferred_time
    }

    /// The summary as lines of text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        writeln!(
            text,
            "overlap: {:.2} s; in series about {:.2} s. {} commands deferred, {} of them failed; {} calls seen.",
            self.elapsed.as_secs_f64(),
            self.serial().as_secs_f64(),
            self.deferred,
            self.failures,
            self.calls,
        )?;
        if let Some(reason) = self.passed_through {
            writeln!(text, "overlap: from some point on nothing was deferred: {reason}.")?;
        }
        let mut waits: Vec<_> = self.waits.iter().filter(|(_, waits)| waits.elapsed >= MIN_WAIT).collect();
        waits.sort_by_key(|(_, waits)| std::cmp::Reverse(waits.elapsed));
        for (reason, waits) in waits.iter().take(MAX_ROWS) {
            let seconds = waits.elapsed.as_secs_f64();
            let jobs = match waits.jobs {
                1 => "1 command".to_owned(),
                jobs => format!("up to {jobs} commands"),
            };
            writeln!(text, "overlap: {} waited {seconds:.2} s for {jobs}.", subject(reason))?;
        }
        let mut unknown: Vec<_> = self.unknown.iter().collect();
        unknown.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        if !unknown.is_empty() {
            let names: Vec<_> =
                unknown.iter().take(MAX_ROWS).map(|(name, count)| format!("{name} ({count})")).collect();
            writeln!(
                text,
                "overlap: ran in place, because what they read and write is not known: {}.",
                names.join(", ")
            )?;
        }
        for (reason, count) in &self.refused {
            writeln!(text, "overlap: {count} commands not deferred: {reason}.")?;
        }
        Ok(())
    }
}

/// Subject of a sentence about a wait.
fn subject(reason: &WaitReason) -> String {
    match reason {
        WaitReason::File(path) => format!("a look at {}", path.display()),
        WaitReason::Directory(path) => format!("a list of {}", path.display()),
        WaitReason::Write(path) => format!("a change of {}", path.display()),
        WaitReason::Input => "a read of the standard input".to_owned(),
        WaitReason::Limit => "a command".to_owned(),
        WaitReason::Exit => "the end of make or a shell".to_owned(),
    }
}
