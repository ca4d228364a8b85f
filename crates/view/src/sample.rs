//! The timed runs of one CPU count: which runs a figure is computed from.
//!
//! Timed ones that succeeded; what a failed run or a warm-up cost is nobody's estimate. No figure is computed here.

use morecores_statistics::Design;
use morecores_study::{Phase, Point, Run, Study, Surroundings};

use crate::others::cpu_seconds;

/// How it was decided how many runs there are.
pub(crate) fn design(study: &Study) -> Design {
    let stop = &study.header.plan.stop;
    match stop.precision {
        Some(_) => Design::Sequential { max_runs: stop.max_runs as usize },
        None => Design::Fixed,
    }
}

/// The timed runs of one CPU count.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) point: &'a Point,
    /// Those that succeeded, in the order made.
    pub(crate) runs: Vec<&'a Run>,
    /// Those that failed.
    pub(crate) failed: Vec<&'a Run>,
}

impl<'a> Sample<'a> {
    /// The runs of `point`.
    pub(crate) fn of(study: &'a Study, point: &'a Point) -> Self {
        let ours = |run: &&Run| run.phase == Phase::Timed && run.cpus == point.cpus && run.n == point.n;
        let (runs, failed): (Vec<_>, Vec<_>) =
            study.runs.iter().filter(ours).partition(|run| run.counts(&study.header.plan));
        Self { point, runs, failed }
    }

    /// Elapsed times in seconds.
    pub(crate) fn elapsed(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.elapsed_ns.as_secs_f64()).collect()
    }

    /// What the study is about: the metric where there is one, the elapsed time elsewhere.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.metric.unwrap_or_else(|| run.elapsed_ns.as_secs_f64())).collect()
    }

    /// What went on around the runs.
    pub(crate) fn surroundings(&self) -> impl Iterator<Item = &'a Surroundings> + '_ {
        self.runs.iter().filter_map(|run| run.surroundings.as_ref())
    }

    /// CPU time of others, in seconds over all runs: on the allotted CPUs and elsewhere; absent where nobody
    /// looked.
    pub(crate) fn others(&self) -> Option<(f64, f64)> {
        cpu_seconds(self.surroundings())
    }
}
