//! Tests of the corpus's simulator: programs whose times follow from arithmetic, and consistency
//! checks for any program.

mod corpus;

use corpus::*;
use morecores_study::Nanos;

const MS: f64 = 1e6;

const STYLES: [Style; 7] = [
    Style::Processes { shell: false },
    Style::Processes { shell: true },
    Style::ProcessPool,
    Style::ThreadPool,
    Style::Dealt,
    Style::Team { dynamic: false },
    Style::Team { dynamic: true },
];

fn equal(jobs: usize, ms: f64) -> Vec<Job> {
    vec![vec![Step::Work(ms * MS)]; jobs]
}

/// Elapsed time in milliseconds on `cpus` CPUs with `n` for `{n}`.
fn elapsed(program: &Program, cpus: u32, n: u32) -> f64 {
    simulate(program, Size { cpus, n }, 7, TraceDetail::Untraced).elapsed.0 as f64 / MS
}

#[track_caller]
fn between(value: f64, from: f64, to: f64) {
    assert!(from <= value && value <= to, "{value} is not between {from} and {to}");
}

#[test]
fn equal_jobs_take_as_many_turns_as_they_need() {
    for style in STYLES {
        let program = Program::one_phase(style, equal(16, 10.0));
        for m in [1, 2, 3, 4, 8, 16] {
            let turns = f64::from(16_u32.div_ceil(m));
            between(elapsed(&program, m, m), 10.0 * turns, 10.0 * turns + 0.001);
        }
    }
}

#[test]
fn n_limits_the_jobs_at_once_and_cpus_the_threads() {
    for style in STYLES {
        let program = Program::one_phase(style, equal(16, 10.0));
        between(elapsed(&program, 16, 2), 80.0, 80.001);
        // More threads than CPUs share the CPUs. Some threads end early by chance, but no CPU is
        // idle before the last turn.
        between(elapsed(&program, 2, 8), 80.0, 90.0);
        between(elapsed(&program, 1, 4), 160.0, 160.001);
    }
}

#[test]
fn cpus_are_shared_in_slices() {
    let program = Program::one_phase(Style::Dealt, equal(3, 30.0));
    let trace = trace(&program, Size { cpus: 1, n: 3 }, 0, TraceDetail::Traced);
    let ends: Vec<f64> = trace
        .events
        .iter()
        .filter(|event| matches!(event.kind, morecores_study::trace::EventKind::Exit(_)))
        .map(|event| event.at.since(trace.header.began_ns).0 as f64 / MS)
        .collect();
    let [first, _, third, root] = ends[..] else { panic!("{ends:?}") };
    between(first, 90.0 - 3.0 * 3.0, 90.0);
    between(third, 90.0, 90.001);
    assert!(root >= third);
}

#[test]
fn serial_phases_follow_amdahls_law() {
    for style in STYLES {
        let mut program = Program::one_phase(style, equal(16, 10.0));
        program.phases.insert(0, Phase::Serial(vec![Step::Work(30.0 * MS)]));
        for m in [1, 2, 4, 8, 16] {
            let expected = 30.0 + 160.0 / f64::from(m);
            between(elapsed(&program, m, m), expected, expected + 0.001);
        }
    }
}

#[test]
fn a_single_job_is_not_divided() {
    for style in STYLES {
        let mut jobs = equal(7, 1.0);
        jobs.push(vec![Step::Work(50.0 * MS)]);
        between(elapsed(&Program::one_phase(style, jobs), 16, 16), 50.0, 50.001);
    }
}

/// Program with half of its work under one lock.
fn locked(style: Style, kind: LockKind, growth: f64) -> Program {
    let held = Step::Hold { lock: 0, before: 0.0, held: MS };
    let job: Job = [Step::Work(MS), held].repeat(10);
    Program { locks: vec![Lock { kind, growth }], ..Program::one_phase(style, vec![job; 16]) }
}

#[test]
fn holds_of_a_lock_do_not_overlap() {
    for kind in [LockKind::Futex, LockKind::Spin, LockKind::Sleep] {
        for style in [Style::ThreadPool, Style::Dealt, Style::Team { dynamic: true }] {
            let program = locked(style, kind, 0.0);
            between(elapsed(&program, 1, 1), 320.0, 320.001);
            // At best, each of two CPUs works while the other holds the lock, except in the first
            // step.
            between(elapsed(&program, 2, 2), 161.0, 175.0);
            // The lock is the limit: 160 holds in a row, after the first millisecond without it.
            between(elapsed(&program, 4, 4), 161.0, 170.0);
            between(elapsed(&program, 16, 16), 161.0, 170.0);
        }
    }
}

#[test]
fn only_waiters_for_spinlocks_keep_their_cpus() {
    let run = |kind| {
        let size = Size { cpus: 8, n: 8 };
        simulate(&locked(Style::Dealt, kind, 0.0), size, 7, TraceDetail::Untraced)
    };
    for kind in [LockKind::Futex, LockKind::Sleep] {
        let slept = run(kind);
        assert_eq!(slept.spun, Nanos::ZERO);
        let cpu: u64 = slept.threads.iter().map(|(_, time)| time.0).sum();
        between(cpu as f64 / MS, 320.0, 320.01);
    }
    // Of eight threads, one holds the lock and one works; the other six spin, except at the start
    // and the end.
    let spun = run(LockKind::Spin);
    between(spun.spun.0 as f64 / MS, 5.5 * 160.0, 6.5 * 160.0);
}

#[test]
fn holds_grow_with_the_cpus_that_are_busy() {
    // While sixteen threads spin, hold or work, a hold takes 1 + 15/10 times as long.
    let program = locked(Style::Dealt, LockKind::Spin, 0.1);
    between(elapsed(&program, 1, 1), 320.0, 320.001);
    between(elapsed(&program, 16, 16), 0.85 * 400.0, 402.0);
}

#[test]
fn device_serves_one_request_at_a_time() {
    for style in STYLES {
        let job: Job = [Step::Work(0.1 * MS), Step::Request(MS)].repeat(10);
        let mut program = Program::one_phase(style, vec![job; 16]);
        program.device = Some(Device { interrupt: 24, channels: 1 });
        between(elapsed(&program, 1, 1), 176.0, 176.001);
        let run = simulate(&program, Size { cpus: 16, n: 16 }, 7, TraceDetail::Untraced);
        between(run.elapsed.0 as f64 / MS, 160.1, 162.0);
        assert_eq!(run.served, Nanos(160 * MS as u64));
    }
}

#[test]
fn device_with_channels_serves_several_requests_at_once() {
    let job: Job = [Step::Work(0.1 * MS), Step::Request(MS)].repeat(10);
    for (channels, expected) in [(2, 80.1), (4, 40.1), (32, 11.0)] {
        let mut program = Program::one_phase(Style::Dealt, vec![job.clone(); 16]);
        program.device = Some(Device { interrupt: 24, channels });
        let run = simulate(&program, Size { cpus: 16, n: 16 }, 7, TraceDetail::Untraced);
        between(run.elapsed.0 as f64 / MS, expected - 0.001, expected + 1.0);
        assert_eq!(run.served, Nanos(160 * MS as u64));
    }
}

#[test]
fn locks_are_held_across_waits() {
    for wait in [HeldWait::Timer(MS), HeldWait::Device(MS)] {
        let job: Job = [Step::Work(MS), Step::HoldAcross { lock: 0, wait }].repeat(10);
        let mut program = Program {
            locks: vec![Lock { kind: LockKind::Futex, growth: 0.0 }],
            ..Program::one_phase(Style::Dealt, vec![job; 4])
        };
        program.device = Some(Device { interrupt: 24, channels: 32 });
        between(elapsed(&program, 1, 1), 80.0, 80.001);
        // The forty holds come one after the other, after the first millisecond of work.
        between(elapsed(&program, 4, 4), 41.0, 41.001);
        between(elapsed(&program, 16, 16), 41.0, 41.001);
        // At best, the only CPU works while the lock is held across a wait.
        between(elapsed(&program, 1, 4), 41.0, 80.001);
    }
}

#[test]
fn chains_limit_the_workers_of_a_pool() {
    for wakes in [Wakes::One, Wakes::All] {
        let program = Program::one_phase(Style::Chains { chains: 2, wakes }, equal(16, 10.0));
        between(elapsed(&program, 1, 1), 160.0, 160.001);
        for m in [2, 4, 16] {
            between(elapsed(&program, m, m), 80.0, 80.001);
        }
    }
}

#[test]
fn capacity_of_the_machine_has_a_limit() {
    let mut program = Program::one_phase(Style::Dealt, equal(16, 10.0));
    program.capacity = Capacity { bandwidth: Some(4.0), ..Capacity::default() };
    between(elapsed(&program, 4, 4), 40.0, 40.001);
    between(elapsed(&program, 8, 8), 40.0, 40.001);
    program.capacity = Capacity { siblings: Some(Siblings { cores: 4, share: 0.5 }), ..Capacity::default() };
    between(elapsed(&program, 4, 4), 40.0, 40.001);
    between(elapsed(&program, 8, 8), 20.0 * 8.0 / 6.0, 20.0 * 8.0 / 6.0 + 0.001);
}

#[test]
fn memory_slows_down_all_working_threads() {
    for style in STYLES {
        let mut program = Program::one_phase(style, equal(16, 10.0));
        program.memory = Memory { a: 0.8 / 15.0, p: 1.0, b: 0.0 };
        between(elapsed(&program, 1, 1), 160.0, 160.001);
        between(elapsed(&program, 4, 4), 46.399, 46.401);
        between(elapsed(&program, 16, 16), 17.999, 18.001);
    }
    // A serial phase is as fast as on one CPU.
    let mut alone = Program::one_phase(Style::Dealt, Vec::new());
    alone.phases = vec![Phase::Serial(vec![Step::Work(20.0 * MS)])];
    alone.memory = Memory { a: 0.5, p: 1.0, b: 0.0 };
    between(elapsed(&alone, 16, 16), 20.0, 20.001);
}

#[test]
fn machine_costs_take_time() {
    let mut program = Program::one_phase(Style::Processes { shell: false }, equal(4, 10.0));
    program.machine_costs =
        MachineCosts { fork: 0.1 * MS, exec: 0.3 * MS, exit: 0.2 * MS, ..MachineCosts::FREE };
    // Four jobs run in a row, followed by the main process's own exit.
    between(elapsed(&program, 1, 1), 4.0 * 10.6 + 0.2, 42.601);
    // The last job is forked after the three before it, and nothing else delays it.
    between(elapsed(&program, 4, 4), 4.0 * 0.1 + 10.5 + 0.2, 11.101);
    program.machine_costs = MachineCosts { wake_latency: 20_000, ..MachineCosts::FREE };
    // Each job starts with up to twice the wake-up latency, and so does the main process at the
    // end.
    between(elapsed(&program, 4, 4), 10.04, 10.08);
}

#[test]
fn completed_work_equals_requested_work() {
    let varied = TUNING.step_by(4).map(generate_varied_program);
    for mut program in corpus(TUNING).step_by(4).chain(varied) {
        for size in [Size { cpus: 1, n: 1 }, Size { cpus: 4, n: 4 }, Size { cpus: 3, n: 8 }] {
            let run = simulate(&program, size, 3, TraceDetail::Untraced);
            between(run.done / run.demanded, 1.0 - 1e-9, 1.0 + 1e-9);
            assert!(run.demanded > run.own, "the machine does something, too: {program}");
            between(run.own / program.demand(), 0.97, 1.03);
            // A CPU does one thing at a time, and no work is faster than its demand.
            let cpu: f64 = run.threads.iter().map(|(_, time)| time.0 as f64).sum();
            assert!(cpu <= run.elapsed.0 as f64 * f64::from(size.cpus) + 1.0, "{program}");
            assert!(cpu >= run.done + run.spun.0 as f64 - 1.0, "{program}");
        }
        program.noise = 0.0;
        program.memory = Memory::default();
        program.capacity = Capacity::default();
        let run = simulate(&program, Size { cpus: 8, n: 8 }, 3, TraceDetail::Untraced);
        between(run.own / program.demand(), 1.0 - 1e-9, 1.0 + 1e-9);
        // Each step ends on a whole nanosecond.
        let cpu: f64 = run.threads.iter().map(|(_, time)| time.0 as f64).sum();
        between(cpu - run.done - run.spun.0 as f64, -1.0, 100_000.0);
    }
}

#[test]
fn seed_determines_the_run() {
    let program = generate_program(3);
    assert_eq!(program, generate_program(3));
    assert_ne!(program, generate_program(4));
    let run = |cpus, n, seed| simulate(&program, Size { cpus, n }, seed, TraceDetail::Untraced).elapsed;
    assert_eq!(run(4, 4, 1), run(4, 4, 1));
    let others = [run(4, 4, 2), run(4, 3, 1), run(3, 4, 1)];
    assert!(!others.contains(&run(4, 4, 1)));
}

#[test]
fn noise_has_its_stated_size() {
    let mut program = Program::one_phase(Style::Dealt, Vec::new());
    program.phases = vec![Phase::Serial(vec![Step::Work(10.0 * MS)])];
    program.noise = 0.02;
    let runs: Vec<f64> = (0..400)
        .map(|seed| {
            simulate(&program, Size { cpus: 1, n: 1 }, seed, TraceDetail::Untraced).elapsed.0 as f64
                / (10.0 * MS)
        })
        .collect();
    let mean = runs.iter().sum::<f64>() / 400.0;
    let sd = (runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
    // The bounds are four standard errors wide on each side.
    between(mean, 1.0 - 0.004, 1.0 + 0.004);
    between(sd, 0.0172, 0.0228);
}

/// A corpus of similar programs would have no value as a score.
#[test]
fn the_corpus_meets_every_limit() {
    let programs: Vec<Program> = corpus(TUNING).step_by(2).collect();
    for style in STYLES {
        let is = |phase: &Phase| matches!(phase, Phase::Parallel { style: of, .. } if *of == style);
        assert!(programs.iter().filter(|program| program.phases.iter().any(is)).count() >= 10);
    }
    for kind in [LockKind::Futex, LockKind::Spin, LockKind::Sleep] {
        assert!(programs.iter().filter(|p| p.locks.iter().any(|lock| lock.kind == kind)).count() >= 10);
    }
    let with_device = programs.iter().filter(|program| program.device.is_some()).count();
    between(with_device as f64, 15.0, 45.0);
    let mut speedups: Vec<f64> =
        programs.iter().map(|program| elapsed(program, 1, 1) / elapsed(program, 16, 16)).collect();
    speedups.sort_by(f64::total_cmp);
    // The speedups cover the range from poor to good scaling.
    between(speedups[10], 1.0, 3.5);
    between(speedups[50], 3.5, 8.0);
    between(speedups[90], 8.0, 16.0);
    assert!(programs.iter().all(|program| (0.5e9..4.5e9).contains(&program.demand())));
}

#[test]
fn varied_programs_have_every_feature() {
    let features: Vec<Feature> = TUNING.flat_map(|seed| generate_varied_program(seed).features()).collect();
    let all = [
        Feature::Plain,
        Feature::Knee,
        Feature::Siblings,
        Feature::SerialDevice,
        Feature::ParallelDevice,
        Feature::LockAcrossWaits,
        Feature::ConditionVariable,
    ];
    for feature in all {
        let count = features.iter().filter(|found| **found == feature).count();
        assert!(count >= 15, "{count} with {}", feature.name());
    }
}
