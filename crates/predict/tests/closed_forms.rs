//! Coverage of the bands of closed forms: for Amdahl's law with known noise, for knees, and for
//! programs of a simulator.
//!
//! `cargo bench -p morecores --bench predict -- scoring` prints the figures of more cases.
#![allow(clippy::print_stdout, reason = "the table, for --nocapture")]

mod form_corpus;
mod ratio_score;

use std::fs;
use std::path::Path;

use form_corpus::{evidence_from_samples, noisy_times, predict_cases};
use morecores_machine::placement::CpuOrder;
use morecores_machine::topology::{Recording, read_from};
use morecores_predict::forecast::{Evidence, MeasuredPoint, forecast};
use morecores_predict::models::{Model, Usl};
use morecores_study::{CpuKind, Placement};
use morecores_view::machine_memory::MemoryPoint;
use morecores_view::{Caveat, Estimate};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use ratio_score::{RATIOS, coverage, print_table};

/// Number of studies of each serial fraction and noise.
const STUDIES: u64 = 20;

/// Two counts of six runs with a serial fraction: the band covers the truth at any distance and any
/// noise, and the prediction is not near perfect scaling.
#[test]
fn noise_makes_no_prediction_bolder() {
    for noise in [0.01, 0.03, 0.05, 0.1] {
        let (mut covered, mut all, mut bold) = ([0, 0, 0], 0, 0);
        for alpha in [0.02, 0.05, 0.2] {
            let law = Usl { one_cpu_elapsed: 1.0, alpha, beta: 0.0 };
            for study in 0..STUDIES {
                let mut rng = ChaCha8Rng::seed_from_u64(study);
                let samples = [1, 2].map(|n| noisy_times(law.elapsed(n), noise, 6, &mut rng));
                let found =
                    forecast(&evidence_from_samples(&[1, 2], &samples), &[4, 16, 64]).expect("a prediction");
                all += 1;
                for (point, covered) in found.points.iter().zip(&mut covered) {
                    let truth = law.elapsed(1) / law.elapsed(point.cpus);
                    *covered += u32::from(point.band90[0] <= truth && truth <= point.band90[1]);
                    bold +=
                        u32::from(point.cpus == 64 && point.speedup.is_some_and(|speedup| speedup > 60.0));
                }
            }
        }
        let shares = covered.map(|covered| f64::from(covered) / f64::from(all));
        println!("noise {noise}: coverage at 4, 16 and 64 CPUs {shares:.2?}, bold {bold} of {all}");
        assert!(shares.iter().all(|share| *share >= 0.9), "{noise}: {shares:?}");
        assert!(bold * 20 <= all, "{noise}: {bold} of {all}");
    }
}

/// Evidence of exact times from the slowdown of each number of busy CPUs.
fn evidence_with_slowdown(counts: &[u32], slowdown: fn(f64) -> f64) -> Evidence {
    let point = |cpus: &u32| MeasuredPoint {
        cpus: *cpus,
        elapsed: truth(*cpus, slowdown),
        error: 0.002,
        speedup_error: 0.003,
        deviation: 0.005,
        work: None,
        kernel: None,
    };
    Evidence { points: counts.iter().map(point).collect(), is_time: true, ..Evidence::default() }
}

/// Time of 64 equal tasks after a short start.
fn truth(cpus: u32, slowdown: fn(f64) -> f64) -> f64 {
    0.002 + 1.28 / f64::from(cpus) * slowdown(f64::from(cpus))
}

#[track_caller]
fn assert_covers(evidence: &Evidence, targets: &[u32], slowdown: fn(f64) -> f64) {
    let found = forecast(evidence, targets).expect("a prediction");
    for point in &found.points {
        let speedup = truth(1, slowdown) / truth(point.cpus, slowdown);
        let [low, high] = point.band90;
        println!("{} CPUs: {low:.1} to {high:.1}, true {speedup:.1}", point.cpus);
        assert!(low <= speedup && speedup <= high, "{point:?}: {speedup}");
    }
}

#[test]
fn bands_hold_a_knee_beyond_the_measured_counts() {
    let bandwidth_for_6 = |busy: f64| (busy / 6.0).max(1.0);
    assert_covers(&evidence_with_slowdown(&[1, 2, 4], bandwidth_for_6), &[8, 16, 32], bandwidth_for_6);
    let bandwidth_for_12 = |busy: f64| (busy / 12.0).max(1.0);
    assert_covers(&evidence_with_slowdown(&[1, 2, 4, 8], bandwidth_for_12), &[16, 32, 64], bandwidth_for_12);
    let turbo = |busy: f64| 4.0 / (4.0 - (busy - 2.0).clamp(0.0, 30.0) * 0.04);
    assert_covers(&evidence_with_slowdown(&[1, 2, 4], turbo), &[8, 16, 32], turbo);
    let none = |_: f64| 1.0;
    assert_covers(&evidence_with_slowdown(&[1, 2, 4], none), &[8, 16, 32], none);
}

/// Evidence on a machine of 16 CPUs with this slowdown for copies. The program's CPU time grows by
/// `growth`.
fn evidence_with_memory(counts: &[u32], copies: fn(f64) -> f64, growth: fn(f64) -> f64) -> Evidence {
    let mut evidence = evidence_with_slowdown(counts, growth);
    for point in &mut evidence.points {
        point.work = Some(1.28 * growth(f64::from(point.cpus)));
    }
    let memory_point = |cpus: u32| {
        let rate = 1e10 * f64::from(cpus) / copies(f64::from(cpus));
        let copy_bytes_per_s = Estimate { value: rate, ci95: Some([0.99 * rate, 1.01 * rate]) };
        MemoryPoint { cpus, copy_bytes_per_s, access_s: Estimate { value: 9e-8, ci95: None } }
    };
    Evidence { memory_speed: [1, 2, 4, 8, 16].map(memory_point).to_vec(), ..evidence }
}

#[test]
fn the_memory_of_the_machine_narrows_the_band() {
    let width = |evidence: &Evidence| {
        let [low, high] = forecast(evidence, &[16]).expect("a prediction").points[0].band90;
        high / low
    };
    let without = |evidence: &Evidence| Evidence { memory_speed: Vec::new(), ..evidence.clone() };
    let bandwidth_for_6 = |busy: f64| (busy / 6.0).max(1.0);
    let none = |_: f64| 1.0;
    // Measured to 4 CPUs, the bandwidth for 6 is ahead: the band holds it, and no scaling too.
    let streaming = evidence_with_memory(&[1, 2, 4], bandwidth_for_6, bandwidth_for_6);
    assert_covers(&streaming, &[8, 16], bandwidth_for_6);
    let computing = evidence_with_memory(&[1, 2, 4], bandwidth_for_6, none);
    assert_covers(&computing, &[8, 16], none);
    assert!(width(&computing) < width(&without(&computing)));
    // Measured to 8 CPUs, the growth of the CPU time tells the two programs apart.
    let computing = evidence_with_memory(&[1, 2, 4, 8], bandwidth_for_6, none);
    assert_covers(&computing, &[16], none);
    let (with, without_it) = (width(&computing), width(&without(&computing)));
    assert!(with < 0.9 * without_it, "{with} {without_it}");
    let streaming = evidence_with_memory(&[1, 2, 4, 8], bandwidth_for_6, bandwidth_for_6);
    assert_covers(&streaming, &[16], bandwidth_for_6);
    let names_memory = |evidence: &Evidence, target: u32| {
        let found = forecast(evidence, &[target]).expect("a prediction");
        found.caveats.iter().any(|caveat| matches!(caveat, Caveat::MemoryBound { .. }))
    };
    assert!(names_memory(&streaming, 16) && !names_memory(&computing, 16));
    // Nothing is known about the memory of a larger machine.
    assert!(!names_memory(&streaming, 32));
    let found = |evidence: &Evidence| forecast(evidence, &[32]).expect("a prediction").points;
    assert_eq!(found(&computing), found(&without(&computing)));
}

#[test]
fn cpus_of_another_kind_have_their_own_factor() {
    let width = |evidence: &Evidence| {
        let point = &forecast(evidence, &[16]).expect("a prediction").points[0];
        (point.band90[1] / point.band90[0], point.band90)
    };
    let sibling = |busy: f64| if busy <= 8.0 { 1.0 } else { busy / (8.0 + 0.3 * (busy - 8.0)) };
    let cores = evidence_with_slowdown(&[1, 2, 4, 8], sibling);
    let kinds = |other: CpuKind| [vec![CpuKind::Core; 8], vec![other; 8]].concat();
    let siblings = Evidence { cpu_kinds: kinds(CpuKind::SmtSibling), ..cores.clone() };
    assert_covers(&siblings, &[16], sibling);
    let (alike, [_, high_alike]) = width(&cores);
    let (mixed, [_, high_mixed]) = width(&siblings);
    assert!(mixed > alike && high_mixed < 0.95 * high_alike, "{mixed} {alike} {high_mixed} {high_alike}");
    let remote = |busy: f64| if busy <= 8.0 { 1.0 } else { 1.35 };
    let node = evidence_with_slowdown(&[1, 2, 4, 8], remote);
    assert_covers(&Evidence { cpu_kinds: kinds(CpuKind::OtherPackage), ..node }, &[16], remote);
}

/// A server of two packages of 32 cores with two hardware threads each.
#[test]
fn bands_beyond_the_cores_of_a_recorded_server_hold_its_siblings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/topology/server-2x32-smt.txt");
    let text = fs::read_to_string(&path).expect("a recording");
    let topology = read_from(&mut text.parse::<Recording>().expect("a recording").tree());
    let order = CpuOrder::from_policy(&topology, &topology.usable.cpus, Placement::CoresFirst);
    let cpu_kinds: Vec<CpuKind> = order.steps().iter().map(|step| step.kind).collect();
    let band = |counts: &[u32], cpu_kinds: &[CpuKind], target: u32| {
        let evidence = evidence_with_slowdown(counts, |_| 1.0);
        let evidence = Evidence { cpu_kinds: cpu_kinds.to_vec(), ..evidence };
        forecast(&evidence, &[target]).expect("a prediction").points[0].band90
    };
    // The cores of the first package, then those of the second, then the second threads.
    assert_eq!(band(&[8, 16], &cpu_kinds, 32), band(&[8, 16], &[], 32));
    let measured = |largest: u32| -> Vec<u32> {
        (0..7).map(|power| 1 << power).filter(|count| *count <= largest).collect()
    };
    for largest in [32, 64] {
        let counts = measured(largest);
        let (known, alike) = (band(&counts, &cpu_kinds, 2 * largest), band(&counts, &[], 2 * largest));
        // The ideal speedup ends the band of CPUs that are alike.
        assert!(known[0] < alike[0] && known[1] < 0.98 * alike[1], "{known:?} {alike:?}");
    }
    // Second threads that each add a tenth or four tenths of a core.
    for speedup in [64.0 * 1.1, 64.0 * 1.4] {
        let [low, high] = band(&measured(64), &cpu_kinds, 128);
        assert!(low <= speedup && speedup <= high, "{low} {high}");
    }
    assert!(band(&measured(64), &[], 128)[0] > 64.0 * 1.1);
}

/// A part of the tuning half; the bench prints the scoring half.
#[test]
fn bands_hold_for_simulated_programs() {
    let outcomes = predict_cases(0..60);
    for ratio in RATIOS {
        let covered = coverage(&outcomes, ratio);
        assert!(covered >= 0.8, "{ratio} times: {covered}");
    }
    print_table("closed forms", &[("tuning", outcomes)]);
}
