//! Traced runs compared with the untraced ones of their study: the cost of tracing, and the
//! conditions that spoil a trace.
//!
//! This module decides on the warnings and their figures; the report writes the text.

use crate::types::{find_base, find_in_cell};
use crate::{LawViolation, OutsideEvidence, PointView, TraceView, Warning};
use morecores_study::{Cell, InCell};

/// Share of the allotted CPUs' time that may be spent on other CPUs, as for steal. A smaller share
/// cannot move a speedup by more than the default precision.
const OUTSIDE_SHARE: f64 = 0.01;
/// Threshold of the overhead; a longer traced run has other waits than the untraced runs. At 10%
/// the tracer takes as much as a loss worth reporting.
const MAX_OVERHEAD: f64 = 0.1;
/// Share of the allotted CPUs' time that may stay unexplained. The bound is the error of the
/// components on programs whose truth is known (docs/methods/explain.md, "Accuracy").
const MAX_UNEXPLAINED: f64 = 0.03;
/// Share of the allotted CPUs' time in spinning loops that exceeds a library's short spin before it
/// sleeps.
const SPIN_SHARE: f64 = 0.05;
/// Seconds of sampled time below which a share is a matter of chance: 20 samples at 197 Hz. Their
/// number has a standard error of a fifth.
const LEAST_SPIN_S: f64 = 0.1;

/// Returns the traces, each with its overhead over the untraced runs of its point, if there are
/// any.
pub(super) fn with_overhead(points: &[PointView], traces: &[TraceView]) -> Vec<TraceView> {
    let mut traces = traces.to_vec();
    for trace in &mut traces {
        trace.overhead = find_in_cell(points, &trace.cell())
            .map(|point| point.elapsed_s.median)
            .filter(|median| *median > 0.0)
            .map(|median| trace.elapsed_s / median - 1.0);
    }
    traces
}

/// Returns a warning for each smallest count that ran more threads than it had CPUs. This count is
/// then no baseline for counts with a CPU for each thread. `online` is the machine's number of
/// CPUs.
pub(super) fn oversubscribed_bases(
    points: &[PointView],
    traces: &[TraceView],
    online: u32,
    tells_n: bool,
) -> Vec<Warning> {
    let has_base = |point: &PointView, cell: &Cell| {
        find_base(points, &point.cell()).is_some_and(|base| base.cell() == *cell && point.cpus > base.cpus)
    };
    let bases = points.iter().filter(|base| points.iter().any(|point| has_base(point, &base.cell())));
    let crowded = |base: &PointView| {
        let trace = find_in_cell(traces, &base.cell())?;
        let workers = trace.workers.clone().filter(|workers| workers.threads > base.cpus.max(base.n))?;
        let machine_sized = workers.threads == online;
        Some(Warning::OversubscribedBase { cpus: base.cpus, workers, machine_sized, gets_count: tells_n })
    };
    bases.filter_map(crowded).collect()
}

/// Returns the warnings of one trace.
pub(super) fn trace_warnings(trace: &TraceView) -> Vec<Warning> {
    let cpus = trace.cpus;
    let share_of_cpus = |seconds: f64| seconds / (f64::from(cpus) * trace.elapsed_s);
    let mut warnings = Vec::new();
    if trace.lost_events > 0 {
        let share = trace.lost_events as f64 / (trace.lost_events as f64 + trace.events as f64);
        warnings.push(Warning::LossyTrace { cpus, lost_events: trace.lost_events, share });
    }
    let share = share_of_cpus(trace.outside_tree_s);
    if share > OUTSIDE_SHARE {
        warnings.push(Warning::RanOutsideCpus { cpus, share, evidence: OutsideEvidence::Trace });
    }
    if let Some(overhead) = trace.overhead.filter(|overhead| *overhead > MAX_OVERHEAD) {
        warnings.push(Warning::TraceOverhead { cpus, overhead });
    }
    let share = share_of_cpus(trace.components.unexplained_s);
    if share.abs() > MAX_UNEXPLAINED {
        warnings.push(Warning::UnexplainedTime { cpus, share });
    }
    let violated = |violation: &LawViolation| {
        let LawViolation { law, counted_s, integrated_s } = *violation;
        Warning::LawViolated { cpus, law, counted_s, integrated_s }
    };
    // A trace with known losses violates the laws because of them.
    warnings.extend(trace.law_violations.iter().filter(|_| trace.lost_events == 0).map(violated));
    if let Some(spin) =
        trace.user_spin_s.filter(|spin| *spin > LEAST_SPIN_S && share_of_cpus(*spin) > SPIN_SHARE)
    {
        warnings.push(Warning::UserSpinning { cpus, share: share_of_cpus(spin) });
    }
    warnings
}
