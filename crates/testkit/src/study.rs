//! Headers, plans, points and runs with plain values. A test names only the values that it is
//! about, as in `Plan { warmup: 2, ..plan(points) }`. A new field of the record is added here
//! alone.
//!
//! A test must not rely on a value that neither the test nor a comment below names.

use morecores_study::*;

/// Header of an unfinished study of `true`, on a machine without known properties.
pub fn header(plan: Plan) -> Header {
    Header {
        schema: STUDY_SCHEMA.into(),
        tool: "0.0.0".into(),
        created_at_ns: Nanos(1),
        subject: Command::Program { argv: vec!["true".into()] },
        plan,
        host: Host::default(),
        closing: None,
        unknown: Default::default(),
    }
}

/// Plan of a sweep of these points by affinity, cores first, without a warm-up and without optional
/// features. It has 6 to 30 runs of each point, until the medians are known within 1%.
pub fn plan(points: Vec<Point>) -> Plan {
    Plan {
        points,
        axes: Vec::new(),
        limit: Limit::Affinity,
        placement: Some(Placement::CoresFirst),
        seed: 7,
        warmup: 0,
        stop: Stop { precision: Some(0.01), min_runs: 6, max_runs: 30, max_time: None, budget: None },
        goal: Goal::Precision,
        scaling: Scaling::Strong,
        keep_disturbed: false,
        cache: Cache::Warm,
        hooks: Hooks::default(),
        timeout: None,
        metric: None,
        further_metrics: Vec::new(),
        decimal_mark: None,
        thread_env: false,
        env: Vec::new(),
        success: default_success(),
        ignore_failure: false,
        incremental: false,
        keep_survivors: false,
        input: InputSource::default(),
        output: Output::Captured,
        trace: TraceMode::Auto,
        requested_traced_runs: None,
        syscalls: false,
        locks: LockHolds::default(),
        predict: Vec::new(),
        worth: None,
    }
}

/// Point of the first `cpus` CPUs, all of them cores, with `{n}` equal to `cpus`.
pub fn point(cpus: u32) -> Point {
    Point {
        cpus,
        n: cpus,
        axes: Coordinates::new(),
        cpu_set: (0..cpus).map(CpuId).collect(),
        adds: [CpuKind::Core].into(),
    }
}

/// Timed run of this point that succeeded, the first of its study. Its tree and its surroundings
/// are unknown.
pub fn run(point: &Point, elapsed: Nanos) -> Run {
    Run {
        index: 0,
        round: 0,
        phase: Phase::Timed,
        cpus: point.cpus,
        n: point.n,
        axes: point.axes.clone(),
        cpu_set: point.cpu_set.clone(),
        limit: Limit::Affinity,
        started_at_ns: Nanos::ZERO,
        elapsed_ns: elapsed,
        exit: Exit::Code(0),
        cpu: CpuTime { user_ns: Nanos::ZERO, system_ns: Nanos::ZERO, estimator: CpuEstimator::Cgroup },
        rusage: Rusage::default(),
        max_rss_floor_bytes: Bytes(0),
        tree: TreeUsage::default(),
        surroundings: None,
        metric: None,
        figures: Vec::new(),
        missing: None,
        survivors: Vec::new(),
        unknown: Default::default(),
    }
}
