//! Traced runs of one cell together: the run that the view shows, and the shares of all of them.
//!
//! A share is a number of CPUs: the CPU-seconds of a component divided by the elapsed time of its
//! run. This module combines finished views of traces; it must not look at events.

use morecores_statistics::{Interval, mean, mean_interval, median};
use morecores_study::trace::TraceHeader;
use morecores_study::{Cell, InCell};

use crate::{Component, ComponentIntervals, Culprit, TraceView};

/// Traced runs of one cell.
#[derive(Debug)]
pub(crate) struct TracedRuns<'a> {
    /// Run with the median elapsed time: its timeline, names and warnings are shown.
    pub(crate) shown: &'a TraceView,
    /// The shown run, and the others of its quality.
    runs: Vec<&'a TraceView>,
}

impl InCell for TracedRuns<'_> {
    fn cell(&self) -> Cell {
        self.shown.cell()
    }
}

/// Headers of traces in the order in which [`view`](crate::view()) expects them: by cell, and in a
/// cell the run to show first.
///
/// The run to show lost no events, if there is such a run, and has the median elapsed time: its
/// timeline is the least exceptional. Of two runs it is the faster one, because a disturbance makes
/// runs slower.
pub fn order_of_traces(headers: &[TraceHeader]) -> Vec<&TraceHeader> {
    let seconds = |header: &TraceHeader| header.run.elapsed_ns.as_secs_f64();
    let usual = |header: &TraceHeader| {
        let same_cell = headers.iter().filter(|other| other.run.cell() == header.run.cell());
        median(&same_cell.map(seconds).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let is_lossy = |header: &TraceHeader| header.facts.missed > 0 || !header.facts.lost.is_empty();
    let mut ordered: Vec<&TraceHeader> = headers.iter().collect();
    ordered.sort_by(|a, b| {
        let distance = |header: &TraceHeader| (seconds(header) - usual(header)).abs();
        let by_loss = || is_lossy(a).cmp(&is_lossy(b));
        let by_time = || distance(a).total_cmp(&distance(b)).then(seconds(a).total_cmp(&seconds(b)));
        a.run.cell().cmp(&b.run.cell()).then_with(by_loss).then_with(by_time)
    });
    ordered
}

/// Groups traces by cell. The first trace of a cell is the shown one. Runs with another source of
/// events are left out, as are runs that lost events if the shown one lost none.
pub(crate) fn traced_runs(traces: &[TraceView]) -> Vec<TracedRuns<'_>> {
    let mut sorted: Vec<&TraceView> = traces.iter().collect();
    sorted.sort_by_key(|trace| trace.cell());
    let cells = sorted.chunk_by(|a, b| a.cell() == b.cell());
    cells
        .filter_map(|runs| {
            let shown = *runs.first()?;
            let is_as_good = |run: &&TraceView| {
                run.source == shown.source && (run.lost_events == 0 || shown.lost_events > 0)
            };
            Some(TracedRuns { shown, runs: runs.iter().copied().filter(is_as_good).collect() })
        })
        .collect()
}

impl<'a> TracedRuns<'a> {
    /// Returns each run with the share of a CPU that a second of it is in the mean over the runs.
    pub(crate) fn with_share_of_a_second(&self) -> impl Iterator<Item = (&'a TraceView, f64)> + '_ {
        let runs = self.runs.len() as f64;
        let timed = self.runs.iter().filter(|run| run.elapsed_s > 0.0);
        timed.map(move |run| (*run, 1.0 / (run.elapsed_s * runs)))
    }

    /// Returns all runs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &'a TraceView> + '_ {
        self.runs.iter().copied()
    }

    /// Returns the mean share of a component, in CPUs; none if a run cannot tell it apart.
    pub(crate) fn share(&self, component: Component) -> Option<f64> {
        mean(&self.shares(&[component])?)
    }

    /// Returns the interval of the mean share of these components together, in CPUs; none with one
    /// run.
    pub(crate) fn share_interval(&self, components: &[Component]) -> Option<Interval> {
        mean_interval(&self.shares(components)?)
    }

    /// Returns the share of these components in each run. A component that no run can tell apart
    /// counts as zero, because another contains it.
    fn shares(&self, components: &[Component]) -> Option<Vec<f64>> {
        let seconds = |run: &TraceView| {
            let parts = components.iter().map(|component| component.seconds(&run.components));
            if components.len() == 1 { parts.sum::<Option<f64>>() } else { Some(parts.flatten().sum()) }
        };
        self.runs.iter().map(|run| Some(seconds(run)? / run.elapsed_s)).collect()
    }

    /// Returns the CPUs that each command left idle, averaged over the runs. A name may occur
    /// several times.
    pub(crate) fn culprits(&self) -> Vec<Culprit> {
        let runs = self.runs.len() as f64;
        let of_run = |run: &&TraceView| {
            let elapsed_s = run.elapsed_s;
            let share = move |culprit: Culprit| {
                let lost_cpus = culprit.lost_cpus / elapsed_s / runs;
                Culprit { lost_cpus, ..culprit }
            };
            run.culprits.clone().into_iter().map(share)
        };
        self.runs.iter().flat_map(of_run).collect()
    }

    /// Returns the shown trace, with the number of runs and the intervals over all of them.
    pub(crate) fn to_view(&self) -> TraceView {
        let intervals = || {
            ComponentIntervals::from_ends(|component| {
                let interval = self.share_interval(&[component])?;
                Some(interval.ends().map(|share| share * self.shown.elapsed_s))
            })
        };
        let components_ci95 = (self.runs.len() > 1).then(intervals);
        TraceView { runs: self.runs.len() as u32, components_ci95, ..self.shown.clone() }
    }
}
