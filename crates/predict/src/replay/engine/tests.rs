//! Programs whose elapsed time follows from their construction.

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Nanos {
    Nanos(ms * MS)
}

/// Program with a first thread that computes for `before`, creates the others, waits for all of
/// them, and computes for `after`.
fn fork_join(before: u64, others: Vec<Vec<Step>>, after: u64) -> Program {
    let mut first = vec![Step::Run(ms(before))];
    let ids = 1..=others.len() as u32;
    first.extend(ids.clone().map(Step::Start));
    first.extend(ids.map(Step::Join));
    first.push(Step::Run(ms(after)));
    let mut threads = vec![first];
    threads.extend(others);
    Program { threads, ..Program::default() }
}

fn elapsed_ms(cpus: u32, program: &Program) -> f64 {
    replay(program, &Machine::new(cpus)).elapsed.0 as f64 / MS as f64
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.005, "{found} instead of {expected}");
}

#[test]
fn serial_and_parallel_work_follow_amdahls_law() {
    let program = fork_join(100, vec![vec![Step::Run(ms(100))]; 16], 100);
    for cpus in [1, 2, 4, 8, 16, 32] {
        assert_close(elapsed_ms(cpus, &program), 200.0 + 1600.0 / f64::from(cpus.min(16)));
    }
    let serial = replay(&program, &Machine::new(16)).serial;
    assert_eq!(serial, ms(200));
}

#[test]
fn threads_share_the_cpus() {
    // Three equal threads on two CPUs end together, because no thread keeps a CPU while a thread
    // with less CPU time waits.
    assert_close(elapsed_ms(2, &fork_join(0, vec![vec![Step::Run(ms(300))]; 3], 0)), 450.0);
}

#[test]
fn short_sleeper_does_not_wait_for_computing_threads() {
    let mut busy = vec![vec![Step::Run(ms(1000))]; 8];
    busy.push([Step::Sleep(ms(10)), Step::Run(Nanos(100_000))].repeat(20));
    let mut program = fork_join(0, busy, 0);
    // The first thread waits only for the sleeper.
    program.threads[0] = (1..10).map(Step::Start).chain([Step::Join(9)]).collect();
    assert!(elapsed_ms(2, &program) < 20.0 * (10.1 + 3.0), "{}", elapsed_ms(2, &program));
}

#[test]
fn lock_admits_one_thread_at_a_time() {
    let hold = Step::Hold { lock: 0, time: ms(1) };
    let mut program = fork_join(0, vec![[Step::Run(ms(1)), hold].repeat(100); 8], 0);
    for policy in [LockPolicy::Spin, LockPolicy::Handoff, LockPolicy::Barging] {
        program.locks = vec![policy];
        let replay_on = |cpus| replay(&program, &Machine::new(cpus));
        assert_close(replay_on(1).elapsed.0 as f64 / MS as f64, 1600.0);
        let many = replay_on(8);
        assert_close(many.elapsed.0 as f64 / MS as f64, 801.0);
        assert_eq!(many.forced_waits, 0);
        assert!(many.lock_waits[0] > ms(4000), "{many:?}");
        let spun = many.busy.0 > 2 * replay_on(1).busy.0;
        assert_eq!(spun, policy == LockPolicy::Spin);
    }
    let bounds = program.bounds();
    assert_eq!((bounds.work, bounds.span, &bounds.holds[..]), (ms(1600), ms(200), &[ms(800)][..]));
    assert_eq!(bounds.least_elapsed(8), ms(800));
}

#[test]
fn a_device_serves_one_at_a_time_and_needs_no_cpu() {
    let mut program =
        fork_join(0, vec![vec![Step::UseDevice { device: 0, time: ms(10) }, Step::Run(ms(10))]; 10], 0);
    program.devices = vec![1];
    // The last request is served at 100 ms, while served threads compute.
    assert_close(elapsed_ms(1, &program), 110.0);
    let on_four = replay(&program, &Machine::new(4));
    assert_eq!((on_four.elapsed, on_four.device_busy[0]), (ms(110), ms(100)));
}

#[test]
fn device_with_enough_channels_delays_each_request_alone() {
    let jobs = vec![vec![Step::UseDevice { device: 0, time: ms(10) }, Step::Run(ms(10))]; 10];
    let with = |channels| Program { devices: vec![channels], ..fork_join(0, jobs.clone(), 0) };
    assert_close(elapsed_ms(10, &with(u32::MAX)), 20.0);
    // The requests are served in five turns of two.
    assert_close(elapsed_ms(10, &with(2)), 60.0);
    assert_eq!(
        [1, 2, u32::MAX].map(|channels| with(channels).bounds().services[0]),
        [ms(100), ms(50), ms(0)]
    );
}

#[test]
fn tokens_limit_the_working_threads() {
    // A jobserver with two slots serves eight jobs.
    let take = Step::Take { channel: 0, tokens: 1 };
    let put = Step::Put { channel: 0, tokens: 1 };
    let mut program = fork_join(0, vec![vec![take, Step::Run(ms(50)), put]; 8], 0);
    program.channels = vec![2];
    assert_close(elapsed_ms(1, &program), 400.0);
    assert_close(elapsed_ms(8, &program), 200.0);
}

#[test]
fn reader_waits_until_all_its_bytes_are_written() {
    let writer = [Step::Run(ms(1)), Step::Put { channel: 0, tokens: 10 }].repeat(100);
    let reader = [Step::Take { channel: 0, tokens: 50 }, Step::Run(ms(5))].repeat(20);
    let mut program = fork_join(0, vec![writer, reader], 0);
    program.channels = vec![0];
    assert_close(elapsed_ms(1, &program), 200.0);
    assert_close(elapsed_ms(2, &program), 105.0);
}

#[test]
fn marks_delay_the_waiting_threads() {
    let first = vec![Step::Run(ms(30)), Step::Mark, Step::Run(ms(30)), Step::Mark, Step::Run(ms(40))];
    let second = vec![Step::Await { thread: 1, marks: 2 }, Step::Run(ms(50))];
    assert_close(elapsed_ms(2, &fork_join(0, vec![first, second], 0)), 110.0);
}

#[test]
fn work_takes_longer_with_more_busy_cpus() {
    let program = fork_join(0, vec![vec![Step::Run(ms(100))]; 4], 0);
    let machine = Machine { slowdown: vec![1.0, 1.2, 1.4, 1.6], ..Machine::new(4) };
    assert_close(replay(&program, &machine).elapsed.0 as f64 / MS as f64, 160.0);
}

#[test]
fn wake_latency_applies_to_idle_cpus() {
    let program = fork_join(0, vec![[Step::Sleep(ms(1))].repeat(100)], 0);
    let machine = Machine { wake_latency: Nanos(50_000), ..Machine::new(2) };
    assert_close(replay(&program, &machine).elapsed.0 as f64 / MS as f64, 100.0 * 1.05 + 0.15);
}

#[test]
fn endless_wait_is_cut_short_and_counted() {
    let program = fork_join(0, vec![vec![Step::Await { thread: 0, marks: 9 }, Step::Run(ms(5))]], 0);
    let replayed = replay(&program, &Machine::new(2));
    assert_eq!((replayed.forced_waits, replayed.elapsed), (1, ms(5)));
}

/// Strategy for programs of random steps that cannot deadlock.
fn any_program() -> impl Strategy<Value = Program> {
    let step = prop_oneof![
        4 => (1..20_u64).prop_map(|time| Step::Run(ms(time))),
        1 => (0..2_u32, 1..5_u64).prop_map(|(lock, time)| Step::Hold { lock, time: ms(time) }),
        1 => (1..5_u64).prop_map(|time| Step::UseDevice { device: 0, time: ms(time) }),
        1 => (1..5_u64).prop_map(|time| Step::Sleep(ms(time))),
        1 => Just(Step::Mark),
    ];
    let script = prop::collection::vec(step, 1..20);
    (prop::collection::vec(script, 1..12), 0..50_u64, 0..50_u64).prop_map(|(others, before, after)| {
        let mut program = fork_join(before, others, after);
        // Each thread waits for some marks of the thread before it.
        for id in 2..program.threads.len() {
            let marks = program.threads[id - 1].iter().filter(|step| **step == Step::Mark).count() as u32;
            program.threads[id].insert(0, Step::Await { thread: id as u32 - 1, marks: marks / 2 });
        }
        program.locks = vec![LockPolicy::Handoff; 2];
        program.devices = vec![1];
        program
    })
}

#[test]
fn forced_thread_leaves_the_queue() {
    let take = Step::Take { channel: 0, tokens: 1 };
    let program = Program {
        threads: vec![
            vec![Step::Start(1), Step::Start(2), Step::Join(1), Step::Join(2)],
            vec![Step::Sleep(ms(1)), take, Step::Run(ms(1))],
            vec![take, Step::Run(ms(1)), Step::Put { channel: 0, tokens: 1 }],
        ],
        channels: vec![0],
        ..Program::default()
    };
    let replayed = replay(&program, &Machine::new(2));
    // The third thread is first in line and is forced; its token goes to the second thread.
    assert_eq!(replayed.forced_waits, 1);
}

#[test]
fn deadlock_behind_a_lock_is_broken() {
    let take = Step::Take { channel: 0, tokens: 1 };
    let locked = |inside: Step| vec![Step::Lock(0), inside, Step::Run(ms(1)), Step::Unlock(0)];
    let mut second = vec![Step::Sleep(ms(1))];
    second.extend(locked(Step::Put { channel: 0, tokens: 1 }));
    let program = Program {
        channels: vec![0],
        locks: vec![LockPolicy::Barging],
        ..fork_join(0, vec![locked(take), second], 0)
    };
    // The holder waits for the token of a thread in line for its lock.
    let replayed = replay(&program, &Machine::new(2));
    assert_eq!(replayed.forced_waits, 1);
    assert!(replayed.elapsed >= ms(3) && replayed.elapsed < ms(6), "{replayed:?}");
}

#[test]
fn deadlock_of_two_locks_is_broken() {
    let script = |first, second| {
        let work = Step::Run(ms(1));
        vec![Step::Lock(first), work, Step::Lock(second), work, Step::Unlock(second), Step::Unlock(first)]
    };
    for policy in [LockPolicy::Barging, LockPolicy::Handoff] {
        let program = fork_join(0, vec![script(0, 1), script(1, 0)], 0);
        let program = Program { locks: vec![policy; 2], ..program };
        let replayed = replay(&program, &Machine::new(2));
        assert_eq!(replayed.forced_waits, 1, "{policy:?}");
        assert!(replayed.elapsed >= ms(3) && replayed.elapsed < ms(6), "{replayed:?}");
    }
}

#[test]
fn locks_are_held_longer_with_more_busy_cpus() {
    let hold = |lock| vec![Step::Hold { lock, time: ms(10) }];
    let mut first: Vec<Step> = (1..=2).map(Step::Start).collect();
    first.extend((1..=2).map(Step::Join));
    let program = Program {
        threads: vec![first, hold(0), hold(1)],
        locks: vec![LockPolicy::Spin; 2],
        ..Program::default()
    };
    let elapsed_with_growth =
        |hold_growth: Vec<f64>| replay(&program, &Machine { hold_growth, ..Machine::new(2) }).elapsed;
    assert_eq!(elapsed_with_growth(Vec::new()), ms(10));
    // Each lock has its own growth.
    assert_eq!(elapsed_with_growth(vec![0.0, 0.5]), ms(15));
    assert_eq!(elapsed_with_growth(vec![0.0, 0.0, 0.5]), ms(10));
}

#[test]
fn polling_thread_continues_at_the_next_poll() {
    // The first thread polls every 10 ms, from 3 ms on, for a thread that works for `work` ms.
    let elapsed_with = |work: u64| {
        let poller = vec![
            Step::Start(1),
            Step::Run(ms(3)),
            Step::StartPolling,
            Step::Join(1),
            Step::NextPoll(ms(10)),
            Step::Run(ms(1)),
        ];
        let program = Program { threads: vec![poller, vec![Step::Run(ms(work))]], ..Program::default() };
        replay(&program, &Machine::new(2)).elapsed
    };
    assert_eq!([elapsed_with(7), elapsed_with(13), elapsed_with(14)], [ms(14), ms(14), ms(24)]);
    // The awaited thread had ended before the first poll.
    assert_eq!(elapsed_with(2), ms(4));
}

proptest! {
    #[test]
    fn no_machine_beats_span_and_work(program in any_program(), cpus in 1..20_u32) {
        let bounds = program.bounds();
        for locks in [LockPolicy::Spin, LockPolicy::Handoff, LockPolicy::Barging, LockPolicy::Kernel] {
            let program = Program { locks: vec![locks; 2], ..program.clone() };
            let replayed = replay(&program, &Machine::new(cpus));
            prop_assert_eq!(replayed.forced_waits, 0);
            // The elapsed time is rounded once, while the bound is exact.
            prop_assert!(replayed.elapsed.0 + 1 >= bounds.least_elapsed(cpus).0, "{:?} under {:?}", replayed, bounds);
            prop_assert!(replayed.busy.0 + 1 >= bounds.work.0);
        }
    }

    #[test]
    fn twice_the_demand_takes_twice_as_long(program in any_program(), cpus in 1..9_u32) {
        let twice = |time: Nanos| Nanos(2 * time.0);
        let mut doubled = program.clone();
        for step in doubled.threads.iter_mut().flatten() {
            match step {
                Step::Run(time) | Step::Sleep(time) | Step::Hold { time, .. } | Step::UseDevice { time, .. } => *time = twice(*time),
                _ => {}
            }
        }
        let machine = Machine::new(cpus);
        let slower = Machine { slice: twice(machine.slice), ..machine.clone() };
        let (once, double) = (replay(&program, &machine), replay(&doubled, &slower));
        prop_assert!(double.elapsed.0.abs_diff(2 * once.elapsed.0) <= 4, "{} {}", once.elapsed.0, double.elapsed.0);
    }
}
