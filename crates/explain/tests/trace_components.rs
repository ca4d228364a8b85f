//! Traces written by hand whose components are known.

mod schedule_trace;

use morecores_explain::trace::{Cause, State, causes};
use morecores_study::trace::{
    Call, EventCost, EventKind, HoldReason, Interrupt, Object, PrevState, Tid, TraceSource, Waker, Waking,
    Work,
};
use morecores_study::{CpuId, Nanos};
use schedule_trace::*;
use syscalls::Sysno;

#[test]
fn a_serial_program_leaves_the_other_cpu_without_work() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.run(0, ROOT, 0.0, 10.0).dies();
    let a = s.account();
    assert_components(&a, &[("user_work", 10.0), ("idle_too_little_work", 10.0)]);
    assert_eq!(a.idle.charges.len(), 1);
    assert_eq!(a.idle.charges[0].waiting_in, None);
}

/// The main process forks two children and waits for each.
fn forking_program() -> ScheduleTrace {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.fork(1.0, ROOT, 101);
    s.fork(1.0, ROOT, 102);
    s.exec(1.5, 101, "cc1");
    s.run(0, ROOT, 0.0, 1.0).sleeps(WAIT4);
    s.run(0, 101, 1.0, 8.0).dies();
    s.run(1, 102, 1.0, 4.0).dies();
    s.wake_by_thread(8.0, 101, ROOT);
    s.run(0, ROOT, 8.0, 10.0).dies();
    s
}

#[test]
fn running_thread_is_the_culprit_while_others_wait() {
    let s = forking_program();
    let a = s.account();
    // One CPU is idle from 0 to 1 beside the main process, from 4 to 8 beside cc1, and from 8 to 10
    // beside the main process.
    assert_components(&a, &[("user_work", 13.0), ("idle_too_little_work", 7.0)]);
    let timeline = s.timeline();
    let charges: Vec<_> = a
        .idle
        .charges
        .iter()
        .map(|c| {
            let thread = timeline.thread(c.thread.unwrap());
            (thread.names[c.name_index].name.to_string(), (c.seconds * 1e3).round(), c.waiting_in)
        })
        .collect();
    assert_eq!(charges, [("main".to_owned(), 3.0, None), ("cc1".to_owned(), 4.0, Some(WAIT4))]);
}

#[test]
fn ticks_divide_user_and_kernel_time() {
    let mut s = forking_program();
    s.exit(10.0, ROOT, 2, 1);
    s.exit(8.0, 101, 4, 3);
    s.exit(4.0, 102, 2, 1);
    let a = s.account();
    assert_components(&a, &[("user_work", 8.0), ("kernel_work", 5.0), ("idle_too_little_work", 7.0)]);
    assert_eq!(a.kernel_ratio_estimator.name(), "ticks");
}

#[test]
fn chain_of_pipes_ends_at_the_running_thread() {
    // A, B and C in turn; each sleeps until the previous one wakes it.
    let mut s = ScheduleTrace::new(2, 9.0);
    let tids = [ROOT, 101, 102];
    s.fork(0.0, ROOT, 101);
    s.fork(0.0, ROOT, 102);
    s.run(1, 101, 0.0, 0.0).sleeps(Call::Number(0));
    s.run(1, 102, 0.0, 0.0).sleeps(Call::Number(0));
    for turn in 0..9 {
        let (from, to) = (f64::from(turn), f64::from(turn) + 1.0);
        s.run(0, tids[turn as usize % 3], from, to).sleeps(Call::Number(0));
        s.wake_by_thread(to, tids[turn as usize % 3], tids[(turn as usize + 1) % 3]);
    }
    let a = s.account();
    assert_components(&a, &[("user_work", 9.0), ("idle_too_little_work", 9.0)]);
    assert!(a.idle.charges.iter().all(|c| (c.seconds - 3e-3).abs() < 2e-3), "{:?}", a.idle.charges);
}

#[test]
fn a_kernel_mutex_spins_and_sleeps() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.thread(0.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 10.0).dies();
    // The thread tries at 2, spins until 3, sleeps until 7, runs from 7, and has the lock at 7.5.
    s.run(1, 101, 0.0, 3.0).leaves(PrevState::Uninterruptible);
    s.wake_by_thread(7.0, ROOT, 101);
    s.run(1, 101, 7.0, 10.0).dies();
    s.contention(7.5, 101, 5.5);
    // A nested wait counts once.
    s.contention(2.9, 101, 0.5);
    let a = s.account();
    assert_components(&a, &[("user_work", 14.5), ("kernel_lock_spin", 1.5), ("idle_kernel_lock", 4.0)]);
}

/// Threads take turns with one futex; with `broadcast`, one of them wakes both others at once.
fn futex_turns(broadcast: bool) -> ScheduleTrace {
    let mut s = ScheduleTrace::new(3, 12.0);
    let lock = Object::Futex(0x1000);
    s.thread(0.0, ROOT, 101);
    s.thread(0.0, ROOT, 102);
    s.run(1, 101, 0.0, 1.0).sleeps(FUTEX).awaits(lock);
    s.run(2, 102, 0.0, 1.0).sleeps(FUTEX).awaits(lock);
    s.run(0, ROOT, 0.0, 4.0).sleeps(FUTEX).awaits(lock);
    s.wake_by_thread(4.0, ROOT, 101);
    if broadcast {
        s.wake_by_thread(4.0, ROOT, 102);
        s.run(1, 101, 4.0, 8.0).dies();
        s.run(2, 102, 4.0, 8.0).dies();
        s.wake_by_thread(8.0, 101, ROOT);
    } else {
        s.run(1, 101, 4.0, 8.0).sleeps(FUTEX).awaits(lock);
        s.wake_by_thread(8.0, 101, 102);
        s.run(2, 102, 8.0, 10.0).dies();
        s.wake_by_thread(10.0, 102, ROOT);
    }
    s.run(0, ROOT, if broadcast { 8.0 } else { 10.0 }, 12.0).dies();
    s
}

#[test]
fn futex_passed_between_threads_is_a_lock() {
    let s = futex_turns(false);
    let a = s.account();
    // From 1 to 10, two threads wait for the lock; 101's last wait never ends, and absorbs nothing.
    let lock = 3.0 * 2.0 + 4.0 * 2.0 + 2.0 * 1.0;
    let too_little = 2.0 * 1.0 + 2.0 * 2.0;
    let work = 1.0 + 1.0 + 4.0 + 4.0 + 2.0 + 2.0;
    assert_components(
        &a,
        &[("user_work", work), ("idle_user_lock", lock), ("idle_too_little_work", too_little)],
    );
}

/// The waiter of a lock is woken at 4 ms, and its idle CPU takes 1 ms to run it.
#[test]
fn waking_the_waiter_of_a_lock_belongs_to_the_lock() {
    let account_of = |asks: (u32, u32)| {
        let mut s = ScheduleTrace::new(2, 8.0);
        s.thread(0.0, ROOT, 101);
        s.run(0, ROOT, 0.0, 8.0).dies();
        s.run(1, 101, 0.0, 1.0).sleeps(FUTEX).awaits(Object::Futex(0x1000)).futex_args(asks.0, asks.1);
        s.wake_by_thread(4.0, ROOT, 101);
        s.run(1, 101, 5.0, 8.0).dies();
        s.account()
    };
    assert_components(&account_of((134, 0)), &[("user_work", 12.0), ("idle_user_lock", 3.0 + 1.0)]);
    // A signal is no lock: the waiter waits for the main process, and then for its CPU.
    assert_components(
        &account_of((128, 7)),
        &[("user_work", 12.0), ("idle_too_little_work", 3.0), ("idle_scheduling", 1.0)],
    );
}

#[test]
fn blocked_period_with_lock_waiters_is_charged_to_the_lock() {
    let lock = Object::Futex(0x1000);
    for (by, prev_state, cause_index) in [
        (Waker::Interrupt(Interrupt::Timer), PrevState::Asleep, 0),
        (Waker::Interrupt(Interrupt::Device(24)), PrevState::Uninterruptible, 1),
        (Waker::Thread(Tid(STRANGER)), PrevState::Asleep, 2),
    ] {
        let mut s = ScheduleTrace::new(2, 8.0);
        s.thread(0.0, ROOT, 101);
        s.thread(0.0, ROOT, 102);
        // The main process has the lock and waits; both others wait for the lock.
        s.run(0, ROOT, 0.0, 1.0).leaves(prev_state);
        s.run(1, 101, 0.0, 0.5).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        s.run(1, 102, 0.5, 1.0).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        s.wake(4.0, by, ROOT);
        s.run(0, ROOT, 4.0, 8.0).dies();
        s.wake_by_thread(5.0, ROOT, 101);
        s.run(1, 101, 5.0, 6.0).dies();
        s.wake_by_thread(6.0, 101, 102);
        s.run(1, 102, 6.0, 8.0).dies();
        let a = s.account();
        assert_components(&a, &[("user_work", 1.0 + 1.0 + 4.0 + 3.0), ("idle_user_lock", 2.0 * 3.0 + 1.0)]);
        let behind = a.idle.times.behind_user_lock;
        let milliseconds =
            [behind.timer_s, behind.disk_s, behind.peer_s].map(|seconds| (seconds * 1e3).round());
        let mut expected = [0.0; 3];
        expected[cause_index] = 6.0;
        assert_eq!(milliseconds, expected);
    }
}

/// Two jobs at a time on four CPUs: four workers of a pool do them in turns, and a worker that has
/// done one wakes another worker for the next. `asks` are the arguments of their futex calls.
fn worker_pool(asks: Option<(u32, u32)>) -> ScheduleTrace {
    const WORKERS: [u32; 4] = [101, 102, 103, 104];
    let mut s = ScheduleTrace::new(4, 14.0);
    let free = Object::Futex(0x2000);
    let wait = |run: &mut CpuRun| {
        run.sleeps(FUTEX).awaits(free);
        if let Some((operation, expected)) = asks {
            run.futex_args(operation, expected);
        }
    };
    s.run(0, ROOT, 0.0, 2.0).sleeps(WAIT4);
    for (worker, cpu) in WORKERS.into_iter().zip(0..) {
        s.thread(0.0, ROOT, worker);
        let from = if cpu == 0 { 2.0 } else { 0.0 };
        wait(s.run(cpu, worker, from, from + 0.5));
    }
    s.wake_by_thread(3.0, ROOT, 101);
    s.wake_by_thread(3.5, ROOT, 102);
    // One job after the other in each of two rows, half a millisecond apart.
    for job in 0..8 {
        let (from, row) = (3.0 + f64::from(job), job as usize % 2);
        for (begin, worker) in [(from, row * 2), (from + 0.5, row * 2 + 1)] {
            wait(s.run(worker as u32, WORKERS[worker], begin, begin + 1.0));
            if job < 7 {
                s.wake_by_thread(begin + 1.0, WORKERS[worker], WORKERS[(worker + 2) % 4]);
            }
        }
    }
    s.wake_by_thread(12.0, 104, ROOT);
    s.run(0, ROOT, 12.0, 14.0).dies();
    s
}

#[test]
fn a_pool_with_one_condition_variable_is_not_a_lock() {
    let a = worker_pool(None).account();
    let parts = nonzero_components(&a.components);
    assert_eq!(parts.get("idle_user_lock"), None, "{parts:?}");
    assert!(parts["idle_too_little_work"] > 20.0, "{parts:?}");
}

#[test]
fn futex_call_arguments_identify_a_lock() {
    // FUTEX_WAIT_PRIVATE with a word that means "taken and waited for", with or without a thread's
    // number, and FUTEX_LOCK_PI_PRIVATE.
    for asks in [(128, 2), (128, 0x8000_0065), (134, 0)] {
        let a = worker_pool(Some(asks)).account();
        assert!(nonzero_components(&a.components)["idle_user_lock"] > 10.0, "{asks:?}: {a:?}");
    }
    // For a counter, and for the zero of a semaphore or of a condition variable, the order of the
    // wake-ups decides.
    for asks in [(128, 7), (137, 0)] {
        let a = worker_pool(Some(asks)).account();
        assert_eq!(a.components.idle_user_lock_s, Some(0.0), "{asks:?}");
    }
}

#[test]
fn producer_does_not_make_a_queue_a_lock() {
    let mut s = ScheduleTrace::new(4, 9.0);
    let queue = Object::Futex(0x3000);
    for (tid, cpu) in [(101, 1), (102, 2), (103, 3)] {
        s.thread(0.0, ROOT, tid);
        if tid != 103 {
            s.run(cpu, tid, 0.0, 0.5).sleeps(FUTEX).awaits(queue);
        }
    }
    s.run(3, 103, 0.0, 9.0);
    s.run(0, ROOT, 0.0, 9.0).dies();
    for (at, by, worker, cpu) in
        [(1.0, ROOT, 101, 1), (2.0, 103, 102, 2), (4.0, 103, 101, 1), (6.0, ROOT, 102, 2)]
    {
        s.wake_by_thread(at, by, worker);
        s.run(cpu, worker, at, at + 1.0).sleeps(FUTEX).awaits(queue);
    }
    assert_components(&s.account(), &[("user_work", 9.0 + 9.0 + 5.0), ("idle_too_little_work", 13.0)]);
}

#[test]
fn a_futex_broadcast_is_not_a_lock() {
    let a = futex_turns(true).account();
    assert_components(
        &a,
        &[("user_work", 1.0 + 1.0 + 4.0 + 4.0 + 4.0 + 4.0), ("idle_too_little_work", 18.0)],
    );
}

/// The main process sleeps from 2 to 6 while another runs until `other`, and is woken by `waking`.
fn sleeping_program(other: f64, prev_state: PrevState, waking: Waking) -> ScheduleTrace {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.fork(0.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 2.0).leaves(prev_state);
    s.run(1, 101, 0.0, other).dies();
    s.event(6.0, 0, EventKind::Waking(waking));
    s.run(0, ROOT, 6.0, 10.0).dies();
    s
}

fn wake_root(by: Waker, io_wait: bool) -> Waking {
    Waking { tid: Tid(ROOT), by, io_wait }
}

#[test]
fn disk_interrupt_makes_the_idle_time_a_disk_wait() {
    let disk = Waker::Interrupt(Interrupt::Device(24));
    for waking in [
        wake_root(disk, true),
        wake_root(Waker::Interrupt(Interrupt::Other), true),
        wake_root(Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Device(24) }, false),
        wake_root(Waker::SoftIrqOfThread { vector: 4, tid: Tid(101) }, false),
    ] {
        let a = sleeping_program(10.0, PrevState::Uninterruptible, waking).account();
        assert_components(&a, &[("user_work", 16.0), ("idle_disk", 4.0)]);
    }
}

#[test]
fn another_device_than_a_disk_has_its_own_name() {
    let device = Waker::Interrupt(Interrupt::Device(24));
    let named = |name: Option<&str>, prev_state, io_wait| {
        let mut s = sleeping_program(10.0, prev_state, wake_root(device, io_wait));
        s.header.facts.interrupts.extend(name.map(|name| (24, name.to_owned())));
        s.account()
    };
    for (name, prev_state, io_wait) in [
        (Some("i915"), PrevState::Uninterruptible, false),
        (Some("virtio0-input.0"), PrevState::Asleep, false),
    ] {
        assert_components(&named(name, prev_state, io_wait), &[("user_work", 16.0), ("idle_device", 4.0)]);
    }
    // A device is a disk by its driver's name, or if the kernel counts the wait as a wait for I/O.
    // A device without a known name counts as a disk too.
    for (name, prev_state, io_wait) in [
        (Some("nvme0q1"), PrevState::Asleep, false),
        (Some("virtio1-req.0"), PrevState::Uninterruptible, false),
        (Some("xhci_hcd"), PrevState::Uninterruptible, true),
        (None, PrevState::Asleep, false),
    ] {
        assert_components(&named(name, prev_state, io_wait), &[("user_work", 16.0), ("idle_disk", 4.0)]);
    }
}

#[test]
fn a_grace_period_is_not_a_disk_wait() {
    let by_softirq = Waker::SoftIrqOfInterrupt { vector: 9, interrupt: Interrupt::Timer };
    let a = sleeping_program(10.0, PrevState::Uninterruptible, wake_root(by_softirq, false)).account();
    assert_components(&a, &[("user_work", 16.0), ("idle_rcu", 4.0)]);
    // The kernel's RCU thread ends the wait; a timer woke that thread.
    let mut s =
        sleeping_program(10.0, PrevState::Uninterruptible, wake_root(Waker::Thread(Tid(JOURNAL)), false));
    s.wake(5.0, Waker::Interrupt(Interrupt::Timer), JOURNAL);
    for known in s.header.facts.known.iter_mut().filter(|known| known.tid == Tid(JOURNAL)) {
        known.name = "rcuop/0".to_owned();
    }
    assert_components(&s.account(), &[("user_work", 16.0), ("idle_rcu", 4.0)]);
    // The wait is in the call that requests a grace period, and any thread may end it.
    let mut s = ScheduleTrace::new(2, 10.0);
    s.fork(0.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 2.0)
        .sleeps(Call::Number(Sysno::membarrier.id() as u16))
        .leaves(PrevState::Uninterruptible);
    s.run(1, 101, 0.0, 10.0).dies();
    s.wake(6.0, Waker::Interrupt(Interrupt::Other), ROOT);
    s.run(0, ROOT, 6.0, 10.0).dies();
    assert_components(&s.account(), &[("user_work", 16.0), ("idle_rcu", 4.0)]);
}

#[test]
fn unrecorded_kernel_wait_is_not_a_disk_wait() {
    for other in [Waker::Interrupt(Interrupt::Other), Waker::Unknown] {
        let a = sleeping_program(10.0, PrevState::Uninterruptible, wake_root(other, false)).account();
        assert_components(&a, &[("user_work", 16.0), ("idle_uninterruptible", 4.0)]);
        let a = sleeping_program(2.0, PrevState::Uninterruptible, wake_root(other, false)).account();
        let expected = [("user_work", 8.0), ("idle_uninterruptible", 8.0), ("idle_too_little_work", 4.0)];
        assert_components(&a, &expected);
    }
}

#[test]
fn timer_counts_only_if_nothing_runs() {
    for timer in [
        Waker::Interrupt(Interrupt::Timer),
        Waker::SoftIrqOfInterrupt { vector: 1, interrupt: Interrupt::Timer },
        Waker::SoftIrqOfInterrupt { vector: 8, interrupt: Interrupt::Other },
    ] {
        let a = sleeping_program(10.0, PrevState::Asleep, wake_root(timer, false)).account();
        assert_components(&a, &[("user_work", 16.0), ("idle_too_little_work", 4.0)]);
        let a = sleeping_program(2.0, PrevState::Asleep, wake_root(timer, false)).account();
        assert_components(&a, &[("user_work", 8.0), ("idle_timer", 8.0), ("idle_too_little_work", 4.0)]);
        assert_eq!(a.idle.blocked_periods.len(), 1);
        assert_eq!(a.idle.blocked_periods[0].cause, Some(Cause::Timer));
    }
}

#[test]
fn peer_is_a_process_outside_the_tree() {
    for peer in [
        Waker::Thread(Tid(STRANGER)),
        Waker::SoftIrqOfThread { vector: 3, tid: Tid(STRANGER) },
        Waker::SoftIrqOfInterrupt { vector: 3, interrupt: Interrupt::Device(30) },
    ] {
        let a = sleeping_program(10.0, PrevState::Asleep, wake_root(peer, false)).account();
        assert_components(&a, &[("user_work", 16.0), ("idle_peer", 4.0)]);
    }
    // On loopback, the source is a thread of the tree.
    let own = Waker::SoftIrqOfThread { vector: 3, tid: Tid(101) };
    let a = sleeping_program(10.0, PrevState::Asleep, wake_root(own, false)).account();
    assert_components(&a, &[("user_work", 16.0), ("idle_too_little_work", 4.0)]);
}

#[test]
fn kernel_threads_are_followed() {
    // The journal is woken by the disk at 5 and wakes the main process at 6.
    let mut s =
        sleeping_program(10.0, PrevState::Uninterruptible, wake_root(Waker::Thread(Tid(JOURNAL)), false));
    s.wake(5.0, Waker::Interrupt(Interrupt::Device(24)), JOURNAL);
    assert_components(&s.account(), &[("user_work", 16.0), ("idle_disk", 4.0)]);
    // A worker does work that another thread of the tree had queued.
    let mut s = sleeping_program(10.0, PrevState::Asleep, wake_root(Waker::Thread(Tid(WORKER)), false));
    s.wake(4.0, Waker::Interrupt(Interrupt::Timer), WORKER);
    let work = |queued_by| EventKind::Work(Work { worker: Tid(WORKER), queued_by });
    s.event(5.0, 2, work(Some(Waker::Thread(Tid(101)))));
    s.event(7.0, 2, work(None));
    s.run(2, WORKER, 5.0, 7.0).leaves(PrevState::Idle);
    let a = s.account();
    assert_components(&a, &[("user_work", 16.0), ("idle_too_little_work", 4.0)]);
    assert!(matches!(causes(&s.timeline())[..], [Cause::Thread(_), ..]));
    assert!((a.outside_cpu_s - 2e-3).abs() < 1e-9 && a.outside_tree_s == 0.0);
}

/// The purpose of a soft interrupt is equal at the wake-up and behind a kernel thread.
#[test]
fn soft_interrupts_have_the_same_cause_behind_kernel_threads() {
    for (vector, expected) in [(1, Cause::Timer), (8, Cause::Timer), (4, Cause::Disk), (5, Cause::Disk)] {
        for raised in [
            Waker::SoftIrqOfThread { vector, tid: Tid(101) },
            Waker::SoftIrqOfInterrupt { vector, interrupt: Interrupt::Other },
        ] {
            let mut s =
                sleeping_program(10.0, PrevState::Asleep, wake_root(Waker::Thread(Tid(JOURNAL)), false));
            s.wake(5.0, raised, JOURNAL);
            assert_eq!(causes(&s.timeline())[0], expected, "{raised:?}");
            let direct = sleeping_program(10.0, PrevState::Asleep, wake_root(raised, false));
            assert_eq!(causes(&direct.timeline())[0], expected, "{raised:?}");
        }
    }
}

#[test]
fn wake_latency_is_scheduling() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.fork(2.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 10.0).dies();
    s.run(1, 101, 5.0, 10.0).dies();
    assert_components(
        &s.account(),
        &[("user_work", 15.0), ("idle_scheduling", 3.0), ("idle_too_little_work", 2.0)],
    );
}

#[test]
fn wake_latency_is_not_part_of_a_hold() {
    let mut s = ScheduleTrace::new(2, 20.0);
    s.header.facts.wake_latency_ns = Some(Nanos::from_millis(1));
    // The thread's quota ends its first run; it is held back for 8 of the 9 ms, and then a CPU
    // wakes for it.
    s.run(0, ROOT, 0.0, 4.0).leaves(PrevState::Preempted);
    s.event(4.0, 0, EventKind::Held { tid: Tid(ROOT), by: HoldReason::Quota });
    s.run(0, ROOT, 13.0, 20.0).dies();
    let parts =
        [("user_work", 11.0), ("idle_held", 8.0), ("idle_scheduling", 1.0), ("idle_too_little_work", 20.0)];
    assert_components(&s.account(), &parts);
    let held = State::Held(HoldReason::Quota);
    let states: Vec<_> = s.timeline().threads.iter().flat_map(|thread| &thread.segments).copied().collect();
    assert!(states.iter().any(|segment| segment.state == held && segment.to == at(12.0)), "{states:?}");
}

#[test]
fn hold_shorter_than_a_wake_up_is_ignored() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.header.facts.wake_latency_ns = Some(Nanos::from_millis(2));
    s.run(0, ROOT, 0.0, 4.0).leaves(PrevState::Preempted);
    s.event(4.0, 0, EventKind::Held { tid: Tid(ROOT), by: HoldReason::RealTimeBudget });
    s.run(0, ROOT, 5.0, 10.0).dies();
    let parts = [("user_work", 9.0), ("idle_scheduling", 1.0), ("idle_too_little_work", 10.0)];
    assert_components(&s.account(), &parts);
}

#[test]
fn frozen_thread_is_held_back_until_it_is_thawed() {
    let mut s = ScheduleTrace::new(1, 20.0);
    s.header.facts.wake_latency_ns = Some(Nanos::from_millis(1));
    s.run(0, ROOT, 0.0, 4.0).leaves(PrevState::Uninterruptible);
    s.event(4.0, 0, EventKind::Held { tid: Tid(ROOT), by: HoldReason::Freezer });
    s.wake_by_thread(10.0, STRANGER, ROOT);
    s.run(0, ROOT, 12.0, 20.0).dies();
    // The end of the hold is recorded here.
    assert_components(&s.account(), &[("user_work", 12.0), ("idle_held", 6.0), ("idle_scheduling", 2.0)]);
}

#[test]
fn hold_from_the_wake_up_on_counts() {
    let mut s = ScheduleTrace::new(1, 20.0);
    s.run(0, ROOT, 0.0, 4.0).sleeps(WAIT4);
    s.wake_by_thread(10.0, STRANGER, ROOT);
    s.event(10.0, 0, EventKind::Held { tid: Tid(ROOT), by: HoldReason::RealTimeBudget });
    s.run(0, ROOT, 15.0, 20.0).dies();
    assert_components(&s.account(), &[("user_work", 9.0), ("idle_held", 5.0), ("idle_peer", 6.0)]);
}

#[test]
fn trace_without_holds_has_no_held_time() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.header.facts.held_is_told = false;
    s.run(0, ROOT, 0.0, 10.0).dies();
    assert_eq!(s.account().components.idle_held_s, None);
}

#[test]
fn a_pinned_thread_cannot_use_the_idle_cpu() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.fork(0.0, ROOT, 101);
    let allowed = [CpuId(0)].into_iter().collect();
    s.event(0.0, 0, EventKind::Confined { tid: Tid(101), allowed });
    s.run(0, ROOT, 0.0, 6.0).dies();
    s.run(0, 101, 6.0, 10.0).dies();
    // While 101 runs, pinned or not, no other thread is ready.
    assert_components(
        &s.account(),
        &[("user_work", 10.0), ("idle_pinned", 6.0), ("idle_too_little_work", 4.0)],
    );
}

#[test]
fn steal_and_interrupts_are_taken_off_work_and_idle() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.run(0, ROOT, 0.0, 6.0).stolen(2.0).interrupted(0.5);
    s.run(0, ROOT, 6.0, 10.0).dies();
    s.run(1, STRANGER, 0.0, 1.0).sleeps(WAIT4);
    s.run(1, STRANGER, 5.0, 10.0);
    s.idle_interrupts(1, 5.0, 1.0);
    assert_components(
        &s.account(),
        &[
            ("user_work", 7.5),
            ("steal", 2.0),
            ("interrupt", 1.5),
            ("other_processes", 6.0),
            ("idle_too_little_work", 3.0),
        ],
    );
}

#[test]
fn early_accounting_is_not_steal_or_work() {
    let mut s = ScheduleTrace::new(1, 10.0);
    // The thread is woken on an idle CPU, and accounted from the interrupt that woke it.
    s.run(0, ROOT, 0.0, 2.0).sleeps(WAIT4);
    s.wake(5.0, Waker::Interrupt(Interrupt::Timer), ROOT);
    s.run(0, ROOT, 5.0, 10.0).stolen(-1.0).dies();
    assert_components(&s.account(), &[("user_work", 7.0), ("idle_timer", 3.0)]);
}

#[test]
fn time_accounted_to_another_thread_is_not_steal() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, STRANGER, 0.0, 1.0);
    s.run(0, ROOT, 1.0, 5.0).stolen(1.0);
    s.run(0, STRANGER, 5.0, 7.0).stolen(-1.0);
    s.run(0, ROOT, 7.0, 10.0).dies();
    assert_components(&s.account(), &[("user_work", 7.0), ("other_processes", 3.0)]);
}

#[test]
fn cost_of_tracing_is_charged_to_the_tracer() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, ROOT, 0.0, 5.0).sleeps(WAIT4);
    s.run(0, READER, 5.0, 6.0);
    s.wake(7.0, Waker::Interrupt(Interrupt::Timer), ROOT);
    s.run(0, ROOT, 7.0, 10.0).dies();
    s.header.facts.costs =
        vec![EventCost { probe: "sched_switch".into(), count: 400, each_ns: Nanos::from_micros(1) }];
    // 0.4 ms are spread over four spans, one of which is the tracer's own.
    assert_components(&s.account(), &[("user_work", 7.8), ("tracer", 1.3), ("idle_timer", 0.9)]);
}

#[test]
fn a_surplus_of_waits_is_shared_within_a_class() {
    // One idle CPU of two; three threads wait for the disk and one for a peer.
    let mut s = ScheduleTrace::new(2, 4.0);
    s.run(0, ROOT, 0.0, 4.0).dies();
    for (tid, by) in [
        (101, Waker::Interrupt(Interrupt::Device(24))),
        (102, Waker::Interrupt(Interrupt::Device(24))),
        (103, Waker::Interrupt(Interrupt::Device(24))),
        (104, Waker::Thread(Tid(STRANGER))),
    ] {
        s.fork(0.0, ROOT, tid);
        s.run(1, tid, 0.0, 0.0).leaves(PrevState::Asleep);
        s.wake(4.0, by, tid);
    }
    assert_components(&s.account(), &[("user_work", 4.0), ("idle_disk", 3.0), ("idle_peer", 1.0)]);
}

#[test]
fn work_outside_the_allotted_cpus_is_reported_apart() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, ROOT, 0.0, 4.0);
    s.run(5, ROOT, 4.0, 10.0).dies();
    let a = s.account();
    assert_components(&a, &[("user_work", 4.0), ("idle_too_little_work", 6.0)]);
    assert!((a.outside_tree_s - 6e-3).abs() < 1e-9 && (a.outside_cpu_s - 6e-3).abs() < 1e-9);
}

#[test]
fn waits_without_wakers_are_too_little_work() {
    let mut s = forking_program();
    s.header.facts.source = TraceSource::Perf;
    s.run(1, STRANGER, 5.0, 6.0);
    let a = s.account();
    assert_components(&a, &[("user_work", 13.0), ("other_processes", 1.0), ("idle_too_little_work", 6.0)]);
    assert_eq!(s.timeline().misfits.unwoken, 0);
}
