//! Predictions from evidence with a known truth.

use morecores_study::Nanos;
use morecores_view::{Abstention, Caveat, Resource};

use super::compared_program::ComparedProgram;
use super::*;
use crate::demand::{Demands, LockId, LockUse, add_locks};
use crate::models::{Model, Usl};
use crate::replay::{Inflation, LockPolicy, Machine, Program, Step, replay};

fn measured_point(cpus: u32, elapsed: f64) -> MeasuredPoint {
    MeasuredPoint {
        cpus,
        elapsed,
        error: 0.002,
        speedup_error: 0.003,
        deviation: 0.005,
        work: None,
        kernel: None,
    }
}

fn timed_evidence(points: &[(u32, f64)]) -> Evidence {
    let points = points.iter().map(|(cpus, elapsed)| measured_point(*cpus, *elapsed)).collect();
    Evidence { points, is_time: true, ..Evidence::default() }
}

fn evidence_from_law(law: Usl, counts: &[u32]) -> Evidence {
    timed_evidence(&counts.iter().map(|n| (*n, law.elapsed(*n))).collect::<Vec<_>>())
}

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// Program with a first thread that works alone and then waits for other threads, one per job.
fn fork_and_join(serial: Nanos, jobs: &[Nanos]) -> Program {
    let mut first = vec![Step::Run(serial)];
    first.extend((1..=jobs.len() as u32).map(Step::Start));
    first.extend((1..=jobs.len() as u32).map(Step::Join));
    let mut threads = vec![first];
    threads.extend(jobs.iter().map(|time| vec![Step::Run(*time)]));
    Program { threads, ..Program::default() }
}

fn traced_program(cpus: u32, n: u32, elapsed: Nanos, program: Program) -> TracedProgram {
    let commands = vec!["job".to_owned(); program.threads.len()];
    let demands =
        Demands { program, threads: Vec::new(), locks: Vec::new(), wake_latency: None, slice: None };
    TracedProgram {
        commands,
        serial_command: Some("first".to_owned()),
        ..TracedProgram::from_demands(demands, cpus, n, elapsed)
    }
}

fn is_within(value: f64, truth: f64, bound: f64) -> bool {
    (value / truth - 1.0).abs() <= bound
}

#[test]
fn points_of_a_law_are_predicted_by_that_law() {
    let law = Usl { one_cpu_elapsed: 10.0, alpha: 0.1, beta: 0.0 };
    let found = forecast(&evidence_from_law(law, &[1, 2, 4]), &[8, 16]).unwrap();
    assert_eq!((found.model, found.from.as_slice()), (ModelName::Amdahl, &[1, 2, 4][..]));
    for point in &found.points {
        let truth = law.elapsed(1) / law.elapsed(point.cpus);
        assert!(is_within(point.speedup.unwrap(), truth, 0.03), "{point:?}");
        assert!(point.band90[0] < truth && truth < point.band90[1]);
    }
    let limit = found.first_limit.unwrap();
    assert!(
        matches!(limit.resource, Resource::SerialWork { command: None }) && is_within(limit.cpus, 10.0, 0.05)
    );
    assert!(found.abstained.is_none() && found.caveats == [Caveat::Untraced]);
    let all: f64 = found.models.iter().map(|model| model.weight).sum();
    assert!((all - 1.0).abs() < 1e-9);
}

/// Larger caches made 4 CPUs 6.2 times as fast as 1.
#[test]
fn band_of_a_superlinear_program_does_not_end_at_its_point() {
    let found = forecast(&timed_evidence(&[(1, 10.0), (2, 4.2), (4, 1.6)]), &[8]).unwrap();
    let (point, [low, high]) = (found.points[0].speedup.unwrap(), found.points[0].band90);
    assert!(point > 8.0 * 1.2, "{found:?}");
    assert!(low < point / 1.1 && point * 1.1 < high && high < 8.0 * 6.25 / 4.0 * 1.3, "{found:?}");
}

#[test]
fn trace_on_one_cpu_predicts_many() {
    let program = fork_and_join(MS(100), &[MS(100); 9]);
    let evidence =
        Evidence { programs: vec![traced_program(1, 1, MS(1000), program)], ..timed_evidence(&[(1, 1.0)]) };
    let found = forecast(&evidence, &[2, 3, 9, 64]).unwrap();
    let speedups: Vec<f64> = found.points.iter().map(|point| point.speedup.unwrap()).collect();
    for (speedup, truth) in speedups.iter().zip([1000.0 / 550.0, 2.5, 5.0, 5.0]) {
        // One CPU shows nothing about the slowdown by other busy CPUs.
        assert!(is_within(*speedup, truth, 0.08), "{speedups:?}");
    }
    assert_eq!((found.model, found.caveats), (ModelName::Replay, vec![Caveat::OneCount]));
    let bounds = found.bounds.unwrap();
    assert!(is_within(bounds.work_s, 1.0, 1e-3) && is_within(bounds.span_s, 0.2, 0.02), "{bounds:?}");
    let [low, high] = bounds.span_band90_s;
    assert!(low < bounds.span_s && bounds.span_s < high && high < 1.2 * low, "{bounds:?}");
    let limit = found.first_limit.unwrap();
    let by_first = Resource::SerialWork { command: Some("first".to_owned()) };
    assert!(
        limit.resource == by_first && limit.basis == LimitBasis::Trace && is_within(limit.cpus, 5.0, 0.02)
    );
    // No prediction, however optimistic, is below the bounds.
    assert!(found.points.iter().all(|point| point.elapsed_s.unwrap() >= 0.95 * bounds.span_s));
}

/// Two threads took 1 s of CPU time, and eight threads on the same two CPUs took 1.5 s. The extra
/// time may disappear.
#[test]
fn bounds_exclude_the_oversubscription_cost() {
    let two = traced_program(2, 2, MS(500), fork_and_join(MS(0), &[MS(500); 2]));
    let eight = traced_program(2, 8, MS(752), fork_and_join(MS(0), &[MS(188); 8]));
    let evidence =
        Evidence { receives_n: true, programs: vec![two, eight], ..timed_evidence(&[(1, 1.0), (2, 0.5)]) };
    let found = forecast(&evidence, &[8]).unwrap();
    let bounds = found.bounds.unwrap();
    assert!(is_within(bounds.work_s, 1.0, 0.05), "{bounds:?}");
    let [least, _] = found.points[0].elapsed_band90_s.unwrap();
    assert!(least >= 0.8 * bounds.span_s, "{least} {bounds:?}");
}

#[test]
fn a_lossy_trace_widens_the_band() {
    let width = |lost_share: f64| {
        let program = traced_program(1, 1, MS(1000), fork_and_join(MS(100), &[MS(100); 9]));
        let programs = vec![TracedProgram { lost_share, ..program }];
        let [lo, hi] =
            forecast(&Evidence { programs, ..timed_evidence(&[(1, 1.0)]) }, &[2]).unwrap().points[0].band90;
        (hi / lo).ln()
    };
    assert!(width(0.2) > 2.0 * width(0.0), "{} {}", width(0.2), width(0.0));
}

/// The traced run took twice as long as the timed runs, so the bounds are halved.
#[test]
fn bounds_are_at_the_pace_of_timed_runs() {
    let slow = traced_program(1, 1, MS(2000), fork_and_join(MS(200), &[MS(200); 9]));
    let evidence = Evidence { programs: vec![slow], ..timed_evidence(&[(1, 1.0)]) };
    let found = forecast(&evidence, &[64]).unwrap();
    let bounds = found.bounds.unwrap();
    assert!(is_within(bounds.work_s, 1.0, 1e-3) && is_within(bounds.span_s, 0.2, 0.02), "{bounds:?}");
    assert!(found.points[0].elapsed_s.unwrap() >= 0.95 * bounds.span_s);
}

#[test]
fn command_with_n_is_predicted_from_the_trace_for_that_n() {
    let two = traced_program(2, 2, MS(500), fork_and_join(MS(0), &[MS(500); 2]));
    let eight = traced_program(2, 8, MS(500), fork_and_join(MS(0), &[MS(125); 8]));
    let evidence =
        Evidence { receives_n: true, programs: vec![two.clone()], ..timed_evidence(&[(1, 1.0), (2, 0.5)]) };
    let found = forecast(&evidence, &[8]).unwrap();
    assert!(
        found.model != ModelName::Replay
            && found.caveats.contains(&Caveat::NotOversubscribed { cpus: vec![8] })
    );
    let evidence = Evidence { programs: vec![two, eight], ..evidence };
    let found = forecast(&evidence, &[8]).unwrap();
    assert!(
        found.model == ModelName::Replay && is_within(found.points[0].speedup.unwrap(), 8.0, 0.08),
        "{found:?}"
    );
}

#[test]
fn oversubscription_cost_may_disappear() {
    // Eight threads on two CPUs took twice the CPU time.
    let program = |n: u32, elapsed, job, processes| TracedProgram {
        processes,
        ..traced_program(2, n, elapsed, fork_and_join(MS(0), &vec![job; n as usize]))
    };
    let evidence = |processes: [usize; 2]| {
        let programs =
            vec![program(2, MS(500), MS(500), processes[0]), program(8, MS(1000), MS(250), processes[1])];
        Evidence { receives_n: true, programs, ..timed_evidence(&[(1, 1.0), (2, 0.5)]) }
    };
    let cost = |processes: [usize; 2]| {
        let evidence = evidence(processes);
        ComparedProgram::new(&evidence, &evidence.programs[1]).oversubscription_cost
    };
    assert!(is_within(cost([1, 1]), 2.0, 1e-9));
    // Twice as many processes, not counting one per CPU, had twice as much work.
    assert!(is_within(cost([102, 208]), 1.0, 1e-9));
    // All of it stays: 250 ms. None of it stays: 125 ms.
    let [least, most] = forecast(&evidence([1, 1]), &[8]).unwrap().points[0].elapsed_band90_s.unwrap();
    assert!(least < 0.13 && most > 0.25, "{least} {most}");
}

#[test]
fn growth_of_hold_times_is_estimated() {
    let run = |cpus: u32, share: f64| {
        let program = fork_and_join(MS(0), &vec![MS(1000); cpus as usize]);
        let lock = LockUse {
            id: LockId::Kernel(1),
            share,
            users: (1..=cpus).collect(),
            waited: Nanos::ZERO,
            waits: 2000,
            policy: LockPolicy::Spin,
            section: None,
        };
        let with_locks = add_locks(&program, std::slice::from_ref(&lock), 2000);
        let waited = replay(&with_locks, &Machine::new(cpus)).lock_waits[0];
        TracedProgram {
            locks: vec![LockUse { waited, ..lock }],
            lock_names: vec!["lock".to_owned()],
            ..traced_program(cpus, cpus, MS(1000), program)
        }
    };
    let growth = |on_four: f64| {
        let programs = vec![run(2, 0.15), run(4, on_four)];
        let evidence =
            Evidence { receives_n: true, programs, ..timed_evidence(&[(1, 2.0), (2, 1.0), (4, 0.6)]) };
        locked_program::hold_growth(&evidence, &evidence.programs[1], Inflation::NONE)[0].unwrap()
    };
    // The share is a third larger with two more CPUs: per CPU, an eighth of the larger share.
    assert!((growth(0.2).mean - 0.125).abs() < 0.03, "{:?}", growth(0.2));
    assert!(growth(0.15).mean.abs() < 0.03 && growth(0.15).deviation < 0.06, "{:?}", growth(0.15));
    // Without a second run on two CPUs or more, the growth is unknown.
    let alone =
        Evidence { receives_n: true, programs: vec![run(4, 0.2)], ..timed_evidence(&[(1, 2.0), (4, 0.6)]) };
    assert_eq!(locked_program::hold_growth(&alone, &alone.programs[0], Inflation::NONE), [None]);
}

#[test]
fn failed_back_test_lowers_the_weight_of_the_replay() {
    // The replay predicts a speedup of two on two CPUs, but the measured speedup is small.
    let program = |n| traced_program(1, n, MS(1000), fork_and_join(MS(0), &[MS(500); 2]));
    let evidence = Evidence { programs: vec![program(1)], ..timed_evidence(&[(1, 1.0), (2, 0.9)]) };
    let found = forecast(&evidence, &[4]).unwrap();
    let replay = found.models.iter().find(|model| model.model == ModelName::Replay).unwrap();
    assert!(is_within(1.0 + replay.back_test.unwrap(), 0.5 / 0.9, 0.05));
    let [low, high] = found.points[0].band90;
    assert!(replay.weight < 0.1 && high / low > 1.3 && high < 1.5, "{found:?}");
}

/// The trace holds a lock across waits for so long that two CPUs cannot help, but they do.
#[test]
fn a_refuted_replay_gives_no_limit_and_no_gain() {
    let held = [Step::Lock(0), Step::Run(MS(10)), Step::Sleep(MS(100)), Step::Unlock(0)];
    let mut program = fork_and_join(MS(0), &[MS(0); 4]);
    program.locks = vec![LockPolicy::Barging];
    program.threads[1..].iter_mut().for_each(|script| *script = held.to_vec());
    let id = LockId::Futex(morecores_explain::trace::ThreadId(0), 1);
    let lock = LockUse {
        id,
        share: 0.0,
        users: vec![1, 2, 3, 4],
        waited: MS(300),
        waits: 3,
        policy: LockPolicy::Barging,
        section: Some(0),
    };
    let one = TracedProgram {
        locks: vec![lock],
        lock_names: vec!["a mutex".to_owned()],
        ..traced_program(1, 1, MS(440), program)
    };
    let with = |second: f64| {
        let points = timed_evidence(&[(1, 0.44), (2, second)]);
        Evidence { programs: vec![one.clone()], ..points }
    };
    let found = forecast(&with(0.44), &[4]).unwrap();
    let limit = found.first_limit.unwrap();
    assert_eq!(limit.resource, Resource::Lock { name: "a mutex".to_owned() });
    assert!(limit.cpus < 1.2 && limit.basis == LimitBasis::Trace && found.bounds.is_some(), "{limit:?}");

    let refuted = forecast(&with(0.23), &[4]).unwrap();
    let is_failed =
        |caveat: &Caveat| matches!(caveat, Caveat::FailedBackTest { cpus: 2, error } if *error > 0.5);
    assert!(refuted.bounds.is_none() && refuted.caveats.iter().any(is_failed), "{refuted:?}");
    assert!(refuted.first_limit.is_none_or(|limit| limit.basis == LimitBasis::Fit && limit.cpus > 1.9));
    assert_eq!(what_if(&with(0.23), &[], None), Err(WhatIfError::Contradicted));
}

#[test]
fn a_formula_alone_promises_no_speedup_above_100() {
    let found = forecast(
        &evidence_from_law(Usl { one_cpu_elapsed: 10.0, alpha: 0.0, beta: 0.0 }, &[1, 2, 4]),
        &[8, 256],
    );
    let found = found.unwrap();
    assert!(found.points[0].speedup.is_some() && found.points[1].speedup.is_none(), "{found:?}");
    assert!(found.caveats.contains(&Caveat::FitAlone { cpus: vec![256], above: 100.0 }));
    assert_eq!(found.first_limit, None);
}

#[test]
fn serial_phases_of_a_job_graph_are_a_limit() {
    let jobs = |processes| TracedProgram {
        processes,
        serial_s: 0.12,
        ..traced_program(2, 2, MS(550), fork_and_join(MS(100), &[MS(90); 10]))
    };
    let with = |processes| {
        let mut evidence = timed_evidence(&[(1, 1.0), (2, 0.55)]);
        evidence.points.iter_mut().for_each(|point| point.work = Some(1.0));
        forecast(&Evidence { receives_n: true, programs: vec![jobs(processes)], ..evidence }, &[64]).unwrap()
    };
    let found = with(100);
    let limit = found.first_limit.as_ref().unwrap();
    let by_first = Resource::SerialWork { command: Some("first".to_owned()) };
    assert!(limit.resource == by_first && is_within(limit.cpus, 1.0 / 0.12, 0.05), "{limit:?}");
    assert!(found.points[0].elapsed_band90_s.unwrap()[0] > 0.12);
    // The threads of one process may divide their work in another way.
    assert_eq!(with(1).first_limit.map(|limit| limit.basis), Some(LimitBasis::Fit));
}

#[test]
fn sharing_on_one_cpu_is_a_caveat() {
    let with = |cpus: u32, change: &dyn Fn(&mut TracedProgram), points: &[(u32, f64)]| {
        let mut one = traced_program(cpus, cpus, MS(1000), fork_and_join(MS(0), &[MS(500); 2]));
        change(&mut one);
        forecast(&Evidence { programs: vec![one], ..timed_evidence(points) }, &[4]).unwrap().caveats
    };
    let shares = |program: &mut TracedProgram| program.meetings_per_s = 10.0;
    assert!(with(1, &shares, &[(1, 1.0), (2, 0.5)]).contains(&Caveat::UnseenSharing));
    assert!(!with(2, &shares, &[(1, 1.0), (2, 0.5)]).contains(&Caveat::UnseenSharing));
    assert!(!with(1, &|_| {}, &[(1, 1.0)]).contains(&Caveat::UnseenSharing));
}

#[test]
fn a_band_from_one_cpu_is_wider_for_a_program_whose_parts_share() {
    let from_one_cpu = |meetings_per_s| {
        let one = traced_program(1, 1, MS(1000), fork_and_join(MS(0), &[MS(500); 2]));
        let mut evidence = timed_evidence(&[(1, 1.0)]);
        evidence.programs = vec![TracedProgram { meetings_per_s, ..one }];
        forecast(&evidence, &[2]).unwrap()
    };
    // The ideal ends both bands at the fast end.
    let slow_end = |found: &Prediction| found.points[0].speedup.unwrap() / found.points[0].band90[0];
    let [separate, meeting] = [0.0, 10.0].map(from_one_cpu);
    assert!(slow_end(&meeting).ln() > 2.5 * slow_end(&separate).ln(), "{separate:#?} {meeting:#?}");
}

#[test]
fn fixed_times_are_reasons_to_abstain() {
    let is_fixed = |evidence: Evidence| {
        let found = forecast(&evidence, &[4]).unwrap();
        let abstains = matches!(found.abstained, Some(Abstention::FixedTime { .. }));
        // A longer run on more CPUs would be no news.
        assert!(!abstains || found.points[0].band90[0] <= 1.0, "{found:?}");
        abstains
    };
    let mut sleeping = traced_program(1, 1, MS(1000), fork_and_join(MS(0), &[MS(500); 2]));
    sleeping.timer_wait_share = 0.99;
    assert!(is_fixed(Evidence { programs: vec![sleeping], ..timed_evidence(&[(1, 1.3)]) }));

    let timed = |works: [f64; 2], elapsed: f64| {
        let mut evidence = timed_evidence(&[(1, elapsed), (2, elapsed)]);
        evidence.points.iter_mut().zip(works).for_each(|(point, work)| point.work = Some(work));
        is_fixed(evidence)
    };
    assert!(timed([10.0, 19.9], 10.01) && !timed([10.0, 10.1], 10.01));
    // Two equal times of a contended lock agree by chance.
    assert!(!timed([2.7, 5.3], 2.7));

    let on_one_cpu = |elapsed: f64, deviation: f64| {
        let program = traced_program(1, 1, MS(1000), fork_and_join(MS(0), &[MS(500); 2]));
        let mut evidence = Evidence { programs: vec![program], ..timed_evidence(&[(1, elapsed)]) };
        (evidence.points[0].deviation, evidence.points[0].error) = (deviation, deviation / 2.0);
        is_fixed(evidence)
    };
    assert!(on_one_cpu(2.01, 0.002));
    assert!(!on_one_cpu(2.01, 0.02) && !on_one_cpu(1.7, 0.002) && !on_one_cpu(2.01, 0.0));
}

#[test]
fn slower_cpu_counts_are_beyond_the_peak() {
    let found = forecast(&timed_evidence(&[(1, 1.0), (2, 12.0)]), &[4]).unwrap();
    assert_eq!(found.peak_cpus, Some(1.0));
    assert!(matches!(found.abstained, Some(Abstention::SteepFromTwoPoints { .. })));
    let point = &found.points[0];
    assert!(point.speedup.is_none() && point.elapsed_s.is_none() && point.band90[0] < point.band90[1]);
}

#[test]
fn abstains_if_the_data_support_no_prediction() {
    let program = || fork_and_join(MS(0), &[MS(500); 2]);
    let base = || timed_evidence(&[(1, 1.0), (2, 0.55), (4, 0.3)]);
    let with = |change: &dyn Fn(&mut TracedProgram)| {
        let mut one = traced_program(4, 8, MS(300), program());
        change(&mut one);
        let evidence = Evidence { receives_n: true, programs: vec![one], ..base() };
        forecast(&evidence, &[8]).unwrap().abstained
    };
    assert_eq!(with(&|_| {}), None);
    assert_eq!(with(&|p| p.unexplained_share = 0.2), Some(Abstention::Unexplained { share: 0.2 }));
    assert_eq!(with(&|p| p.spinning_share = 0.4), Some(Abstention::Spinning { share: 0.4 }));
    let mixed = Evidence { mixed_from: Some(4), ..base() };
    // One curve is not fitted across kinds.
    let cores = Evidence { points: base().points[..2].to_vec(), ..base() };
    let models = |evidence: &Evidence| forecast(evidence, &[8]).unwrap().models;
    assert!(models(&mixed) == models(&cores) && models(&mixed) != models(&base()));
    assert_eq!(forecast(&mixed, &[8]).unwrap().abstained, Some(Abstention::MixedKinds));
    let wire = Evidence { busy_devices: vec![("the wire".to_owned(), 0.9)], ..base() };
    let reason = forecast(&wire, &[8]).unwrap().abstained;
    assert_eq!(reason, Some(Abstention::Saturated { device: "the wire".to_owned(), share: 0.9 }));
    let wide = Evidence { outside_share: 0.9, ..base() };
    assert_eq!(forecast(&wide, &[8]).unwrap().abstained, Some(Abstention::NotHeld { share: 0.9 }));
    let sized = Evidence { machine_sized: Some(4), ..base() };
    assert_eq!(forecast(&sized, &[8]).unwrap().abstained, Some(Abstention::MachineSized { threads: 4 }));
    let odd = timed_evidence(&[(1, 1.0), (2, 1.5), (4, 0.3)]);
    assert_eq!(forecast(&odd, &[8]).unwrap().abstained, Some(Abstention::Contradictory));
}

#[test]
fn trace_shows_a_saturated_disk() {
    let mut program = fork_and_join(MS(0), &[MS(100); 2]);
    program.threads[0].insert(0, Step::UseDevice { device: 0, time: MS(800) });
    program.devices = vec![1];
    let own = traced_program(2, 2, MS(900), program);
    let evidence = Evidence { programs: vec![own], ..timed_evidence(&[(1, 1.0), (2, 0.9)]) };
    let found = forecast(&evidence, &[4]).unwrap();
    assert!(
        matches!(found.abstained, Some(Abstention::Saturated { share, .. }) if is_within(share, 0.89, 0.01))
    );
}

#[test]
fn no_evidence_gives_no_forecast() {
    assert!(forecast(&Evidence::default(), &[4]).is_none());
    assert!(forecast(&timed_evidence(&[(2, 1.0)]), &[4]).is_none_or(|found| found.points.is_empty()));
}

#[test]
fn gain_equals_the_removed_time() {
    let program = fork_and_join(MS(400), &[MS(300); 2]);
    let one = traced_program(2, 2, MS(700), program);
    let evidence = Evidence { programs: vec![one], ..timed_evidence(&[(1, 1.0), (2, 0.7)]) };
    let faster = WhatIfChange::SpeedUp { command: "job".to_owned(), factor: 2.0 };
    let gains =
        what_if(&evidence, &[faster, WhatIfChange::RemoveSerial, WhatIfChange::RemoveDisk], Some(&[2]))
            .unwrap();
    let saved: Vec<f64> = gains.iter().map(|gain| gain.points[0].saved_s).collect();
    // All threads run the command `job`. Twice the speed saves half of everything; dividing the
    // serial work saves half of its 400 ms; the program does not use the disk.
    assert!(
        is_within(saved[0], 0.35, 0.01) && is_within(saved[1], 0.2, 0.03) && saved[2].abs() < 1e-9,
        "{saved:?}"
    );
    let serial = gains[1].points[0];
    assert!(is_within(serial.gained_cpus, 1.0 / 0.5 - 1.0 / 0.7, 0.05));
    let [low, high] = serial.saved_band90_s;
    assert!(low < serial.saved_s && serial.saved_s < high && high < 1.2 * low, "{serial:?}");
    let all = what_if(&evidence, &[], None).unwrap();
    assert!(all.len() == 2 && all[0].points.iter().map(|point| point.cpus).eq([2, 4]), "{all:?}");
    let unknown = what_if(&evidence, &[WhatIfChange::RemoveNamed("ld".to_owned())], None).unwrap_err();
    assert!(unknown.to_string().contains("`ld`; it has job"), "{unknown}");
}

#[test]
fn insufficient_memory_is_the_first_limit() {
    use morecores_view::memory::MemoryDemand;
    let evidence = evidence_from_law(Usl { one_cpu_elapsed: 10.0, alpha: 0.1, beta: 0.0 }, &[1, 2, 4]);
    let demand = MemoryDemand::fit(&[(1, 500e6), (2, 900e6), (4, 1_700e6)]).unwrap();
    let with = |limit| Evidence { memory: Some(MemoryBudget { demand, limit }), ..evidence.clone() };
    let limit = forecast(&with(2e9), &[8]).unwrap().first_limit.unwrap();
    assert_eq!(limit.cpus, 4.0);
    let size = Resource::MemorySize { needed_bytes: 3_300_000_000, limit_bytes: 2_000_000_000, at_cpus: 8 };
    assert_eq!(limit.resource, size);
    let fits = forecast(&with(4e9), &[8]).unwrap().first_limit.unwrap();
    assert_eq!(fits.resource, Resource::SerialWork { command: None });
}
