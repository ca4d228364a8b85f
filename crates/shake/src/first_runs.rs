//! First runs: whether the program works at all, how long it takes, and which output is right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use morecores_findings::{Priorities, Schedule, Tally};

use crate::ShakeError;
use crate::holds::HoldPlan;
use crate::runner::{Conditions, JudgedRun, Runner};
use crate::search::{Options, OutputRule};

/// First runs on one CPU, and on all.
pub(crate) const FIRST_RUNS: usize = 5;
/// Time limit of the first runs.
const FIRST_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of a run, in elapsed times of the slowest first run, and in addition.
const TIMEOUT_FACTOR: u32 = 10;
const TIMEOUT_MORE: Duration = Duration::from_secs(2);

/// Facts from the first runs.
#[derive(Debug)]
pub(crate) struct FirstRuns {
    /// Shortest elapsed time on all CPUs.
    pub(crate) elapsed: Duration,
    /// Time limit of further runs.
    pub(crate) timeout: Duration,
    /// Files that processes with several threads mapped as code.
    pub(crate) modules: BTreeSet<PathBuf>,
    pub(crate) tallies: BTreeMap<Schedule, Tally>,
    /// Output that further runs must have.
    pub(crate) expected_stdout: Option<Vec<u8>>,
}

impl FirstRuns {
    /// Makes the first runs.
    ///
    /// # Errors
    /// All fail, the program has no second thread, or it cannot be run.
    pub(crate) fn make(runner: &Runner<'_>, options: &Options) -> Result<Self, ShakeError> {
        let mut runs = Vec::new();
        for schedule in [Schedule::OneCpu, Schedule::Cpus] {
            for _ in 0..FIRST_RUNS {
                options.check_stop()?;
                let run = runner.run(Conditions {
                    cpus: options.cpus(schedule),
                    sites: &[],
                    plan: HoldPlan::without_holds(0, &[], Duration::ZERO),
                    timeout: options.timeout.unwrap_or(FIRST_TIMEOUT),
                    priorities: Priorities::Ordinary,
                    core: None,
                })?;
                runs.push((schedule, run));
            }
        }
        Self::learn(&runs, options)
    }

    fn learn(runs: &[(Schedule, JudgedRun)], options: &Options) -> Result<Self, ShakeError> {
        let failures: Vec<_> = runs.iter().filter_map(|(_, run)| run.failure.clone()).collect();
        if let [failure, ..] = &failures[..]
            && failures.len() == runs.len()
        {
            if let Some(status) = failure.unrunnable_check() {
                return Err(ShakeError::CheckCannotRun { status });
            }
            return Err(ShakeError::FailsAlways { failure: failure.clone(), runs: runs.len() });
        }
        let mut tallies: BTreeMap<Schedule, Tally> = BTreeMap::new();
        for (schedule, run) in runs {
            tallies.entry(*schedule).or_default().add(run.failure.as_ref());
        }
        let modules: BTreeSet<PathBuf> =
            runs.iter().flat_map(|(_, run)| &run.record.modules).cloned().collect();
        if modules.is_empty() {
            return Err(ShakeError::NoThreads);
        }
        let passed = || runs.iter().filter(|(_, run)| run.failure.is_none());
        let mut outputs =
            passed().filter(|(schedule, _)| schedule.is_on_one_cpu()).map(|(_, run)| &run.stdout);
        let first = outputs.next().filter(|_| options.output == OutputRule::AsOnOneCpu);
        let expected_stdout = first.filter(|first| outputs.all(|other| other == *first)).cloned();
        let slowest = passed().map(|(_, run)| run.record.elapsed).max().unwrap_or_default();
        let on_cpus = passed().filter(|(schedule, _)| !schedule.is_on_one_cpu());
        let elapsed = on_cpus.map(|(_, run)| run.record.elapsed).min().unwrap_or(slowest);
        let timeout = options.timeout.unwrap_or(slowest * TIMEOUT_FACTOR + TIMEOUT_MORE);
        Ok(Self { elapsed, timeout, modules, tallies, expected_stdout })
    }
}
