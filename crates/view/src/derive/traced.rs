//! The traced runs beside the untraced ones of their study: what tracing cost, and what spoils a trace.
//!
//! Only whether and how much; the words are the report's.

use crate::{OutsideEvidence, PointView, TraceView, Warning};

/// Share of the allotted CPUs' time that may be spent elsewhere, as for steal: below it, it cannot move a speedup by
/// more than the precision asked for by default.
const ELSEWHERE: f64 = 0.01;
/// A traced run this much longer than the untraced ones has other waits than they: at 10% the tracer takes as much as a
/// loss worth reporting.
const OVERHEAD: f64 = 0.1;
/// Share of the allotted CPUs' time that no rule explains: what the components may be off on programs whose truth is
/// known (docs/methods/explain.md, "Accuracy").
const UNEXPLAINED: f64 = 0.03;
/// Share of the allotted CPUs' time spent in spinning loops that is more than a library's short spin before it sleeps.
const SPINNING: f64 = 0.05;
/// Seconds of sampled time below which a share is a matter of chance: 20 samples at 197 Hz, whose number has a standard
/// error of a fifth.
const SAMPLED: f64 = 0.1;

/// The traces in ascending order, each with its overhead over the untraced runs of its point, where there are any.
pub(super) fn beside(points: &[PointView], traces: &[TraceView]) -> Vec<TraceView> {
    let mut traces = traces.to_vec();
    traces.sort_by_key(|trace| (trace.cpus, trace.n));
    for trace in &mut traces {
        let point = points.iter().find(|point| point.cpus == trace.cpus && point.n == trace.n);
        trace.overhead = point
            .map(|point| point.elapsed_s.median)
            .filter(|median| *median > 0.0)
            .map(|median| trace.elapsed_s / median - 1.0);
    }
    traces
}

/// Whether the smallest count ran more threads than it had CPUs: then it is no baseline for those that had one for
/// each. `online` is the machine's number of CPUs.
pub(super) fn crowded_base(
    points: &[PointView],
    traces: &[TraceView],
    online: u32,
    told: bool,
) -> Option<Warning> {
    let [base, _, ..] = points else { return None };
    let trace = traces.iter().find(|trace| (trace.cpus, trace.n) == (base.cpus, base.n))?;
    let workers = trace.workers.clone().filter(|workers| workers.threads > base.cpus.max(base.n))?;
    let machine_sized = workers.threads == online;
    Some(Warning::CrowdedBase { cpus: base.cpus, workers, machine_sized, told })
}

/// Adds what spoils a trace. What a trace measures stands in for what the timed runs only bound.
pub(super) fn add(warnings: &mut Vec<Warning>, warning: Warning) {
    if let Warning::RanOutsideCpus { cpus: traced, .. } = warning {
        warnings.retain(|w| !matches!(w, Warning::RanOutsideCpus { cpus, .. } if *cpus == traced));
    }
    warnings.push(warning);
}

/// What spoils one trace.
pub(super) fn warnings(trace: &TraceView) -> Vec<Warning> {
    let cpus = trace.cpus;
    let of_cpus = |seconds: f64| seconds / (f64::from(cpus) * trace.elapsed_s);
    let mut warnings = Vec::new();
    if trace.lost_events > 0 {
        let share = trace.lost_events as f64 / (trace.lost_events as f64 + trace.events as f64);
        warnings.push(Warning::LossyTrace { cpus, lost_events: trace.lost_events, share });
    }
    let share = of_cpus(trace.outside_tree_s);
    if share > ELSEWHERE {
        warnings.push(Warning::RanOutsideCpus { cpus, share, evidence: OutsideEvidence::Trace });
    }
    if let Some(overhead) = trace.overhead.filter(|overhead| *overhead > OVERHEAD) {
        warnings.push(Warning::TraceOverhead { cpus, overhead });
    }
    let share = of_cpus(trace.components.unexplained_s);
    if share.abs() > UNEXPLAINED {
        warnings.push(Warning::UnexplainedTime { cpus, share });
    }
    if let Some(spin) = trace.user_spin_s.filter(|spin| *spin > SAMPLED && of_cpus(*spin) > SPINNING) {
        warnings.push(Warning::UserSpinning { cpus, share: of_cpus(spin) });
    }
    warnings
}
