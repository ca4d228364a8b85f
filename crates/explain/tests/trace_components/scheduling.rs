//! Idle time beside ready threads: wake-ups, threads that are held back, and pinned threads.

use morecores_explain::trace::State;
use morecores_study::trace::{EventKind, HoldReason, PrevState, Tid};
use morecores_study::{CpuId, Nanos};

use super::schedule_trace::*;

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
