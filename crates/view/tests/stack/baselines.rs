//! Baseline of a stack: the trace with which another is compared.

use morecores_study::trace::TraceSource;
use morecores_study::*;
use morecores_view::{TraceView, view};

use super::studies::{self, add_runs, clean_study, quiet_times, study};
use super::{assert_close, trace};

/// The plan keeps `{n}` at 4 in some points and lets it follow the CPUs in others.
#[test]
fn the_baseline_is_the_most_similar_run() {
    let mut made = study(&[1, 2]);
    made.header.plan.points = vec![
        studies::point(1, 1),
        studies::point(1, 4),
        studies::point(2, 2),
        studies::point(2, 4),
        studies::point(4, 4),
        studies::point(2, 3),
    ];
    for point in made.header.plan.points.clone() {
        add_runs(&mut made, point.cpus, &quiet_times(8.0 / f64::from(point.cpus)));
        let count = made.runs.len();
        made.runs[count - 8..].iter_mut().for_each(|run| run.n = point.n);
    }
    let traces: Vec<TraceView> = made
        .header
        .plan
        .points
        .iter()
        .map(|point| trace(point.cpus, point.n, 8.0 / f64::from(point.cpus)))
        .collect();
    let bases: Vec<((u32, u32), u32)> =
        view(&made, &traces).stack.iter().map(|s| ((s.cpus, s.n), s.base_n)).collect();
    assert_eq!(bases, [((2, 2), 1), ((2, 3), 1), ((2, 4), 4), ((4, 4), 4)]);
}

#[test]
fn no_stack_without_a_baseline() {
    let made = clean_study(&[1, 2]);
    assert!(view(&made, &[]).stack.is_empty());
    assert!(view(&made, &[trace(2, 2, 4.0)]).stack.is_empty());
    // The point was traced, but never timed.
    assert!(view(&made, &[trace(1, 1, 8.0), trace(4, 4, 2.0)]).stack.is_empty());
    assert!(view(&made, &[trace(1, 1, 8.0), trace(2, 2, 0.0)]).stack.is_empty());
    // Perf events tell less than BPF programs, so the difference would look like a loss.
    let by = |source, mut trace: TraceView| {
        trace.source = source;
        trace
    };
    let stacks =
        |base, other| view(&made, &[by(base, trace(1, 1, 8.0)), by(other, trace(2, 2, 4.0))]).stack.len();
    assert_eq!(
        (stacks(TraceSource::Perf, TraceSource::Bpf), stacks(TraceSource::Bpf, TraceSource::Perf)),
        (0, 0)
    );
    assert_eq!(stacks(TraceSource::Perf, TraceSource::Perf), 1);
    assert_eq!(stacks(TraceSource::BpfWithSystemCalls, TraceSource::Bpf), 1);
}

/// A traced run belongs to the point with the same value on each axis, and so does its baseline.
#[test]
fn traces_are_compared_with_traces_of_equal_further_axes() {
    let mut made = study(&[]);
    let size = |mib: u64| -> Coordinates { [("size_mib".to_owned(), AxisValue::Number(mib))].into() };
    let mut traces = Vec::new();
    for (cpus, mib, elapsed) in [(1, 50, 8.0), (1, 100, 4.0), (2, 50, 4.0), (2, 100, 1.0)] {
        let point = Point { axes: size(mib), ..morecores_testkit::point(cpus) };
        made.runs.push(morecores_testkit::run(&point, Nanos::from_secs_f64(elapsed)));
        made.header.plan.points.push(point);
        traces.push(TraceView { axes: size(mib), ..trace(cpus, cpus, 1.5 * elapsed) });
    }
    let view = view(&made, &traces);
    for trace in &view.traces {
        assert_close(trace.overhead.unwrap(), 0.5);
    }
    let stacks: Vec<_> = view.stack.iter().map(|stack| (stack.axes.clone(), stack.speedup)).collect();
    assert_eq!(stacks, [(size(50), 2.0), (size(100), 4.0)]);
    let base = view.trace(&view.stack[0].base_cell()).unwrap();
    assert_eq!((base.cpus, &base.axes), (1, &size(50)));
}
