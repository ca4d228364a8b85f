//! Runs of the program with their output, their check and their failure.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use morecores_findings::{CodePlace, Failure, Priorities};
use tempfile::TempDir;

use crate::holds::HoldPlan;
use crate::launch::OutputFiles;
use crate::outcome::{Facts, failure};
use crate::tracer::{self, Observation, RunRecord, RunRequest};

/// Variable in which a check finds the file with the standard output of the run.
const STDOUT_VARIABLE: &str = "SHAKE_STDOUT";

/// Program with the rules by which its runs are judged.
#[derive(Debug)]
pub(crate) struct Runner<'a> {
    command: &'a [OsString],
    check: Option<&'a str>,
    directory: TempDir,
    /// Output of every run on one CPU, if it is always the same.
    expected_stdout: Option<Vec<u8>>,
}

/// Conditions of one run.
#[derive(Debug)]
pub(crate) struct Conditions<'a> {
    pub(crate) cpus: &'a [usize],
    /// Places of the sites, by their numbers in the plan.
    pub(crate) sites: &'a [CodePlace],
    pub(crate) plan: HoldPlan,
    pub(crate) timeout: Duration,
    pub(crate) priorities: Priorities,
    /// File for a core of a failed run.
    pub(crate) core: Option<&'a Path>,
}

/// Run with its failure, if it failed.
#[derive(Debug)]
pub(crate) struct JudgedRun {
    pub(crate) record: RunRecord,
    pub(crate) failure: Option<Failure>,
    pub(crate) stdout: Vec<u8>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(command: &'a [OsString], check: Option<&'a str>) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("morecores-shake-").tempdir()?;
        Ok(Self { command, check, directory, expected_stdout: None })
    }

    /// Directory for files, until the end.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Demands this output of each further run.
    pub(crate) fn expect_stdout(&mut self, stdout: Vec<u8>) {
        self.expected_stdout = Some(stdout);
    }

    /// Files for the output of one run. They replace those of the last run.
    pub(crate) fn output_files(&self) -> io::Result<OutputFiles> {
        let file = |name: &str| File::create(self.directory.path().join(name));
        Ok(OutputFiles { stdout: file("stdout")?, stderr: file("stderr")? })
    }

    /// Makes one run and judges it.
    ///
    /// # Errors
    /// The program cannot be started or traced, or its output cannot be kept.
    pub(crate) fn run(&self, conditions: Conditions<'_>) -> io::Result<JudgedRun> {
        let record = self.observe(conditions, Observation::Nothing)?;
        let read = |name: &str| fs::read(self.directory.path().join(name));
        let (stdout, stderr) = (read("stdout")?, read("stderr")?);
        let facts = Facts {
            end: record.end,
            stdout: &stdout,
            stderr: &stderr,
            expected_stdout: self.expected_stdout.as_deref(),
        };
        let failure = match failure(facts) {
            None => self.run_check()?,
            failure => failure,
        };
        Ok(JudgedRun { record, failure, stdout })
    }

    /// Makes a run that records accesses to data, without holds, and is not judged.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub(crate) fn observe(
        &self,
        conditions: Conditions<'_>,
        observation: Observation<'_>,
    ) -> io::Result<RunRecord> {
        let Conditions { cpus, sites, plan, timeout, priorities, core } = conditions;
        let command = self.command;
        let request = RunRequest { command, cpus, sites, plan, observation, timeout, priorities, core };
        tracer::run(request, self.output_files()?)
    }

    /// Runs the user's check. Returns its failure.
    fn run_check(&self) -> io::Result<Option<Failure>> {
        let Some(check) = self.check else { return Ok(None) };
        let status = Command::new("sh")
            .args(["-c", check])
            .env(STDOUT_VARIABLE, self.directory.path().join("stdout"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok((!status.success()).then(|| Failure::Check(status.code().unwrap_or(-1))))
    }
}
