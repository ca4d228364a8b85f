//! Timed runs of one CPU count, the sample behind each figure.
//!
//! A sample holds the timed runs that succeeded. No estimate includes a failed run or a warm-up.
//! This module computes no figure.

use morecores_study::{Cell, InCell, Phase, Point, RoundValue, Run, RunRecord, Study, Surroundings};

use crate::others::cpu_seconds;

/// Timed runs of one CPU count.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) point: &'a Point,
    /// Runs that succeeded, in the order of the measurement.
    pub(crate) runs: Vec<&'a Run>,
    /// Runs that failed.
    pub(crate) failed: Vec<&'a Run>,
}

impl InCell for Sample<'_> {
    fn cell(&self) -> Cell {
        self.point.cell()
    }
}

impl<'a> Sample<'a> {
    /// Collects the timed runs of `point`.
    pub(crate) fn new(study: &'a Study, point: &'a Point) -> Self {
        let is_in_sample = |run: &&Run| run.phase == Phase::Timed && run.cell() == point.cell();
        let (runs, failed): (Vec<_>, Vec<_>) =
            study.runs.iter().filter(is_in_sample).partition(|run| run.counts(&study.header.plan));
        Self { point, runs, failed }
    }

    /// Returns the elapsed times in seconds.
    pub(crate) fn elapsed(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.elapsed_ns.as_secs_f64()).collect()
    }

    /// Returns the values that the study is about: the metric if there is one, else the elapsed
    /// time.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.value()).collect()
    }

    /// Returns these values with the rounds of their runs.
    pub(crate) fn round_values(&self) -> Vec<RoundValue> {
        self.runs.iter().map(|run| run.round_value()).collect()
    }

    /// Returns the surroundings of the successful runs.
    pub(crate) fn surroundings(&self) -> impl Iterator<Item = &'a Surroundings> + '_ {
        self.runs.iter().filter_map(|run| run.surroundings.as_ref())
    }

    /// Returns the CPU time of other programs in seconds over all runs, on the allotted CPUs and
    /// elsewhere. Returns none if nothing was read.
    pub(crate) fn other_cpu_seconds(&self) -> Option<(f64, f64)> {
        cpu_seconds(self.surroundings())
    }
}
