//! Recognises a command that does its work only once: its first run leaves the later runs next to
//! nothing to do. A build that finds everything built is an example.
//!
//! The function is pure: it examines completed runs, and decides nothing about further runs.

use morecores_study::{Bytes, Nanos, Phase, Plan, Run};

/// Share of the first run's time below which a later run has next to nothing to do. The value is a
/// choice. `make` with nothing to do takes a thousandth of the first run's time, `cargo` and `npm`
/// up to a tenth. A first run that only warms caches of code or data takes about twice the CPU time
/// of the others.
const SMALL_PART: f64 = 0.2;
/// Smallest CPU time of the first run that allows a conclusion: five ticks of the accounting in 10
/// ms. Below it, the start of the program may have taken the time, and not its work.
const LEAST_WORK: Nanos = Nanos::from_millis(50);

/// Times of a command whose first run did the work of the others too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneOnce {
    /// Elapsed time of the first run.
    pub first: Nanos,
    /// Elapsed time of the longest later run.
    pub later: Nanos,
    /// Number of later runs.
    pub runs: usize,
}

/// Successful runs of a study up to and including the first timed round. They show whether the
/// command does its work only once.
#[derive(Clone, Debug, Default)]
pub struct FirstRoundRuns {
    runs: Vec<Run>,
    /// Whether the study has further rounds. Such a study began before this check existed, or
    /// continued despite it.
    has_further_rounds: bool,
}

impl FirstRoundRuns {
    /// Early runs among `runs`, in the order of execution.
    pub fn select(plan: &Plan, runs: &[Run]) -> Self {
        let mut early = Self::default();
        runs.iter().for_each(|run| early.add(plan, run));
        early
    }

    /// Adds a run of the study.
    pub fn add(&mut self, plan: &Plan, run: &Run) {
        match run.phase {
            Phase::Timed if run.round > 0 => self.has_further_rounds = true,
            Phase::Warmup | Phase::Timed if run.counts(plan) => self.runs.push(run.clone()),
            _ => {}
        }
    }

    /// Successful early runs, in the order of execution.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Times of a command whose first run did the work of the others too; `None` for a study with
    /// further rounds.
    pub fn done_once(&self) -> Option<DoneOnce> {
        done_once(&self.runs).filter(|_| !self.has_further_rounds)
    }
}

/// Compares the first of `runs`, which all succeeded, with all later runs. `None` if the command
/// still does its work, or if too little is known.
///
/// Both the elapsed time and the CPU time of every later run must be a small part. Elapsed time
/// alone is not enough, because more CPUs, or data from memory instead of a disk, can save as much.
/// Filling the page cache costs system time, so only user time counts if the first run read from a
/// disk.
pub fn done_once<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<DoneOnce> {
    let mut runs = runs.into_iter();
    let first = runs.next()?;
    let has_read = bytes_read(first) > Bytes(0);
    let cpu_time = |run: &Run| {
        let system = if has_read { Nanos::ZERO } else { run.cpu.system_ns };
        run.cpu.user_ns + system
    };
    let is_small = |later: Nanos, first: Nanos| later.as_secs_f64() < SMALL_PART * first.as_secs_f64();
    if cpu_time(first) < LEAST_WORK {
        return None;
    }
    let mut found: Option<DoneOnce> = None;
    for run in runs {
        if !is_small(run.elapsed_ns, first.elapsed_ns) || !is_small(cpu_time(run), cpu_time(first)) {
            return None;
        }
        let (later, runs) = found.map_or((Nanos::ZERO, 0), |found| (found.later, found.runs));
        found = Some(DoneOnce { first: first.elapsed_ns, later: later.max(run.elapsed_ns), runs: runs + 1 });
    }
    found
}

/// Bytes that a run read from block devices, by the source that counted more of its tree.
fn bytes_read(run: &Run) -> Bytes {
    run.rusage.block_read_bytes.max(run.tree.block_read_bytes.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::{CpuEstimator, CpuTime, Rusage};

    /// A run at a CPU count, with elapsed, user and system time in milliseconds.
    fn run(cpus: u32, [elapsed, user, system]: [u64; 3]) -> Run {
        let [user_ns, system_ns] = [user, system].map(Nanos::from_millis);
        let cpu = CpuTime { user_ns, system_ns, estimator: CpuEstimator::Cgroup };
        Run { cpu, ..morecores_testkit::run(&morecores_testkit::point(cpus), Nanos::from_millis(elapsed)) }
    }

    fn reads(run: Run) -> Run {
        Run { rusage: Rusage { block_read_bytes: Bytes(1 << 20), ..run.rusage }, ..run }
    }

    #[test]
    fn a_build_that_finds_everything_built_has_nothing_left_to_do() {
        let [first, two, one] = [run(2, [2400, 4000, 500]), run(1, [3, 2, 1]), run(2, [2, 1, 1])];
        let found = DoneOnce { first: Nanos::from_millis(2400), later: Nanos::from_millis(3), runs: 2 };
        assert_eq!(done_once([&first, &two, &one]), Some(found));
        // The result is the same if the first run read its sources from a disk.
        assert_eq!(done_once([&reads(first), &two, &one]), Some(found));
    }

    #[test]
    fn a_run_on_more_cpus_does_the_same_work() {
        assert_eq!(done_once([&run(1, [8000, 7900, 0]), &run(8, [1010, 8000, 0])]), None);
    }

    #[test]
    fn warm_caches_leave_the_work_in_user_mode() {
        let cold = reads(run(1, [9000, 300, 700]));
        assert_eq!(done_once([&cold, &run(1, [350, 290, 60])]), None);
        // There is hardly any work in user mode: the first run is known only to have filled the
        // page cache.
        assert_eq!(done_once([&reads(run(1, [9000, 10, 900])), &run(1, [60, 0, 60])]), None);
        // Waiting is not work.
        assert_eq!(done_once([&run(1, [9000, 20, 10]), &run(1, [60, 1, 1])]), None);
    }

    #[test]
    fn a_later_run_with_work_or_a_single_run_proves_nothing() {
        let first = run(1, [2000, 2000, 0]);
        assert_eq!(done_once([&first, &run(1, [3, 2, 1]), &run(1, [1900, 1900, 0])]), None);
        assert_eq!(done_once([&first]), None);
        assert_eq!(done_once([]), None);
    }

    #[test]
    fn a_fifth_is_the_limit() {
        let first = run(1, [1000, 1000, 0]);
        assert!(done_once([&first, &run(1, [199, 199, 0])]).is_some());
        assert!(done_once([&first, &run(1, [200, 199, 0])]).is_none());
        assert!(done_once([&first, &run(1, [199, 200, 0])]).is_none());
    }

    #[test]
    fn start_up_is_not_work() {
        assert_eq!(done_once([&run(1, [49, 30, 19]), &run(1, [1, 1, 0])]), None);
    }
}
