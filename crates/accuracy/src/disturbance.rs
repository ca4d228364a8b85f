//! Choice of the runs that count. Pure.
//!
//! A truth describes the program without disturbance, so a run in which other processes took much
//! is repeated.
//!
//! Some figures stay true under disturbance: every CPU time (work of a set length is measured in
//! CPU time), counts, and any time clocked around a wait. Others do not: idle time by construction,
//! because a delayed part makes another part wait; and every share, because the whole takes longer.
//! Only the time that others took decides whether a run is repeated, never the accuracy of its
//! trace. The kept runs are therefore not selected for agreement.

use morecores_view::TraceView;

use crate::ExpectedReport;

/// Largest share of other processes and the hypervisor, in percent of `cpus · elapsed`: half of
/// the largest difference allowed.
pub const MAX_PERCENT: f64 = 1.0;

/// Largest number of runs of one case.
pub const MAX_RUNS: u32 = 5;

/// Share of the hypervisor and of processes that the case does not make, in percent of `cpus ·
/// elapsed`.
pub fn disturbance_percent(expected: &ExpectedReport, view: &TraceView) -> f64 {
    let is_own = |name: &str| expected.own_processes.iter().any(|own| name.starts_with(own));
    let own: f64 = view.others.iter().filter(|(name, _)| is_own(name)).map(|(_, seconds)| seconds).sum();
    let taken = (view.components.other_processes_s - own).max(0.0) + view.components.steal_s.unwrap_or(0.0);
    100.0 * taken / (f64::from(view.cpus) * view.elapsed_s)
}

/// The run of a case that is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietestRun<T, E> {
    /// Result of the run.
    pub run: T,
    /// Number of runs; the judged run is the least disturbed of them.
    pub runs: u32,
    /// Error of the run after these.
    pub failed: Option<E>,
}

/// Repeats a case until a run was quiet or failed, at most [`MAX_RUNS`] times. A run that does not
/// depend on other processes has no disturbance.
///
/// # Errors
/// Returns the error of the first run. A run that fails later does not affect the runs before it.
pub fn run_until_quiet<T, E>(
    mut run: impl FnMut() -> Result<(T, Option<f64>), E>,
) -> Result<QuietestRun<T, E>, E> {
    let (first, disturbed) = run()?;
    let mut quietest = QuietestRun { run: first, runs: 1, failed: None };
    let Some(mut least) = disturbed else { return Ok(quietest) };
    while least > MAX_PERCENT && quietest.runs < MAX_RUNS {
        match run() {
            Ok((next, disturbed)) => {
                quietest.runs += 1;
                if let Some(disturbed) = disturbed.filter(|disturbed| *disturbed < least) {
                    (quietest.run, least) = (next, disturbed);
                }
            }
            Err(error) => {
                quietest.failed = Some(error);
                break;
            }
        }
    }
    Ok(quietest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_outside_the_case_is_a_disturbance() {
        let mut view: TraceView = serde_json::from_str(include_str!("../tests/view.json")).unwrap();
        (view.cpus, view.elapsed_s) = (2, 5.0);
        (view.components.other_processes_s, view.components.steal_s) = (0.5, Some(0.25));
        view.others = vec![("kworker/0:1".to_owned(), 0.25), ("daemon".to_owned(), 0.25)];
        assert_eq!(disturbance_percent(&ExpectedReport::default(), &view), 7.5);
        let own = ExpectedReport { own_processes: &["kworker/"], ..ExpectedReport::default() };
        assert_eq!(disturbance_percent(&own, &view), 5.0);
    }

    /// Kept run and number of runs, for runs with these disturbances.
    fn quietest(disturbances: &[f64]) -> (usize, u32, Option<&'static str>) {
        let mut runs = disturbances.iter().copied().enumerate();
        let next = || runs.next().map(|(run, disturbed)| (run, Some(disturbed))).ok_or("no more");
        let QuietestRun { run, runs, failed } = run_until_quiet(next).unwrap();
        (run, runs, failed)
    }

    #[test]
    fn the_first_quiet_run_counts_otherwise_the_least_disturbed_of_five() {
        assert_eq!(quietest(&[0.5]), (0, 1, None));
        assert_eq!(quietest(&[3.0, 2.0, 0.9]), (2, 3, None));
        assert_eq!(quietest(&[3.0, 1.5, 4.0, 2.0, 1.6]), (1, 5, None));
        let only = QuietestRun { run: (), runs: 1, failed: None };
        assert_eq!(run_until_quiet(|| Ok::<_, ()>(((), None))), Ok(only));
        assert_eq!(run_until_quiet(|| Err::<((), _), _>("failed")), Err("failed"));
    }

    #[test]
    fn a_failed_run_keeps_the_earlier_runs() {
        assert_eq!(quietest(&[3.0, 2.0]), (1, 2, Some("no more")));
    }
}
