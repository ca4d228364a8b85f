//! Measures the noise of the machine that runs the tests, for half a second.

use std::time::Duration;

use morecores_machine::topology;
use morecores_machine::{PinnedThreadError, noise};
use morecores_study::noise::CpuRelation;
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_testkit::report_skip;

#[test]
fn noise_is_measured_for_each_cpu_and_for_all_at_once() {
    let cpus: CpuSet = topology::read().usable.cpus.iter().take(2).collect();
    let noise = noise::measure(&cpus, Duration::from_millis(500)).expect("usable CPUs");
    let related = |relation: CpuRelation| noise.runs.iter().filter(move |s| s.relation == relation);
    for cpu in cpus.iter() {
        assert!(related(CpuRelation::Alone).any(|s| s.cpus() == CpuSet::from_iter([cpu])), "{noise:?}");
    }
    if cpus.len() < 2 {
        report_skip(
            "noise_is_measured_for_each_cpu_and_for_all_at_once",
            "in part: only one CPU may be used",
        );
    } else {
        assert!(
            related(CpuRelation::All).all(|s| s.cpus() == cpus) && related(CpuRelation::All).count() > 0,
            "{noise:?}"
        );
    }
    assert!(noise.steps > 0, "{noise:?}");
    // Repetitions do not overlap, and each lies within its run.
    for run in &noise.runs {
        for thread in &run.threads {
            let repeated: Nanos = thread.times_ns.iter().copied().sum();
            assert!(repeated <= run.lasted_ns, "{run:?}");
        }
    }
}

#[test]
fn a_missing_cpu_is_named_without_a_wait_for_it() {
    let missing = CpuId(8191);
    let first = topology::read().usable.cpus.first().expect("a usable CPU");
    let error = noise::measure(&CpuSet::from_iter([first, missing]), Duration::from_millis(10)).unwrap_err();
    assert!(matches!(error, PinnedThreadError::Pin { cpu, .. } if cpu == missing), "{error}");
    assert!(error.to_string().contains("CPU 8191"), "{error}");
}

#[test]
fn without_cpus_there_is_no_noise() {
    assert!(noise::measure(&CpuSet::new(), Duration::ZERO).expect("nothing to fail").runs.is_empty());
}
