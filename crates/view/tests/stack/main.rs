//! Speedup stacks and the warnings about traces, on views with a known truth.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod baselines;
mod functions;
mod intervals;
mod losses;
mod main_trace;
#[path = "../studies/mod.rs"]
mod studies;
mod warnings;

use morecores_study::trace::TraceSource;
use morecores_study::*;
use morecores_view::*;

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
        critical_path: None,
        threads: Vec::new(),
        efficiency_times: None,
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
