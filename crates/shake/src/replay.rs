//! Repetition of one run of an earlier search.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::ShakeError;
use crate::holds::HoldPlan;
use crate::runner::{Conditions, Runner};
use crate::schedule::{Schedule, Tally};
use crate::study::Study;
use crate::verdict::Priorities;

/// Result of the repetitions of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// Number of the run in its search.
    pub run: u64,
    /// Its schedule.
    pub schedule: Schedule,
    /// Its failure at that time.
    pub failure: Option<String>,
    /// Repetitions and their failures.
    pub tally: Tally,
}

/// Repeats a run of the search in `directory`, `times` times: under the same schedule, with the
/// same sites, and with the same times and lengths of the holds. The threads themselves are as
/// free as they were.
///
/// # Errors
/// The directory cannot be read, it has no such run, or the program cannot be run.
pub fn replay(directory: &Path, run: u64, times: u64) -> Result<Replay, ShakeError> {
    let study = Study::read(directory)?;
    let line = study.runs.iter().find(|line| line.run == run);
    let line = line.ok_or(ShakeError::NoRun { run, runs: study.runs.len() })?;
    let header = &study.header;
    let command: Vec<OsString> = header.command.iter().map(OsString::from).collect();
    let mut runner = Runner::new(&command, header.check.as_deref())?;
    if let Some(stdout) = study.stdout {
        runner.expect_stdout(stdout);
    }
    let numbers: Vec<usize> = (0..line.sites.len()).collect();
    let elapsed = Duration::from_secs_f64(header.elapsed_s);
    let mut tally = Tally::default();
    for _ in 0..times {
        let run = runner.run(Conditions {
            cpus: line.schedule.cpus(&header.cpus),
            sites: &line.sites,
            plan: HoldPlan::for_run(line.schedule, line.seed, &numbers, elapsed),
            timeout: Duration::from_secs_f64(header.timeout_s),
            priorities: if header.real_time { Priorities::RealTime } else { Priorities::Ordinary },
            core: None,
        })?;
        tally.add(run.failure.as_ref());
    }
    Ok(Replay { run, schedule: line.schedule, failure: line.failure.clone(), tally })
}
