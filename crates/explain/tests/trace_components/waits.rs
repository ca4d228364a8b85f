//! Idle time by the cause that ended a wait: disk, device, timer, peer and kernel threads.

use morecores_explain::trace::{Cause, causes};
use morecores_study::trace::{Call, EventKind, Interrupt, PrevState, Tid, Waker, Waking, Work};
use syscalls::Sysno;

use super::schedule_trace::*;

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
