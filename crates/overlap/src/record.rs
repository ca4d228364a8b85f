//! The record of a build: each deferred command, each wait, and each command that ran in place.
//!
//! Data and sums alone. `summary` words it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::estimate::Estimate;
use crate::hazards::Hazards;

/// Version of the record's form as JSON.
pub(crate) const SCHEMA: &str = "morecores.overlap/1";

/// Events of one build. All times count from its start.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Words of the build.
    pub(crate) command: Vec<String>,
    /// Working directory of the build.
    pub(crate) directory: PathBuf,
    /// Time from the start of the build to its end.
    pub(crate) elapsed: Duration,
    /// User and system time of the build and of its deferred commands.
    pub(crate) cpu_time: Duration,
    /// Number of calls that were shown to the supervisor.
    pub(crate) calls: usize,
    /// Reason for which nothing was deferred from some point on.
    pub(crate) passed_through: Option<&'static str>,
    /// The deferred commands in the serial order.
    pub(crate) commands: Vec<Command>,
    /// Calls that waited, in the order of their ends.
    pub(crate) waits: Vec<Wait>,
    /// Programs that ran in place because their effects are not known, with the number of runs.
    pub(crate) unknown: BTreeMap<String, usize>,
    /// Reasons for which understood commands were not deferred, with their number.
    pub(crate) refused: BTreeMap<&'static str, usize>,
    /// Estimates for other numbers of CPUs; `None` after a run that was not in series.
    pub(crate) estimates: Option<Vec<Estimate>>,
    /// Orders that `make -j` may not keep; `None` without a search.
    pub(crate) hazards: Option<Hazards>,
}

/// A deferred command.
#[derive(Debug, Serialize)]
pub(crate) struct Command {
    /// Its words as a shell reads them.
    pub(crate) command: String,
    /// Names that it changes.
    pub(crate) outputs: Vec<PathBuf>,
    /// Earlier commands that had not ended and that it had to follow, by their places in the list.
    pub(crate) after: Vec<usize>,
    /// Time of the deferral.
    #[serde(rename = "deferred_s", serialize_with = "seconds")]
    pub(crate) deferred: Duration,
    /// Time of the end of the last command that it had to follow.
    #[serde(rename = "ready_s", serialize_with = "seconds")]
    pub(crate) ready: Duration,
    /// Start; `None` if it was never started.
    #[serde(rename = "started_s", serialize_with = "optional_seconds")]
    pub(crate) started: Option<Duration>,
    /// End; `None` if it did not run to its end.
    #[serde(rename = "ended_s", serialize_with = "optional_seconds")]
    pub(crate) ended: Option<Duration>,
    pub(crate) result: CommandResult,
}

/// Result of a deferred command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandResult {
    /// It has not ended.
    Pending,
    /// It ended with success.
    Succeeded,
    /// It failed, or contradicted what make was told.
    Failed,
    /// It was taken back after the failure of an earlier command.
    Undone,
}

/// A call of the build that waited for deferred commands.
#[derive(Debug, Serialize)]
pub(crate) struct Wait {
    /// Name of the program that waited.
    pub(crate) program: String,
    #[serde(flatten)]
    pub(crate) reason: WaitReason,
    /// Begin of the wait.
    #[serde(rename = "begin_s", serialize_with = "seconds")]
    pub(crate) begin: Duration,
    /// Length of the wait.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub(crate) elapsed: Duration,
    /// Commands that were pending when it began.
    pub(crate) commands: usize,
}

/// Reason for which a call of the build waited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason", content = "path")]
pub(crate) enum WaitReason {
    /// It looked at a pending output.
    File(PathBuf),
    /// It listed a directory of pending outputs.
    Directory(PathBuf),
    /// It would have changed a file that pending commands may read.
    Write(PathBuf),
    /// It would have read from a pipe or a terminal, which cannot be taken back.
    Input,
    /// It would have reached another program or machine, which cannot be taken back.
    Connection,
    /// It would have sent a signal, which cannot be taken back.
    Signal,
    /// A driver would have ended before its commands.
    Exit,
    /// As many commands were deferred as one build may have.
    Limit,
    /// make would have read its makefile, which hazards are judged by, beside pending commands.
    Makefile,
}

impl Record {
    /// The first word of a command line counts as its program.
    pub(crate) fn add_unknown(&mut self, arguments: &[String]) {
        let name = arguments.first().map_or("", String::as_str);
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        *self.unknown.entry(name).or_default() += 1;
    }

    pub(crate) fn add_refusal(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    /// Number of deferred commands that failed.
    pub(crate) fn failures(&self) -> usize {
        self.commands.iter().filter(|command| command.result == CommandResult::Failed).count()
    }

    /// Time in which at least one call waited.
    pub(crate) fn waited(&self) -> Duration {
        let mut intervals: Vec<_> =
            self.waits.iter().map(|wait| (wait.begin, wait.begin + wait.elapsed)).collect();
        intervals.sort();
        let mut total = Duration::ZERO;
        let mut covered = Duration::ZERO;
        for (begin, end) in intervals {
            total += end.saturating_sub(begin.max(covered));
            covered = covered.max(end);
        }
        total
    }

    /// Elapsed time of the serial build. It is estimated unless this was one: the time in which no
    /// call waited, and the deferred commands one after the other.
    pub(crate) fn serial(&self) -> Duration {
        if self.estimates.is_some() {
            return self.elapsed;
        }
        let deferred: Duration =
            self.commands.iter().filter_map(|command| Some(command.ended? - command.started?)).sum();
        self.elapsed.saturating_sub(self.waited()) + deferred
    }

    /// Mean number of CPUs that the build and its commands used.
    pub(crate) fn cpus(&self) -> f64 {
        self.cpu_time.as_secs_f64() / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        map.serialize_entry("command", &self.command)?;
        map.serialize_entry("directory", &self.directory)?;
        map.serialize_entry("elapsed_s", &self.elapsed.as_secs_f64())?;
        map.serialize_entry("serial_estimate_s", &self.serial().as_secs_f64())?;
        map.serialize_entry("cpu_s", &self.cpu_time.as_secs_f64())?;
        map.serialize_entry("cpus_used", &self.cpus())?;
        map.serialize_entry("waited_s", &self.waited().as_secs_f64())?;
        map.serialize_entry("calls", &self.calls)?;
        map.serialize_entry("passed_through", &self.passed_through)?;
        map.serialize_entry("commands", &self.commands)?;
        map.serialize_entry("waits", &self.waits)?;
        map.serialize_entry("in_place", &self.unknown)?;
        map.serialize_entry("not_deferred", &self.refused)?;
        map.serialize_entry("estimates", &self.estimates)?;
        map.serialize_entry("hazards", &self.hazards)?;
        map.end()
    }
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn optional_seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_time_has_every_command_and_no_wait() {
        let seconds = Duration::from_secs;
        let wait = |begin, elapsed| Wait {
            program: "make".into(),
            reason: WaitReason::Exit,
            begin: seconds(begin),
            elapsed: seconds(elapsed),
            commands: 1,
        };
        let command = |started, ended| Command {
            command: "cc".into(),
            outputs: Vec::new(),
            after: Vec::new(),
            deferred: seconds(started),
            ready: seconds(started),
            started: Some(seconds(started)),
            ended: Some(seconds(ended)),
            result: CommandResult::Succeeded,
        };
        let record = Record {
            elapsed: seconds(10),
            commands: vec![command(1, 5), command(1, 7)],
            // The second lies within the first, and the third overlaps it.
            waits: vec![wait(3, 4), wait(4, 1), wait(6, 3)],
            ..Record::default()
        };
        assert_eq!(record.waited(), seconds(6));
        assert_eq!(record.serial(), seconds(14));
    }
}
