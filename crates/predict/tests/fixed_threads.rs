//! Predictions for programs whose number of threads does not depend on the CPUs, with their true
//! times: a device that serves many requests at once, a lock held across waits, and a fork-join
//! pool with one condition variable.

mod corpus;

use corpus::*;
use morecores_explain::trace::Timeline;
use morecores_predict::forecast::{Evidence, MeasuredPoint, TracedProgram, forecast, what_if};
use morecores_study::Nanos;
use morecores_view::Prediction;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MS: f64 = 1e6;

/// Program of one parallel phase on an undisturbed machine.
fn program(style: Style, jobs: Vec<Job>) -> Program {
    Program {
        noise: 0.003,
        machine_costs: MachineCosts {
            wake_latency: 2_000,
            switch: 1_000.0,
            call: 500.0,
            ..MachineCosts::FREE
        },
        ..Program::one_phase(style, jobs)
    }
}

/// Jobs of `rounds` rounds: exponentially distributed work with this mean, then `step`.
fn jobs(jobs: usize, rounds: usize, work: f64, mut step: impl FnMut(f64) -> Step) -> Vec<Job> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut exponential = || -(1.0 - rng.random::<f64>()).ln();
    let mut job =
        || (0..rounds).flat_map(|_| [Step::Work(work * exponential()), step(exponential())]).collect();
    (0..jobs).map(|_| job()).collect()
}

/// Program with its number of threads.
struct FixedThreads {
    program: Program,
    threads: u32,
}

impl FixedThreads {
    /// Elapsed time in seconds, and CPU time.
    fn run(&self, cpus: u32) -> (f64, f64) {
        let size = Size { cpus, n: self.threads };
        let run = simulate(&self.program, size, 1, TraceDetail::Untraced);
        let work: Nanos = run.threads.iter().map(|(_, time)| *time).sum();
        (run.elapsed.as_secs_f64(), work.as_secs_f64())
    }

    /// Evidence of these counts, each with a trace.
    fn evidence(&self, counts: &[u32]) -> Evidence {
        let point = |&cpus: &u32| {
            let (elapsed, work) = self.run(cpus);
            let (error, speedup_error, deviation) = (0.003, 0.004, 0.005);
            MeasuredPoint { cpus, elapsed, error, speedup_error, deviation, work: Some(work), kernel: None }
        };
        let traced = |&cpus: &u32| {
            let traced = trace(&self.program, Size { cpus, n: self.threads }, 2, TraceDetail::Exact);
            TracedProgram::from_timeline(&Timeline::new(&traced.header, &traced.events), cpus, cpus)
        };
        Evidence {
            points: counts.iter().map(point).collect(),
            programs: counts.iter().filter_map(traced).collect(),
            is_time: true,
            ..Evidence::default()
        }
    }

    /// Prediction of `targets` from `counts`: each band holds the truth, and no point is off by
    /// more than `error`.
    #[track_caller]
    fn assert_predicted(&self, counts: &[u32], targets: &[u32], error: f64) -> Prediction {
        let found = forecast(&self.evidence(counts), targets).expect("a prediction");
        for point in &found.points {
            let (truth, _) = self.run(point.cpus);
            let [least, most] = point.elapsed_band90_s.expect("a time");
            assert!(least <= truth && truth <= most, "{point:?}: {truth}");
            let elapsed = point.elapsed_s.unwrap_or(f64::NAN);
            assert!((elapsed / truth - 1.0).abs() < error, "{point:?}: {truth}");
        }
        found
    }
}

/// Sixteen threads, each of which alternately works for a millisecond and waits for the device.
fn with_device(service: f64) -> FixedThreads {
    let jobs = jobs(16, 60, MS, |_| Step::Request(service));
    let device = Some(Device { interrupt: 24, channels: 64 });
    FixedThreads { program: Program { device, ..program(Style::Dealt, jobs) }, threads: 16 }
}

#[test]
fn a_device_that_serves_all_requests_at_once_is_no_queue() {
    for service in [0.1, 0.3, 0.5, 0.8] {
        with_device(service * MS).assert_predicted(&[1, 2], &[4, 8, 16], 0.1);
    }
}

/// Eight threads that wait for a timer with a lock held, after two milliseconds of work.
fn with_lock_across_waits(wait: f64) -> FixedThreads {
    let jobs = jobs(8, 60, 2.0 * MS, |x| Step::HoldAcross { lock: 0, wait: HeldWait::Timer(wait * x) });
    let locks = vec![Lock { kind: LockKind::Futex, growth: 0.0 }];
    FixedThreads { program: Program { locks, ..program(Style::Dealt, jobs) }, threads: 8 }
}

#[test]
fn a_lock_held_across_waits_limits_the_program() {
    with_lock_across_waits(0.3 * MS).assert_predicted(&[1, 2], &[4, 8, 16], 0.1);
    with_lock_across_waits(0.3 * MS).assert_predicted(&[1, 2, 4], &[8, 16], 0.1);
    with_lock_across_waits(0.5 * MS).assert_predicted(&[1, 2], &[4, 8, 16], 0.1);
}

/// No change makes a program faster than its work on these CPUs.
#[test]
fn gains_without_a_lock_held_across_waits_leave_the_work() {
    let case = with_lock_across_waits(0.5 * MS);
    let gains = what_if(&case.evidence(&[1, 2]), &[], Some(&[2, 4, 8])).expect("gains");
    let lock = gains.iter().find(|gain| gain.change.contains("lock")).expect("the lock");
    assert_eq!(lock.points.len(), 3, "{lock:?}");
    let (_, work) = case.run(2);
    for point in &lock.points {
        let left = point.elapsed_s - point.saved_s;
        assert!(left >= 0.95 * work / f64::from(point.cpus), "{point:?}: work {work}");
    }
    // On 8 CPUs the lock decides: without it the work of each thread remains.
    assert!(lock.points[2].saved_s > 0.2 * lock.points[2].elapsed_s, "{lock:?}");
}

/// Pool of eight workers with two chains of tasks: it never has more than two tasks at once.
#[test]
fn a_condition_variable_of_a_pool_is_no_lock() {
    for wakes in [Wakes::One, Wakes::All] {
        let jobs = jobs(600, 1, MS, |_| Step::Work(0.0));
        let style = Style::Chains { chains: 2, wakes };
        let mut case = FixedThreads { program: program(style, jobs), threads: 8 };
        let Phase::Parallel { handout_cost, .. } = &mut case.program.phases[0] else { continue };
        *handout_cost = 0.03 * MS;
        let evidence = case.evidence(&[1, 2, 4]);
        for traced in &evidence.programs {
            assert!(traced.locks.is_empty(), "{wakes:?}: {:?}", traced.locks);
        }
        let (four, _) = case.run(4);
        let (sixteen, _) = case.run(16);
        assert!(sixteen > 0.95 * four, "{wakes:?}: {sixteen} {four}");
        case.assert_predicted(&[1, 2, 4], &[8, 16], 0.1);
    }
}
