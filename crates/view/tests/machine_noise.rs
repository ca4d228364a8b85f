//! Figures of machines with known noise.

use morecores_study::noise::{CpuRelation, LoopRun, LoopThread, Noise};
use morecores_study::{CpuId, Nanos};
use morecores_view::machine_noise::machine_noise;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Nanoseconds of a repetition without any noise.
const LENGTH: f64 = 12e6;

fn thread(cpu: u32, times: impl IntoIterator<Item = f64>) -> LoopThread {
    LoopThread {
        cpu: CpuId(cpu),
        times_ns: times.into_iter().map(|time| Nanos(time.round() as u64)).collect(),
        involuntary_switches: Some(3),
        waited_ns: Some(Nanos::from_millis(5)),
        steal_ns: Nanos::from_millis(10),
    }
}

fn run(round: u32, relation: CpuRelation, threads: Vec<LoopThread>) -> LoopRun {
    LoopRun { round, relation, lasted_ns: Nanos::from_millis(500), threads }
}

/// Creates six rounds of two CPUs, alone and together. The noise is normal with the relative
/// standard deviation `sigma`. With others every repetition takes `slowdown` times as long, and
/// each round takes longer by `drift` than the previous one.
fn machine(sigma: f64, slowdown: f64, drift: f64) -> Noise {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    // Irwin-Hall: the sum of twelve uniform numbers minus six is almost normal.
    let mut normal = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let mut times =
        |factor: f64| (0..40).map(|_| LENGTH * factor * (1.0 + sigma * normal())).collect::<Vec<_>>();
    let mut noise = Noise { steps: 1000, runs: Vec::new() };
    for round in 0..6 {
        let speed = 1.0 + drift * f64::from(round);
        for cpu in 0..2 {
            noise.runs.push(run(round, CpuRelation::Alone, vec![thread(cpu, times(speed))]));
        }
        let threads = vec![thread(0, times(speed * slowdown)), thread(1, times(speed * slowdown))];
        noise.runs.push(run(round, CpuRelation::All, threads));
    }
    noise
}

#[test]
fn a_perfect_machine_has_no_noise() {
    let found = machine_noise(&machine(0.0, 1.0, 0.0)).expect("a machine");
    assert_eq!((found.floor, found.between_cpus), (Some(0.0), 0.0));
    assert_eq!(found.loop_s, 0.012);
    assert_eq!(found.comparisons, 2 * (240 - 19));
    let together = &found.disturbances[0];
    assert_eq!((together.slowdown.value, together.slowdown.ci95), (1.0, Some([1.0, 1.0])));
    let cpu = &found.cpus[1];
    assert_eq!((cpu.cpu, cpu.repetitions, cpu.spread, cpu.drift), (CpuId(1), 240, 0.0, 0.0));
    // 5 ms of 500 ms in each run; 10 ms of 500 ms, alone and with others; 3 switches in half a
    // second.
    let is_close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(is_close(cpu.waited.expect("told"), 0.01) && is_close(cpu.steal, 0.02), "{cpu:?}");
    assert_eq!(cpu.switches_per_s, Some(6.0));
}

/// The standard error of a median of 10 normal values is 1.18 sigma / sqrt(10) (exactly 0.372
/// sigma). Two of these medians differ by less than 1.96 · √2 · 0.372 sigma = 1.03 sigma in 95%
/// of cases.
#[test]
fn the_floor_and_the_spread_are_those_of_the_noise() {
    for sigma in [0.001, 0.01] {
        let found = machine_noise(&machine(sigma, 1.0, 0.0)).expect("a machine");
        let floor = found.floor.expect("enough");
        assert!((0.85..1.25).contains(&(floor / sigma)), "{floor} for {sigma}");
        for cpu in &found.cpus {
            assert!((0.85..1.15).contains(&(cpu.spread / sigma)), "{cpu:?}");
        }
    }
}

#[test]
fn a_drift_is_reported_as_drift_and_not_as_noise() {
    let found = machine_noise(&machine(0.001, 1.25, 0.01)).expect("a machine");
    let together = &found.disturbances[0];
    assert_eq!(together.relation, CpuRelation::All);
    let [low, high] = together.slowdown.ci95.expect("six rounds");
    assert!(low <= 1.25 + 1e-3 && high >= 1.25 - 1e-3 && high - low < 0.003, "{together:?}");
    assert!((together.worst - 1.25).abs() < 0.002, "{together:?}");
    for cpu in &found.cpus {
        assert!((cpu.drift - 0.05).abs() < 0.002, "{cpu:?}");
        assert!((cpu.slowdown.expect("two CPUs") - 1.25).abs() < 0.002, "{cpu:?}");
    }
    // The drift is 5% over the study. Without interleaved arms the floor would equal the drift.
    assert!(found.floor.expect("enough") < 0.002, "{found:?}");
}

#[test]
fn the_slower_and_the_most_disturbed_cpu_are_reported() {
    let rounds = 0..6u32;
    let times = |factor: f64| (0..20).map(move |_| LENGTH * factor);
    let runs = rounds.flat_map(|round| {
        [
            run(round, CpuRelation::Alone, vec![thread(0, times(1.0))]),
            run(round, CpuRelation::Alone, vec![thread(7, times(1.1))]),
            run(round, CpuRelation::Siblings, vec![thread(0, times(1.5)), thread(7, times(2.2))]),
            // CPU 9 was never measured alone, so it has no slowdown.
            run(round, CpuRelation::All, vec![thread(0, times(1.0)), thread(9, times(9.0))]),
        ]
    });
    let found = machine_noise(&Noise { steps: 1, runs: runs.collect() }).expect("a machine");
    assert!((found.between_cpus - 0.1).abs() < 1e-9, "{found:?}");
    let [pair, all] = &found.disturbances[..] else { panic!("{found:?}") };
    assert_eq!((pair.relation, pair.worst_cpu), (CpuRelation::Siblings, CpuId(7)));
    assert!((pair.slowdown.value - 1.75).abs() < 1e-9 && (pair.worst - 2.0).abs() < 1e-9, "{pair:?}");
    assert_eq!((all.relation, all.slowdown.value, all.worst_cpu), (CpuRelation::All, 1.0, CpuId(0)));
}

#[test]
fn too_few_repetitions_give_no_floor_and_none_give_nothing() {
    assert_eq!(machine_noise(&Noise::default()), None);
    let empty = Noise { steps: 1, runs: vec![run(0, CpuRelation::Alone, vec![thread(0, [])])] };
    assert_eq!(machine_noise(&empty), None);
    let short = vec![run(0, CpuRelation::Alone, vec![thread(0, vec![LENGTH; 30])])];
    let found = machine_noise(&Noise { steps: 1, runs: short }).expect("a machine");
    assert_eq!((found.floor, found.comparisons), (None, 11));
    assert_eq!(found.cpus[0].slowdown, None);
    assert!(found.disturbances.is_empty());
}
