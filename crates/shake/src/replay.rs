//! Repetition of one run of an earlier search.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use morecores_findings::{Priorities, Replay, Search, Tally};

use crate::ShakeError;
use crate::holds::{Choice, HoldPlan};
use crate::runner::{Conditions, Runner};

/// Repeats a run of the search in `directory`, `times` times: under the same schedule, with the
/// same sites, and with the same times and lengths of the holds. The threads themselves are as
/// free as they were.
///
/// # Errors
/// The directory cannot be read, it has no such run, or the program cannot be run.
pub fn replay(directory: &Path, run: u64, times: u64) -> Result<Replay, ShakeError> {
    let search = Search::read(directory)?;
    let line = search.runs.iter().find(|line| line.run == run);
    let line = line.ok_or(ShakeError::NoRun { run, runs: search.runs.len() })?;
    let header = &search.header;
    let command: Vec<OsString> = header.command.iter().map(OsString::from).collect();
    let mut runner = Runner::new(&command, header.check.as_deref())?;
    if let Some(stdout) = search.stdout {
        runner.expect_stdout(stdout);
    }
    let sites = (0..line.sites.len()).collect();
    let choice = Choice { schedule: line.schedule, seed: line.seed, sites, hit: line.hit };
    let elapsed = Duration::from_secs_f64(header.elapsed_s);
    let mut tally = Tally::default();
    for _ in 0..times {
        let run = runner.run(Conditions {
            cpus: line.schedule.cpus(&header.cpus),
            sites: &line.sites,
            plan: HoldPlan::for_run(&choice, elapsed),
            timeout: Duration::from_secs_f64(header.timeout_s),
            priorities: if header.real_time { Priorities::RealTime } else { Priorities::Ordinary },
            core: None,
        })?;
        tally.add(run.failure.as_ref());
    }
    Ok(Replay { run, failure: line.failure.clone(), tally })
}
