//! Overhead of traces, and the warnings about them.

use morecores_study::*;
use morecores_view::view;
use morecores_view::*;

use super::studies::clean_study;
use super::{assert_close, trace};

#[test]
fn overhead_is_over_the_untraced_median_of_the_same_point() {
    let made = clean_study(&[1, 2]);
    let view = view(&made, &[trace(2, 2, 4.2), trace(1, 1, 8.0), trace(4, 4, 2.0)]);
    let overheads: Vec<Option<f64>> = view.traces.iter().map(|t| t.overhead).collect();
    assert_close(overheads[0].unwrap(), 0.0);
    assert_close(overheads[1].unwrap(), 0.05);
    assert_eq!(overheads[2], None);
}

/// Returns the warnings of a study with a trace at 2 CPUs and 4 s. The trace had no fault before
/// `spoil`.
fn trace_warnings(spoil: impl FnOnce(&mut TraceView)) -> Vec<Warning> {
    let mut spoilt = trace(2, 2, 4.0);
    spoil(&mut spoilt);
    view(&clean_study(&[1, 2]), &[spoilt]).warnings
}

#[test]
fn a_spoilt_trace_causes_a_warning() {
    assert_eq!(trace_warnings(|_| ()), []);
    let lossy = Warning::LossyTrace { cpus: 2, lost_events: 250, share: 0.2 };
    assert_eq!(trace_warnings(|t| t.lost_events = 250), [lossy]);
    let outside = Warning::RanOutsideCpus { cpus: 2, share: 0.5, evidence: OutsideEvidence::Trace };
    assert_eq!(trace_warnings(|t| t.outside_tree_s = 4.0), [outside]);
    assert_eq!(trace_warnings(|t| t.outside_tree_s = 0.07), []);
    // Kernel threads that work for the tree on other CPUs do not spoil the point.
    assert_eq!(trace_warnings(|t| t.outside_cpu_s = 4.0), []);
    let found = trace_warnings(|t| t.elapsed_s = 5.0);
    assert!(
        matches!(found[..], [Warning::TraceOverhead { cpus: 2, overhead }] if (overhead - 0.25).abs() < 1e-9),
        "{found:?}"
    );
    assert_eq!(trace_warnings(|t| t.elapsed_s = 4.3), []);
    for share in [0.25, -0.25] {
        assert_eq!(
            trace_warnings(|t| t.components.unexplained_s = share * 8.0),
            [Warning::UnexplainedTime { cpus: 2, share }]
        );
    }
    assert_eq!(trace_warnings(|t| t.components.unexplained_s = -0.2), []);
    assert_eq!(
        trace_warnings(|t| t.user_spin_s = Some(1.0)),
        [Warning::UserSpinning { cpus: 2, share: 0.125 }]
    );
    assert_eq!(trace_warnings(|t| t.user_spin_s = Some(0.3)), []);
    assert_eq!(trace_warnings(|t| t.user_spin_s = None), []);
    let (law, counted_s, integrated_s) = (OperationalLaw::RunQueue, 3.0, 2.0);
    let violate = |t: &mut TraceView| t.law_violations = vec![LawViolation { law, counted_s, integrated_s }];
    let violated = Warning::LawViolated { cpus: 2, law, counted_s, integrated_s };
    assert_eq!(trace_warnings(violate), [violated]);
    // Known losses are the reason for the violation.
    let found = trace_warnings(|t| {
        violate(t);
        t.lost_events = 250;
    });
    assert!(matches!(found[..], [Warning::LossyTrace { .. }]), "{found:?}");
}

#[test]
fn a_share_measured_by_a_trace_replaces_the_bound() {
    let mut made = clean_study(&[1, 2]);
    for run in made.runs.iter_mut().filter(|run| run.cpus == 1) {
        run.cpu.user_ns = run.elapsed_ns + run.elapsed_ns;
    }
    let mut trace = trace(1, 1, 8.0);
    trace.outside_tree_s = 8.5;
    let found = view(&made, &[trace]).warnings;
    let shares: Vec<_> = found
        .iter()
        .filter_map(|w| match w {
            Warning::RanOutsideCpus { cpus, share, evidence } => Some((*cpus, *share, *evidence)),
            _ => None,
        })
        .collect();
    assert_eq!(shares.len(), 1, "{found:?}");
    assert_eq!((shares[0].0, shares[0].2), (1, OutsideEvidence::Trace));
    assert_close(shares[0].1, 8.5 / 8.0);
}

#[test]
fn a_base_with_more_threads_than_cpus_causes_a_warning() {
    let crowded = |cpus, n, threads, change: fn(&mut Study)| {
        let mut made = clean_study(&[1, 2]);
        made.header.host.topology.online = (0..4).map(CpuId).collect();
        change(&mut made);
        let mut base = trace(cpus, n, 8.0 / f64::from(cpus));
        base.workers = Some(Workers { name: "pool".to_owned(), threads });
        let is_it = |w: &Warning| matches!(w, Warning::OversubscribedBase { .. });
        view(&made, &[base]).warnings.into_iter().find(is_it)
    };
    let warning = |threads, machine_sized| {
        let workers = Workers { name: "pool".to_owned(), threads };
        Some(Warning::OversubscribedBase { cpus: 1, workers, machine_sized, gets_count: true })
    };
    assert_eq!(crowded(1, 1, 4, |_| ()), warning(4, true));
    assert_eq!(crowded(1, 1, 7, |_| ()), warning(7, false));
    assert_eq!(crowded(1, 1, 1, |_| ()), None);
    assert_eq!(crowded(2, 2, 4, |_| ()), None, "no base");
    assert_eq!(crowded(1, 4, 4, |_| ()), None, "a run for a prediction, told 4");
    assert_eq!(crowded(1, 1, 4, |made| made.header.plan.points.truncate(1)), None, "nothing to compare");
}
