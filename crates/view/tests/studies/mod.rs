//! Synthetic studies, built run by run, so that every figure of their view is known beforehand.
// Each test binary includes this module and uses a part of it.
#![allow(dead_code)]

use morecores_study::topology::Topology;
use morecores_study::*;
/// Creates a study of `make -j{n}` without runs, on a machine with 64 online CPUs. Nothing in it
/// deserves a warning.
pub(crate) fn study(counts: &[u32]) -> Study {
    Study::new(Header {
        schema: STUDY_SCHEMA.into(),
        tool: "0.1.0".into(),
        created_at_ns: Nanos(1),
        subject: program("make -j{n}"),
        plan: Plan {
            limit: Limit::Hotplug,
            stop: Stop { precision: None, min_runs: 6, max_runs: 20, max_time: None, budget: None },
            ignore_failure: true,
            ..morecores_testkit::plan(counts.iter().map(|&cpus| point(cpus, cpus)).collect())
        },
        host: Host {
            topology: Topology { online: first_cpus(64), ..Topology::default() },
            ..Host::default()
        },
        closing: Some(Closing {
            ended_at_ns: Nanos(9),
            reason: StopReason::RunsExhausted,
            other_programs: vec![OtherProgram { name: "daemon".into(), cpu_ns: seconds(3.0) }],
            quiet: None,
        }),
        unknown: Default::default(),
    })
}

/// Creates the study of [`study`] with times in proportion to perfect scaling, eight runs per
/// point, and noise below 1%.
pub(crate) fn clean_study(counts: &[u32]) -> Study {
    let mut made = study(counts);
    for &cpus in counts {
        add_runs(&mut made, cpus, &quiet_times(8.0 / f64::from(cpus)));
    }
    made
}

/// Returns eight times around `middle` within 0.4%, unsorted.
pub(crate) fn quiet_times(middle: f64) -> Vec<f64> {
    [0.0, 3.0, -2.0, 1.0, -4.0, 4.0, -1.0, 0.0].map(|part| middle * (1.0 + part / 1000.0)).to_vec()
}

/// Creates a command without a shell.
pub(crate) fn program(line: &str) -> Command {
    Command::Program { argv: line.split(' ').map(Into::into).collect() }
}

/// Creates the point of the first `cpus` CPUs.
pub(crate) fn point(cpus: u32, n: u32) -> Point {
    Point { n, ..morecores_testkit::point(cpus) }
}

fn first_cpus(count: u32) -> CpuSet {
    (0..count).map(CpuId).collect()
}

/// Converts seconds to the record's unit.
pub(crate) fn seconds(s: f64) -> Nanos {
    Nanos::from_secs_f64(s)
}

/// Appends timed runs of these elapsed seconds that kept all their CPUs busy, one tenth of the time
/// in the kernel.
pub(crate) fn add_runs(study: &mut Study, cpus: u32, elapsed: &[f64]) {
    for &elapsed in elapsed {
        let run = run(study, cpus, elapsed);
        study.runs.push(run);
    }
}

/// Creates a run as [`add_runs`] appends it.
pub(crate) fn run(study: &Study, cpus: u32, elapsed: f64) -> Run {
    let index = study.runs.len() as u32;
    let earlier = study.runs.iter().filter(|run| run.cpus == cpus && run.phase == Phase::Timed);
    Run {
        index,
        round: earlier.count() as u32,
        limit: study.header.plan.limit,
        started_at_ns: Nanos(5),
        cpu: cpu(elapsed * f64::from(cpus) * 0.9, elapsed * f64::from(cpus) * 0.1, CpuEstimator::Cgroup),
        rusage: Rusage { max_rss_bytes: Bytes(1 << 30), ..Rusage::default() },
        max_rss_floor_bytes: Bytes(1 << 20),
        surroundings: Some(quiet_surroundings(elapsed, cpus)),
        ..morecores_testkit::run(&point(cpus, cpus), seconds(elapsed))
    }
}

/// Creates user and system time from seconds.
pub(crate) fn cpu(user: f64, system: f64, estimator: CpuEstimator) -> CpuTime {
    CpuTime { user_ns: seconds(user), system_ns: seconds(system), estimator }
}

/// Creates surroundings in which only the tree used CPU time, and nothing was taken from it.
pub(crate) fn quiet_surroundings(elapsed: f64, cpus: u32) -> Surroundings {
    let tree = seconds(elapsed * f64::from(cpus));
    Surroundings {
        covers_ns: seconds(elapsed),
        steal_ns: Nanos::ZERO,
        throttled_ns: Some(Nanos::ZERO),
        busy_allotted_ns: tree,
        busy_elsewhere_ns: Nanos::ZERO,
        tree_ns: tree,
        own_ns: Nanos::ZERO,
        devices: Vec::new(),
    }
}

/// Changes the surroundings of every run on `cpus` CPUs.
pub(crate) fn change_surroundings(study: &mut Study, cpus: u32, change: impl Fn(&mut Surroundings)) {
    let ours = study.runs.iter_mut().filter(|run| run.cpus == cpus);
    ours.filter_map(|run| run.surroundings.as_mut()).for_each(change);
}
