//! The tables of a traced run, on traces whose truth is set event by event.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod studies;
mod traced;

use morecores_record::*;
use proptest::prelude::*;
use traced::{PEER, ROOT, Traced, accounts};

/// A second, in the unit of the traces.
const S: u64 = 1_000_000;

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
}

fn all_near(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len(), "{values:?} instead of {expected:?}");
    values.iter().zip(expected).for_each(|(value, expected)| near(*value, *expected));
}

fn command<'a>(view: &'a TraceView, name: &str) -> &'a CommandView {
    view.commands.iter().find(|command| command.name == name).unwrap()
}

/// 10 s on two CPUs. `main` runs alone for 4 s, then beside `cc1` for 3 s, then waits for it for 2 s, and runs alone
/// again for 1 s.
fn build() -> Traced {
    let mut t = Traced::new(2, 10 * S);
    t.fork(4 * S, 0, ROOT, 101);
    t.wake(4 * S, 0, 101, ROOT);
    t.sleep(4 * S, 1, 101);
    t.exec(4 * S, 1, 101, "cc1", accounts(0, 0));
    t.sleep(7 * S, 0, 0);
    t.exit(9 * S, 1, 101, accounts(4 * S, S));
    t.wake(9 * S, 1, ROOT, 101);
    t.die(9 * S, 1, 0);
    t.sleep(9 * S, 0, ROOT);
    t.exit(10 * S, 0, ROOT, accounts(6 * S, 2 * S));
    t.die(10 * S, 0, 0);
    t
}

#[test]
fn a_profile_tells_how_many_ran() {
    let view = build().view();
    near(view.elapsed_s, 10.0);
    all_near(&view.parallelism.running, &[0.0, 0.7, 0.3]);
    all_near(&view.parallelism.runnable, &[0.0, 0.7, 0.3]);
}

#[test]
fn runnable_threads_are_in_the_second_profile_alone_and_many_are_folded() {
    // On one CPU eight threads share it from the first second to the end, seven of them always runnable.
    let mut t = Traced::new(1, 2 * S);
    for tid in 101..108 {
        t.fork(S, 0, ROOT, tid);
        t.wake(S, 0, tid, ROOT);
    }
    let view = t.view();
    all_near(&view.parallelism.running, &[0.0, 1.0]);
    all_near(&view.parallelism.runnable, &[0.0, 0.5, 0.0, 0.0, 0.5]);
}

#[test]
fn serial_phases_have_culprits_and_make_the_serial_part() {
    let view = build().view();
    let phases: Vec<(f64, f64, &str)> =
        view.serial_phases.iter().map(|p| (p.start_s, p.duration_s, &*p.culprit)).collect();
    // The second one is `cc1` for two seconds and `main` for one.
    assert_eq!(phases, [(0.0, 4.0, "main"), (7.0, 3.0, "cc1")]);
    near(view.parts.serial_s, 7.0);
    near(view.parts.parallel_s, 3.0);
    assert_eq!((view.serial_minimum_s, view.serial_gap_s), (0.01, 0.001));
}

/// `main` is alone but for turns of `beside` µs with a second thread, one every 10 ms from 10 ms on, over a second.
fn interrupted(beside: u64) -> TraceView {
    let mut t = Traced::new(2, S);
    t.fork(0, 0, ROOT, 101);
    for turn in 1..100 {
        let begin = turn * 10_000;
        t.wake(begin, 0, 101, ROOT);
        t.sleep(begin, 1, 101);
        t.sleep(begin + beside, 1, 0);
    }
    t.view()
}

#[test]
fn short_gaps_do_not_divide_a_phase_and_long_ones_do() {
    let short = interrupted(900);
    assert_eq!(short.serial_phases.len(), 1, "{:?}", short.serial_phases);
    near(short.serial_phases[0].duration_s, 1.0);
    // Longer than the gap, and what lies between is shorter than a phase, but for the first 10 ms.
    let long = interrupted(1_100);
    assert_eq!(long.serial_phases.len(), 1, "{:?}", long.serial_phases);
    near(long.serial_phases[0].duration_s, 0.01);
}

/// Half of the time two threads run, by turns of 100 µs: that is no serial phase, however short the gaps.
#[test]
fn gaps_may_not_add_up_to_much_of_a_phase() {
    let mut t = Traced::new(2, S);
    t.fork(0, 0, ROOT, 101);
    for turn in 0..5_000 {
        let begin = turn * 200;
        t.wake(begin, 0, 101, ROOT);
        t.sleep(begin, 1, 101);
        t.sleep(begin + 100, 1, 0);
    }
    let view = t.view();
    assert_eq!(view.serial_phases, []);
    all_near(&view.parallelism.running, &[0.0, 0.5, 0.5]);
}

/// Two processes that hand a byte to each other: 2 µs of work, then 30 µs until the other one's idle CPU has woken.
#[test]
fn a_relay_is_one_serial_phase() {
    // Ends in a moment of work: the way to a CPU is no end of a phase.
    let mut t = Traced::new(2, S + 1);
    t.fork(0, 0, ROOT, 101);
    let mut us = 0;
    while us + 64 <= S {
        t.wake(us + 2, 0, 101, ROOT);
        t.sleep(us + 2, 0, 0);
        t.sleep(us + 32, 1, 101);
        t.wake(us + 34, 1, ROOT, 101);
        t.sleep(us + 34, 1, 0);
        t.sleep(us + 64, 0, ROOT);
        us += 64;
    }
    let view = t.view();
    assert_eq!(view.serial_phases.len(), 1);
    near(view.serial_phases[0].duration_s, 1.000_001);
    near(view.parts.parallel_s, 0.0);
}

#[test]
fn what_ends_a_silence_is_the_culprit_where_nothing_runs() {
    let culprit = |waker: Waker| {
        let mut t = Traced::new(1, 10 * S);
        t.header.interrupts.insert(24, "virtio0-req.0".into());
        t.sleep(S, 0, 0);
        t.woken(9 * S, 0, ROOT, waker);
        t.sleep(9 * S, 0, ROOT);
        let view = t.view();
        assert_eq!(view.serial_phases.len(), 1);
        view.serial_phases[0].culprit.clone()
    };
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Timer)), "timer");
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Device(24))), "virtio0-req.0");
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Device(25))), "disk");
    assert_eq!(culprit(Waker::SoftIrqOfInterrupt { vector: 3, interrupt: Interrupt::Other }), "network");
    assert_eq!(culprit(Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Other }), "disk");
    assert_eq!(culprit(Waker::Thread(Tid(PEER))), "daemon");
    assert_eq!(culprit(Waker::Unknown), "nothing");
}

#[test]
fn bounds_of_phases_follow_the_length_of_the_run() {
    let bounds = |us| {
        let view = Traced::new(1, us).view();
        (view.serial_minimum_s, view.serial_gap_s)
    };
    assert_eq!(bounds(S / 10), (0.005, 0.000_5));
    assert_eq!(bounds(S), (0.01, 0.001));
    assert_eq!(bounds(100 * S), (0.1, 0.01));
    let nothing = Traced::new(1, 0).view();
    assert_eq!((nothing.serial_phases.len(), nothing.parallelism.running.len()), (0, 0));
}

#[test]
fn commands_have_exact_cpu_time_and_calls() {
    let view = build().view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("main", 1), ("cc1", 1)]);
    near(command(&view, "main").cpu_s, 8.0);
    near(command(&view, "cc1").cpu_s, 5.0);
    near(command(&view, "cc1").cpu_ratio, 5.0 / 13.0);
    near(command(&view, "main").kernel_ratio.unwrap(), 0.25);
    near(command(&view, "cc1").kernel_ratio.unwrap(), 0.2);
    assert_eq!(command(&view, "cc1").waiting_ratio, Some(0.0));
}

/// The error is the binomial one for many ticks, and not zero where all of a few agree.
#[test]
fn the_kernel_ratios_error_is_that_of_its_ticks() {
    let error = |user, system| {
        let mut t = Traced::new(1, S);
        t.exit(S, 0, ROOT, accounts(user, system));
        t.die(S, 0, 0);
        let view = t.view();
        let main = &view.commands[0];
        main.kernel_ratio.zip(main.kernel_ratio_error)
    };
    // 10,000 ticks of 4 ms.
    let (ratio, many) = error(30 * S, 10 * S).unwrap();
    near(ratio, 0.25);
    assert!((many - (0.25 * 0.75 / 1e4_f64).sqrt()).abs() < 1e-6, "{many}");
    let (ratio, one) = error(0, 4_000).unwrap();
    near(ratio, 1.0);
    near(one, 0.25);
    assert_eq!(error(0, 0), None);
}

/// A shell forks twice; one child becomes `cc1`, and then `as`, the other stays a shell. A thread is no call.
#[test]
fn processes_are_called_by_the_program_they_become() {
    let mut t = Traced::new(2, 10 * S);
    t.fork(S, 0, ROOT, 101);
    t.wake(S, 0, 101, ROOT);
    t.sleep(S, 1, 101);
    t.exec(2 * S, 1, 101, "cc1", accounts(S, 0));
    t.thread(2 * S, 1, 101, 102, 101);
    t.exec(5 * S, 1, 101, "as", accounts(2 * S, 2 * S));
    t.exit(6 * S, 1, 101, accounts(2 * S, 3 * S));
    t.die(6 * S, 1, 0);
    t.fork(6 * S, 0, ROOT, 103);
    t.wake(6 * S, 0, 103, ROOT);
    t.sleep(6 * S, 1, 103);
    let view = t.view();
    let rows: Vec<(&str, u64, f64)> =
        view.commands.iter().map(|c| (&*c.name, c.calls, (c.cpu_s * 1e6).round() / 1e6)).collect();
    // The shell: ten seconds itself, one before the first child's exec, four of the second child.
    assert_eq!(rows, [("main", 2, 15.0), ("cc1", 1, 3.0), ("as", 1, 1.0)]);
    // Between the two execs one second of user ticks and two of system ticks.
    near(command(&view, "cc1").kernel_ratio.unwrap(), 2.0 / 3.0);
    near(command(&view, "as").kernel_ratio.unwrap(), 1.0);
    // Of the shell only the child's first second is told: it goes on when the trace ends.
    near(command(&view, "main").kernel_ratio.unwrap(), 0.0);
}

/// The second thread of a process execs and takes the number of the first: one process, called once more.
#[test]
fn a_program_begun_by_a_second_thread_is_one_call() {
    let mut t = Traced::new(2, 10 * S);
    t.thread(2 * S, 0, ROOT, 101, ROOT);
    t.wake(2 * S, 0, 101, ROOT);
    t.sleep(2 * S, 1, 101);
    t.die(4 * S, 0, 0);
    let name = Comm::new("java");
    let exec = Exec { tid: Tid(ROOT), was: Tid(101), name, accounts: Accounts::default() };
    t.events.push(Event {
        at: t.header.began_ns + Nanos(4_000_000_000),
        cpu: CpuId(1),
        kind: EventKind::Exec(exec),
    });
    let view = t.view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("java", 1), ("main", 1)]);
    near(command(&view, "java").cpu_s, 6.0);
    near(command(&view, "main").cpu_s, 6.0);
}

/// A thread's own name makes no row: its time is its program's.
#[test]
fn threads_run_their_processes_program() {
    let mut t = Traced::new(2, 4 * S);
    t.thread(S, 0, ROOT, 101, ROOT);
    t.events.push(Event {
        at: t.events.last().unwrap().at,
        cpu: CpuId(0),
        kind: EventKind::Rename { tid: Tid(101), name: Comm::new("worker-1") },
    });
    t.wake(S, 0, 101, ROOT);
    t.sleep(S, 1, 101);
    let view = t.view();
    let rows: Vec<(&str, u64)> = view.commands.iter().map(|c| (&*c.name, c.calls)).collect();
    assert_eq!(rows, [("main", 1)]);
    near(view.commands[0].cpu_s, 7.0);
}

/// Steal and interrupts are no CPU time of the command.
#[test]
fn what_the_kernel_did_not_account_is_not_counted() {
    let mut t = Traced::new(1, 4 * S);
    t.sleep(2 * S, 0, 0);
    let EventKind::Switch(switch) = &mut t.events.last_mut().unwrap().kind else { panic!() };
    switch.prev_runtime = Nanos(1_500_000_000);
    switch.interrupts = Nanos(250_000_000);
    let unaccounted = t.events.clone();
    near(t.view().commands[0].cpu_s, 1.25);
    // A kernel that takes interrupts off itself.
    let mut t = Traced::new(1, 4 * S);
    t.events = unaccounted;
    t.header.interrupts_accounted = true;
    near(t.view().commands[0].cpu_s, 1.5);
}

/// One second of waiting for a mutex: 0.25 s spinning, 0.5 s asleep, and 0.25 s on the way to a CPU, which is none.
#[test]
fn waiting_is_spinning_and_sleeping_until_the_wake() {
    let mut t = Traced::new(1, 4 * S);
    t.sleep(S, 0, PEER);
    t.wake(S + S / 2, 0, ROOT, PEER);
    t.sleep(S + 3 * S / 4, 0, ROOT);
    t.contended(S + 3 * S / 4, 0, ROOT, 7, S).flags = LockFlags(LockFlags::MUTEX);
    let view = t.view();
    let [lock] = &view.locks[..] else { panic!("{:?}", view.locks) };
    assert_eq!((&*lock.kind, &*lock.symbol, &lock.caller, lock.count), ("mutex", "unknown", &None, 1));
    near(lock.wait_s, 0.75);
    near(lock.spin_s, 0.25);
    near(lock.max_wait_s, 0.75);
    // CPU time: the first second, a quarter of which was spinning, and the last 2.25.
    near(command(&view, "main").cpu_s, 3.25);
    near(view.waiting_ratio.unwrap(), 0.75 / 3.75);
    assert_eq!(view.commands[0].waiting_ratio, view.waiting_ratio);
}

#[test]
fn nested_waits_count_once_in_the_ratio_and_each_in_the_table() {
    let mut t = Traced::new(1, 4 * S);
    t.contended(2 * S, 0, ROOT, 8, S / 2);
    t.contended(2 * S + S / 2, 0, ROOT, 7, S + S / 2);
    t.contended(3 * S, 0, ROOT, 9, S / 4);
    let view = t.view();
    near(view.waiting_ratio.unwrap(), (1.5 + 0.25) / 4.0);
    assert_eq!(view.locks.iter().map(|lock| lock.count).sum::<u64>(), 3);
    near(view.locks.iter().map(|lock| lock.wait_s).sum(), 2.25);
}

#[test]
fn waits_of_others_are_not_the_commands() {
    let mut t = Traced::new(1, 4 * S);
    t.sleep(S, 0, PEER);
    t.contended(2 * S, 0, PEER, 7, S / 2);
    let view = t.view();
    assert_eq!(view.locks, []);
    assert_eq!(view.waiting_ratio, Some(0.0));
    assert!(view.commands.iter().all(|command| command.name != "daemon"));
}

#[test]
fn a_ratio_that_was_not_traced_is_null() {
    let mut t = Traced::new(1, S);
    t.header.stack_share = None;
    let view = t.view();
    assert_eq!((view.waiting_ratio, view.commands[0].waiting_ratio), (None, None));
}

/// Of the lock at 1, `alpha` had three sampled short waits and `beta` one; of 40 without a stack, 30 and 10 are theirs.
/// The lock at 2 was never sampled, and too few of its kind were. Long waits have a row by their stacks alone.
#[test]
fn short_waits_without_a_stack_go_to_the_callers_of_their_lock() {
    let mut t = Traced::new(1, S);
    t.stack(
        1,
        &["__traceiter_contention_end", "native_queued_spin_lock_slowpath", "_raw_spin_lock", "alpha"],
    );
    t.stack(2, &["native_queued_spin_lock_slowpath", "_raw_spin_lock", "beta"]);
    let mut us = 1_000;
    let mut wait = |t: &mut Traced, lock: u64, waited: u64, stack: Option<u32>| {
        us += 1_000;
        t.contended(us, 0, ROOT, lock, waited).stack = stack;
    };
    for stack in [1, 1, 1, 2] {
        wait(&mut t, 1, 2, Some(stack));
    }
    wait(&mut t, 1, 500, Some(2));
    for _ in 0..40 {
        wait(&mut t, 1, 2, None);
    }
    for _ in 0..5 {
        wait(&mut t, 2, 4, None);
    }
    let view = t.view();
    let rows: Vec<(&str, Option<&str>, u64)> =
        view.locks.iter().map(|l| (&*l.symbol, l.caller.as_deref(), l.count)).collect();
    assert_eq!(
        rows,
        [("_raw_spin_lock", Some("beta"), 12), ("_raw_spin_lock", Some("alpha"), 33), ("unknown", None, 5)]
    );
    near(view.locks[0].wait_s, 522e-6);
    near(view.locks[1].wait_s, 66e-6);
    near(view.locks[2].wait_s, 20e-6);
    near(view.locks[0].max_wait_s, 500e-6);
    near(view.locks[1].max_wait_s, 2e-6);
    assert!(view.locks.iter().all(|lock| lock.wait_s == lock.spin_s && lock.kind == "spinlock"));
}

/// Many locks with one wait each, as of directory entries: the sampled ones tell for the others, once there are ten.
#[test]
fn short_waits_of_locks_never_sampled_go_to_the_callers_of_their_kind() {
    let storm = |sampled: u64| {
        let mut t = Traced::new(1, S);
        t.stack(1, &["_raw_spin_lock", "dput"]);
        t.stack(2, &["_raw_spin_lock", "d_alloc"]);
        for lock in 0..sampled * 10 {
            let stack = (lock % 10 == 0).then_some(if lock % 20 == 0 { 1 } else { 2 });
            t.contended(1_000 + lock * 10, 0, ROOT, lock, 1).stack = stack;
        }
        let view = t.view();
        let mut rows: Vec<(Option<String>, u64)> =
            view.locks.iter().map(|lock| (lock.caller.clone(), lock.count)).collect();
        rows.sort();
        rows
    };
    assert_eq!(storm(10), [(Some("d_alloc".into()), 50), (Some("dput".into()), 50)]);
    assert_eq!(storm(8), [(None, 72), (Some("d_alloc".into()), 4), (Some("dput".into()), 4)]);
}

#[test]
fn known_locks_have_their_own_name() {
    let mut t = Traced::new(1, S);
    t.stack(1, &["rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"]);
    let wait = t.contended(5_000, 0, ROOT, 3, 100);
    wait.flags = LockFlags(LockFlags::WRITE);
    wait.known = KnownLock::MmapLock;
    wait.stack = Some(1);
    t.contended(6_000, 0, ROOT, 4, 1).known = KnownLock::RunQueue;
    let view = t.view();
    let rows: Vec<(&str, &str, Option<&str>)> =
        view.locks.iter().map(|l| (&*l.kind, &*l.symbol, l.caller.as_deref())).collect();
    assert_eq!(rows, [("rwsem", "mmap_lock", Some("vm_mmap_pgoff")), ("spinlock", "rq->__lock", None)]);
}

/// The idle rule's answer by command: while `cc1` waited for nobody, `main` had a CPU beside an idle one.
#[test]
fn culprits_are_commands_and_add_up_to_the_component() {
    let view = build().view();
    // Four seconds of `main` alone and one at the end, two of `cc1` while `main` waited for it.
    let found: Vec<(&str, f64)> = view.culprits.iter().map(|c| (&*c.name, c.lost_cpus)).collect();
    assert_eq!(found.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["main", "cc1"]);
    near(found[0].1, 5.0);
    near(found[1].1, 2.0);
    near(view.components.idle_too_little_work_s, 7.0);
    assert_eq!(view.culprits[1].waiting_in.as_deref(), Some("wait4"));
    near(view.components.unexplained_s, 0.0);
}

/// Processes go by their program, the kernel's threads by their own names; nobody knows who 77 is.
#[test]
fn others_are_named_with_what_they_took() {
    let mut t = Traced::new(1, 8 * S);
    let known = |tid, process, name: &str, kernel| KnownThread {
        tid: Tid(tid),
        process: Tid(process),
        name: name.into(),
        kernel,
    };
    t.header.known.extend([known(51, PEER, "worker", false), known(9, 9, "kworker/0:1", true)]);
    t.leave(S, 0, Left::Preempted, PEER);
    t.sleep(2 * S, 0, 51);
    t.sleep(4 * S, 0, 9);
    t.sleep(4 * S + S / 2, 0, 77);
    t.sleep(5 * S, 0, ROOT);
    let view = t.view();
    let others: Vec<(&str, f64)> = view.others.iter().map(|(name, s)| (&**name, *s)).collect();
    assert_eq!(others, [("daemon", 3.0), ("kworker/0:1", 0.5), ("unknown", 0.5)]);
    near(view.components.other_processes_s, 4.0);
}

/// Four samples of a thread that ran for all of a second: three in user mode, two of them in a tight loop.
#[test]
fn spinning_in_user_mode_is_a_share_of_the_user_work() {
    let mut t = Traced::new(1, S);
    t.sample(5_000, 0, ROOT, SampleMode::User, true);
    t.sample(10_000, 0, ROOT, SampleMode::User, true);
    t.sample(15_000, 0, ROOT, SampleMode::User, false);
    t.sample(20_000, 0, ROOT, SampleMode::Kernel, true);
    t.sample(25_000, 0, PEER, SampleMode::User, true);
    let view = t.view();
    near(view.components.user_work_s, 0.75);
    near(view.user_spin_s.unwrap(), 0.5);
    assert_eq!(build().view().user_spin_s, None);
}

#[test]
fn losses_are_those_of_the_buffers_or_those_in_the_stream() {
    let mut t = build();
    t.header.lost = vec![CpuLoss { cpu: CpuId(0), dropped: 5 }, CpuLoss { cpu: CpuId(1), dropped: 1 }];
    t.header.missed = 2;
    assert_eq!(t.view().lost_events, 8);
    let mut t = build();
    t.events.insert(4, Event { kind: EventKind::Lost { events: 9 }, ..t.events[3].clone() });
    assert_eq!(t.view().lost_events, 9);
}

/// Anything, in any order: what a lossy trace or a fault of the tracer's may look like.
fn any_event() -> impl Strategy<Value = (u64, u32, u8, u32, u32, u64)> {
    (0..S, 0..3_u32, 0..10_u8, 0..6_u32, 0..6_u32, 0..S)
}

proptest! {
    /// Whatever the events, nothing panics, shares add up, and no wait is lost or made up by dividing them.
    #[test]
    fn sums_hold_for_any_events(events in prop::collection::vec(any_event(), 0..120)) {
        let mut t = Traced::new(2, S);
        t.stack(1, &["_raw_spin_lock", "alpha"]);
        t.stack(2, &["_raw_spin_lock", "beta"]);
        // The idle loop, the daemon, the main process and what it forks.
        let tid = |index: u32| [0, PEER, ROOT, 101, 102, 103][index as usize];
        let mut events = events;
        events.sort();
        for (us, cpu, kind, one, two, long) in events {
            let (one, two) = (tid(one), tid(two));
            match kind {
                0 | 1 => t.sleep(us, cpu, one),
                2 => t.leave(us, cpu, Left::Preempted, one),
                3 => t.die(us, cpu, one),
                4 | 5 => t.wake(us, cpu, one.max(1), two.max(1)),
                6 => t.fork(us, cpu, one.max(1), two.max(101)),
                7 => t.exec(us, cpu, one.max(1), ["cc1", "as"][cpu as usize % 2], accounts(long, us)),
                8 => t.exit(us, cpu, one.max(1), accounts(us, long)),
                _ => t.contended(us, cpu, one.max(1), long % 3, long).stack = [None, Some(1), Some(2)][cpu as usize],
            }
        }
        let (header, events) = (t.header.clone(), t.events.clone());
        let view = t.view();
        let timeline = morecores_analyse::trace::Timeline::new(&header, &events);
        for shares in [&view.parallelism.running, &view.parallelism.runnable] {
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        }
        prop_assert!((view.parts.serial_s + view.parts.parallel_s - 1.0).abs() < 1e-9);
        let phases = view.serial_phases.windows(2);
        phases.for_each(|two| assert!(two[0].start_s + two[0].duration_s <= two[1].start_s + 1e-9));
        let parts = serde_json::to_value(view.components).unwrap();
        let components: f64 = parts.as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
        prop_assert!((components - 2.0).abs() < 1e-9, "{parts}");
        let lost: f64 = view.culprits.iter().map(|culprit| culprit.lost_cpus).sum();
        prop_assert!((lost - view.components.idle_too_little_work_s).abs() < 1e-9, "{lost} {parts}");
        let waits = timeline.contentions.iter().filter(|w| timeline.thread(w.thread).in_tree).count() as u64;
        prop_assert_eq!(view.locks.iter().map(|lock| lock.count).sum::<u64>(), waits);
        let ratios: f64 = view.commands.iter().map(|command| command.cpu_ratio).sum();
        prop_assert!(view.commands.iter().all(|command| command.cpu_s == 0.0) || (ratios - 1.0).abs() < 1e-9);
        prop_assert!(view.waiting_ratio.is_none_or(|ratio| (0.0..=1.0).contains(&ratio)));
    }
}
