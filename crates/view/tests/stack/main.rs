//! Speedup stacks and the warnings about traces, on views with a known truth.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod functions;
#[path = "../studies/mod.rs"]
mod studies;

use morecores_study::trace::TraceSource;
use morecores_study::*;
use morecores_view::compare::{Side, compare};
use morecores_view::view;
use morecores_view::*;
use proptest::prelude::*;
use studies::{add_runs, clean_study, quiet_times, study};

/// Creates a traced run of `elapsed_s` seconds with empty components.
fn trace(cpus: u32, n: u32, elapsed_s: f64) -> TraceView {
    TraceView {
        cpus,
        n,
        axes: Coordinates::new(),
        cpu_set: (0..cpus).map(CpuId).collect(),
        source: TraceSource::Bpf,
        runs: 1,
        elapsed_s,
        overhead: None,
        events: 1000,
        lost_events: 0,
        misfits: Inconsistencies::default(),
        law_violations: Vec::new(),
        components: Components::default(),
        components_ci95: None,
        unexplained_by_cpu: Vec::new(),
        overaccounted_s: 0.0,
        user_spin_s: Some(0.0),
        outside_cpu_s: 0.0,
        outside_tree_s: 0.0,
        kernel_ratio: None,
        kernel_ratio_estimator: KernelRatioEstimator::Trace(TraceEstimator::Ticks),
        waiting_ratio: None,
        lock_ratio: None,
        parallelism: Parallelism::default(),
        workers: None,
        serial_phases: Vec::new(),
        serial_gap_s: 0.001,
        serial_minimum_s: 0.01,
        parts: SerialAndParallel { serial_s: 0.0, parallel_s: elapsed_s },
        commands: Vec::new(),
        locks: Vec::new(),
        user_locks: Vec::new(),
        lock_holds: None,
        waits: Vec::new(),
        openmp: Vec::new(),
        call_tree: Vec::new(),
        sample_period_s: None,
        stack_coverage: None,
        culprits: Vec::new(),
        functions: Vec::new(),
        others: Vec::new(),
        untold_others_s: None,
        behind_user_lock: HolderWaits::default(),
        untraced: Vec::new(),
    }
}

/// Divides the CPU-seconds of a trace. The first 16 components get these weights of the whole, and
/// the rest is unexplained.
fn divide_cpu_time(trace: &mut TraceView, weights: [f64; 16]) {
    let whole = f64::from(trace.cpus) * trace.elapsed_s;
    let [user, kernel, interrupt, spin, others, tracer, steal, scheduling, held, pinned, rest @ ..] =
        weights.map(|weight| weight * whole);
    let [kernel_lock, user_lock, disk, peer, timer, too_little] = rest;
    trace.components = Components {
        user_work_s: user,
        kernel_work_s: Some(kernel),
        interrupt_s: Some(interrupt),
        kernel_lock_spin_s: Some(spin),
        other_processes_s: others,
        tracer_s: tracer,
        steal_s: Some(steal),
        idle_scheduling_s: scheduling,
        idle_held_s: Some(held),
        idle_pinned_s: Some(pinned),
        idle_kernel_lock_s: Some(kernel_lock),
        idle_user_lock_s: Some(user_lock),
        idle_disk_s: Some(disk),
        idle_peer_s: Some(peer),
        idle_device_s: Some(0.0),
        idle_rcu_s: Some(0.0),
        idle_uninterruptible_s: Some(0.0),
        idle_timer_s: Some(timer),
        idle_too_little_work_s: too_little,
        unexplained_s: whole * (1.0 - weights.iter().sum::<f64>()),
    };
}

/// Returns the sum of all losses that are not null.
fn total(losses: &Losses) -> f64 {
    let value = serde_json::to_value(losses).unwrap();
    value.as_object().unwrap().values().filter_map(serde_json::Value::as_f64).sum()
}

fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
}

/// The speedup is 10 s divided by between 6 and 8 s, and the baseline used its CPU for user work
/// alone: the interval of the speedup is the interval of this loss, and no other.
#[test]
fn the_interval_of_the_speedup_is_that_of_the_losses() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0, 6.9, 7.0, 7.0, 7.1, 8.0]);
    let (mut one, mut two) = (trace(1, 1, 10.0), trace(2, 2, 7.0));
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    divide_cpu_time(&mut two, [0.75, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.25]);
    let shown = view(&made, &[one.clone(), two.clone()]);
    let stack = &shown.stack[0];
    let [low, high] = shown.points[1].speedup.ci95.unwrap();
    assert!(low < high);
    let intervals = stack.losses_ci95.unwrap();
    let [lost_low, lost_high] = intervals.user_work.unwrap();
    assert_close(lost_low, 1.5 - high);
    assert_close(lost_high, 1.5 - low);
    assert_eq!(intervals.idle_too_little_work, Some([stack.losses.idle_too_little_work; 2]));
    assert_eq!((shown.traces[1].runs, shown.traces[1].components_ci95), (1, None));
    // Five runs have no interval.
    made.runs.pop();
    assert_eq!(view(&made, &[one, two]).stack[0].losses_ci95, None);
}

/// Traced runs of a program that uses one CPU fully, and idles for these numbers of CPUs on two.
fn idle_traces(idle_cpus: &[f64]) -> Vec<TraceView> {
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let with_idle = |idle: &f64| {
        let mut two = trace(2, 2, 6.0);
        let (work, idle) = (1.0 - idle / 2.0, idle / 2.0);
        divide_cpu_time(&mut two, [work, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle]);
        two
    };
    [one.clone(), one].into_iter().chain(idle_cpus.iter().map(with_idle)).collect()
}

/// The distances of both studies' losses add in quadrature. A count that was traced once leaves the
/// difference without an interval.
#[test]
fn the_difference_of_two_stacks_has_an_interval() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0; 6]);
    let stack_of = |base: &[f64], new: &[f64]| {
        let views = [base, new].map(|idle_cpus| view(&made, &idle_traces(idle_cpus)));
        let side = |name, view| Side { name, study: &made, view };
        compare(side("base", &views[0]), side("new", &views[1]), 0.0).unwrap().stack.remove(0)
    };
    let stack = stack_of(&[0.2, 0.3, 0.4], &[0.1, 0.5, 0.9]);
    assert_close(stack.grown.idle_too_little_work, 0.2);
    // Student's factor with two degrees of freedom is 4.3027; the deviations are 0.1 and 0.4.
    let half_width = 4.3027 / 3.0_f64.sqrt() * 0.1_f64.hypot(0.4);
    let intervals = stack.grown_ci95.unwrap();
    let [low, high] = intervals.idle_too_little_work.unwrap();
    assert!(
        (low - (0.2 - half_width)).abs() < 1e-4 && (high - (0.2 + half_width)).abs() < 1e-4,
        "{low} {high}"
    );
    assert_eq!(intervals.idle_disk, Some([0.0, 0.0]));
    assert_eq!(stack_of(&[0.2, 0.3, 0.4], &[0.1]).grown_ci95, None);
}

/// Three traced runs of two CPUs idle for 0.2, 0.3 and 0.4 CPUs. The speedup is exact.
#[test]
fn several_traced_runs_give_the_mean_loss_and_its_spread() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[6.0; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [1.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let with_idle = |elapsed_s: f64, idle: f64| {
        let mut two = trace(2, 2, elapsed_s);
        let (work, idle) = (1.0 - idle / 2.0, idle / 2.0);
        divide_cpu_time(&mut two, [work, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle]);
        two.culprits =
            vec![Culprit { name: "ld".into(), lost_cpus: idle * 2.0 * elapsed_s, waiting_in: None }];
        two
    };
    // The first of a cell is the one to show.
    let traces = [with_idle(6.0, 0.3), one, with_idle(5.0, 0.2), with_idle(7.0, 0.4)];
    let shown = view(&made, &traces);
    let two = &shown.traces[1];
    assert_eq!((shown.traces.len(), two.runs, two.elapsed_s), (2, 3, 6.0));
    let stack = &shown.stack[0];
    assert_close(stack.losses.idle_too_little_work, 0.3);
    assert_close(total(&stack.losses), 2.0 - stack.speedup);
    assert_close(stack.culprits[0].lost_cpus, 0.3);
    // Student's factor with two degrees of freedom is 4.3027, and the standard error 0.1 / √3.
    let half_width = 4.3027 * 0.1 / 3.0_f64.sqrt();
    let [low, high] = stack.losses_ci95.unwrap().idle_too_little_work.unwrap();
    assert!(
        (low - (0.3 - half_width)).abs() < 1e-4 && (high - (0.3 + half_width)).abs() < 1e-4,
        "{low} {high}"
    );
    let [low, high] = two.components_ci95.unwrap().idle_too_little_work.unwrap();
    assert!((high - low - 2.0 * half_width * 6.0).abs() < 1e-3, "{low} {high}");
    // A run that lost events does not count beside one that lost none.
    let mut lossy = traces;
    lossy[3].lost_events = 9;
    let shown = view(&made, &lossy);
    assert_eq!(shown.traces[1].runs, 2);
    assert_close(shown.stack[0].losses.idle_too_little_work, 0.25);
}

/// A run of 10 s on one CPU has 4 s of serial work. On two CPUs it takes 7 s, with one CPU idle for
/// 4 s.
#[test]
fn the_idle_cpu_of_a_serial_part_is_the_whole_loss() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[7.0; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [0.9, 0.1, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    one.parts = SerialAndParallel { serial_s: 4.0, parallel_s: 6.0 };
    let mut two = trace(2, 2, 7.0);
    let idle = 4.0 / 14.0;
    divide_cpu_time(
        &mut two,
        [9.0 / 14.0, 1.0 / 14.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., idle],
    );
    two.parts = SerialAndParallel { serial_s: 4.0, parallel_s: 3.0 };
    two.culprits = vec![Culprit { name: "ld".into(), lost_cpus: 4.0, waiting_in: Some("wait4".into()) }];

    let view = view(&made, &[two, one]);
    assert_eq!(view.traces.iter().map(|t| t.cpus).collect::<Vec<_>>(), [1, 2]);
    let [stack] = &view.stack[..] else { panic!("{:?}", view.stack) };
    assert_eq!((stack.cpus, stack.n, stack.base_cpus, stack.base_n), (2, 2, 1, 1));
    assert_close(stack.speedup, 10.0 / 7.0);
    assert_close(stack.losses.idle_too_little_work, 4.0 / 7.0);
    assert_close(stack.losses.user_work, 0.0);
    assert_close(stack.losses.kernel_work.unwrap(), 0.0);
    assert_close(total(&stack.losses), 2.0 - 10.0 / 7.0);
    let [ld] = &stack.culprits[..] else { panic!("{:?}", stack.culprits) };
    assert_close(ld.lost_cpus, 4.0 / 7.0);
    assert_eq!((&*ld.name, ld.waiting_in.as_deref()), ("ld", Some("wait4")));
    assert_close(stack.serial_speedup.unwrap(), 1.0);
    assert_close(stack.parallel_speedup.unwrap(), 2.0);
}

/// The scaling is perfect, with 10 s of work. Other programs took 2 s of one traced run, on two
/// CPUs or on one, and nothing of the timed runs.
#[test]
fn time_taken_by_others_in_a_traced_run_alone_is_no_gain_and_no_loss() {
    let stack_of = |one_s: f64, two_s: f64, around: f64| {
        let mut made = study(&[1, 2]);
        add_runs(&mut made, 1, &[10.0; 6]);
        add_runs(&mut made, 2, &[5.0; 6]);
        studies::change_surroundings(&mut made, 2, |s| s.busy_allotted_ns += studies::seconds(around));
        let traced = |cpus: u32, elapsed_s: f64| {
            let mut trace = trace(cpus, cpus, elapsed_s);
            let whole = f64::from(cpus) * elapsed_s;
            let [user, kernel] = [9.0 / whole, 1.0 / whole];
            divide_cpu_time(
                &mut trace,
                [user, kernel, 0., 0., 1.0 - user - kernel, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
            );
            trace
        };
        view(&made, &[traced(1, one_s), traced(2, two_s)]).stack[0].losses
    };
    for losses in [stack_of(10.0, 6.0, 0.0), stack_of(12.0, 5.0, 0.0)] {
        assert_close(losses.user_work, 0.0);
        assert_close(losses.kernel_work.unwrap(), 0.0);
        assert_close(losses.other_processes, 0.0);
        assert_close(total(&losses), 0.0);
    }
    // If other programs took as much of each timed run, the traced run is like the timed ones. The
    // stack is then not corrected.
    let losses = stack_of(10.0, 6.0, 5.0 / 3.0);
    assert_close(losses.user_work, 9.0 / 6.0 - 2.0 * 0.9);
    assert_close(losses.other_processes, 2.0 / 6.0);
}

/// The same work costs more CPU time on two CPUs, which is a positive loss of user work. Kernel
/// work shrinks, so its loss is below zero.
#[test]
fn work_that_grows_is_lost_and_work_that_shrinks_is_gained() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.5; 6]);
    let mut one = trace(1, 1, 10.0);
    divide_cpu_time(&mut one, [0.8, 0.2, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]);
    let mut two = trace(2, 2, 5.5);
    divide_cpu_time(
        &mut two,
        [9.5 / 11.0, 1.5 / 11.0, 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],
    );
    let stack = &view(&made, &[one, two]).stack[0];
    assert_close(stack.losses.user_work, 1.5 / 5.5);
    assert_close(stack.losses.kernel_work.unwrap(), -0.5 / 5.5);
    assert_close(total(&stack.losses), 2.0 - stack.speedup);
}

/// The idle time that culprits of the baseline no longer cause appears under their names.
#[test]
fn culprits_are_less_the_baselines_share_and_add_up() {
    let mut made = study(&[2, 4]);
    add_runs(&mut made, 2, &[6.0; 6]);
    add_runs(&mut made, 4, &[4.0; 6]);
    let culprit = |name: &str, lost_cpus| Culprit { name: name.into(), lost_cpus, waiting_in: None };
    let mut two = trace(2, 2, 6.0);
    two.components.idle_too_little_work_s = 3.0;
    two.culprits = vec![culprit("ld", 2.0), culprit("once", 1.0)];
    let mut four = trace(4, 4, 4.0);
    four.components.idle_too_little_work_s = 7.0;
    four.culprits = vec![culprit("cc1", 1.0), culprit("ld", 6.0)];
    let view = view(&made, &[two, four]);
    let stack = &view.stack[0];
    let found: Vec<(&str, f64)> = stack.culprits.iter().map(|c| (&*c.name, c.lost_cpus)).collect();
    assert_eq!(found, [("ld", 1.5 - 1.5 / 3.0), ("cc1", 0.25), ("once", -1.5 / 6.0)]);
    assert_close(found.iter().map(|(_, lost)| lost).sum(), stack.losses.idle_too_little_work);
    assert_eq!((stack.base_cpus, stack.base_n), (2, 2));
}

#[test]
fn a_part_too_short_to_divide_has_no_speedup() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.0; 6]);
    let mut one = trace(1, 1, 10.0);
    one.parts = SerialAndParallel { serial_s: 0.2, parallel_s: 9.8 };
    let mut two = trace(2, 2, 5.0);
    two.parts = SerialAndParallel { serial_s: 0.009, parallel_s: 4.991 };
    let stack = view(&made, &[one.clone(), two.clone()]).stack.remove(0);
    assert_eq!(stack.serial_speedup, None);
    assert_close(stack.parallel_speedup.unwrap(), 9.8 / 4.991);
    // For a program that runs for a fixed time, the parts of the elapsed time say nothing.
    made.header.plan.metric =
        Some(Metric { name: None, regex: "x".into(), unit: None, better: Better::Higher });
    for run in &mut made.runs {
        run.metric = Some(f64::from(run.cpus));
    }
    two.parts.serial_s = 0.1;
    let stack = view(&made, &[one, two]).stack.remove(0);
    assert_eq!((stack.serial_speedup, stack.parallel_speedup), (None, None));
    assert_close(stack.speedup, 2.0);
}

/// `make -j1` runs everything serially. Its single long serial phase is not the serial part of
/// `make -j2`.
#[test]
fn a_program_that_is_serial_on_one_cpu_has_only_a_parallel_speedup() {
    let mut made = study(&[1, 2]);
    add_runs(&mut made, 1, &[10.0; 6]);
    add_runs(&mut made, 2, &[5.5; 6]);
    let mut one = trace(1, 1, 10.0);
    one.parts = SerialAndParallel { serial_s: 9.9, parallel_s: 0.1 };
    let mut two = trace(2, 2, 5.5);
    two.parts = SerialAndParallel { serial_s: 1.0, parallel_s: 4.5 };
    let stack = view(&made, &[one, two]).stack.remove(0);
    assert_eq!(stack.serial_speedup, None);
    assert_close(stack.parallel_speedup.unwrap(), (10.0 - 1.0) / 4.5);
}

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

/// Two traces on one CPU and on two have equal components. One trace or both cannot tell some of
/// them apart.
#[test]
fn an_unknown_part_counts_with_the_component_that_contains_it() {
    let stack_of = |change: fn(&mut TraceView, &mut TraceView)| {
        let mut made = study(&[1, 2]);
        add_runs(&mut made, 1, &[4.0; 6]);
        add_runs(&mut made, 2, &[4.0; 6]);
        let (mut one, mut two) = (trace(1, 1, 4.0), trace(2, 2, 4.0));
        divide_cpu_time(&mut one, [1.0 / 17.0; 16]);
        divide_cpu_time(&mut two, [1.0 / 17.0; 16]);
        change(&mut one, &mut two);
        let view = view(&made, &[one, two]);
        let losses = view.stack[0].losses;
        assert_close(1.0 + total(&losses), 2.0);
        losses
    };
    let told = stack_of(|_, _| ());
    assert_close(told.user_work, 1.0 / 17.0);
    assert!(told.kernel_work.is_some() && told.idle_timer.is_some());
    // The user work of the baseline contains its kernel work.
    let losses = stack_of(|one, _| {
        one.components.user_work_s += one.components.kernel_work_s.take().unwrap();
    });
    assert_eq!((losses.kernel_work, losses.kernel_lock_spin.is_some()), (None, true));
    assert_close(losses.user_work, 2.0 / 17.0);
    // Spinning is part of kernel work here. It is part of user work if kernel work is not told
    // apart either.
    let losses = stack_of(|_, two| {
        *two.components.kernel_work_s.as_mut().unwrap() += two.components.kernel_lock_spin_s.take().unwrap();
    });
    assert_eq!(losses.kernel_lock_spin, None);
    assert_close(losses.kernel_work.unwrap(), 2.0 / 17.0);
    let losses = stack_of(|one, two| {
        for c in [&mut one.components, &mut two.components] {
            c.user_work_s += c.kernel_lock_spin_s.take().unwrap() + c.kernel_work_s.take().unwrap();
        }
    });
    assert_close(losses.user_work, 3.0 / 17.0);
    // Waits, pinned threads and threads held back.
    let losses = stack_of(|_, two| {
        let c = &mut two.components;
        c.idle_too_little_work_s += c.idle_disk_s.take().unwrap() + c.idle_kernel_lock_s.take().unwrap();
        c.idle_scheduling_s += c.idle_pinned_s.take().unwrap() + c.idle_held_s.take().unwrap();
    });
    assert_eq!((losses.idle_disk, losses.idle_kernel_lock), (None, None));
    assert_eq!((losses.idle_held, losses.idle_pinned), (None, None));
    assert_close(losses.idle_too_little_work, 3.0 / 17.0);
    assert_close(losses.idle_scheduling, 3.0 / 17.0);
}

fn weights() -> impl Strategy<Value = [f64; 16]> {
    prop::array::uniform16(0.0..0.1f64)
}

proptest! {
    /// The equation `n = S·b + Σ losses` holds for any components, even if they exceed the whole.
    #[test]
    fn the_height_of_a_stack_is_its_cpu_count(
        base in 1u32..4, more in 1u32..60,
        (base_elapsed, elapsed) in (0.01..1e4f64, 0.01..1e4f64),
        (timed_base, timed) in (0.01..1e4f64, 0.01..1e4f64),
        here in weights(), there in weights(), rate: bool,
    ) {
        let cpus = base + more;
        let mut made = study(&[base, cpus]);
        add_runs(&mut made, base, &[timed_base]);
        add_runs(&mut made, cpus, &[timed]);
        if rate {
            made.header.plan.metric = Some(Metric { name: None, regex: "x".into(), unit: None, better: Better::Higher });
            made.runs.iter_mut().for_each(|run| run.metric = Some(run.elapsed_ns.as_secs_f64()));
        }
        let (mut one, mut many) = (trace(base, base, base_elapsed), trace(cpus, cpus, elapsed));
        divide_cpu_time(&mut one, there);
        divide_cpu_time(&mut many, here);
        let view = view(&made, &[one, many]);
        let stack = &view.stack[0];
        let sum = stack.speedup * f64::from(base) + total(&stack.losses);
        // Sums of 16 rounded numbers of the size of the speedup.
        let slack = 1e-12 * (f64::from(cpus) + stack.speedup * f64::from(base));
        prop_assert!((sum - f64::from(cpus)).abs() <= slack, "{sum} instead of {cpus}");
        prop_assert_eq!(stack.speedup, view.points[1].speedup.value);
    }
}

/// A traced run belongs to the point with the same value on each axis, and so does its baseline.
#[test]
fn traces_are_compared_with_traces_of_equal_further_axes() {
    let mut made = study(&[]);
    let quota =
        |percent: u64| -> Coordinates { [("quota_percent".to_owned(), AxisValue::Number(percent))].into() };
    let mut traces = Vec::new();
    for (cpus, percent, elapsed) in [(1, 50, 8.0), (1, 100, 4.0), (2, 50, 4.0), (2, 100, 1.0)] {
        let point = Point { axes: quota(percent), ..morecores_testkit::point(cpus) };
        made.runs.push(morecores_testkit::run(&point, Nanos::from_secs_f64(elapsed)));
        made.header.plan.points.push(point);
        traces.push(TraceView { axes: quota(percent), ..trace(cpus, cpus, 1.5 * elapsed) });
    }
    let view = view(&made, &traces);
    for trace in &view.traces {
        assert_close(trace.overhead.unwrap(), 0.5);
    }
    let stacks: Vec<_> = view.stack.iter().map(|stack| (stack.axes.clone(), stack.speedup)).collect();
    assert_eq!(stacks, [(quota(50), 2.0), (quota(100), 4.0)]);
    let base = view.trace(&view.stack[0].base_cell()).unwrap();
    assert_eq!((base.cpus, &base.axes), (1, &quota(50)));
}
