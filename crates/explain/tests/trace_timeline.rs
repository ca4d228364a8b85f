//! Traces written by hand whose events are ambiguous, lost, or contradict each other.

mod schedule_trace;

use morecores_explain::trace::causes;
use morecores_study::Nanos;
use morecores_study::trace::{EventKind, PrevState, Tid};
use schedule_trace::*;

#[test]
fn unrecorded_switch_is_found_by_the_accounts() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, ROOT, 0.0, 2.0);
    s.run(0, STRANGER, 2.0, 3.0);
    s.run(0, ROOT, 3.0, 10.0).dies();
    let mut events = s.events();
    events.retain(|e| !matches!(&e.kind, EventKind::Switch(switch) if switch.prev == Tid(STRANGER)));
    assert_components(&s.account_events(&events), &[("user_work", 9.0), ("other_processes", 1.0)]);
}

#[test]
fn reused_thread_number_is_another_thread() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.fork(1.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 2.0).sleeps(WAIT4);
    s.run(0, 101, 2.0, 3.0).dies();
    s.wake_by_thread(3.0, 101, ROOT);
    s.run(0, ROOT, 3.0, 4.0);
    // The number now belongs to another process.
    s.fork(4.0, STRANGER, 101);
    s.run(0, 101, 4.0, 6.0).dies();
    s.run(0, ROOT, 6.0, 10.0).dies();
    let a = s.account();
    assert_components(&a, &[("user_work", 8.0), ("other_processes", 2.0)]);
    let timeline = s.timeline();
    let both: Vec<_> = timeline.threads.iter().filter(|t| t.tid == Tid(101)).collect();
    assert_eq!(both.iter().map(|t| t.in_tree).collect::<Vec<_>>(), [true, false]);
    assert_eq!(both[0].name_at(at(2.0)).to_string(), "main");
    assert_eq!(both[1].name_at(at(5.0)).to_string(), "stranger");
}

#[test]
fn thread_belongs_to_its_process_for_any_parent() {
    let mut s = ScheduleTrace::new(2, 10.0);
    // The kernel makes workers for io_uring in the process that owns the work.
    s.thread_in_process(1.0, STRANGER, 101, ROOT);
    s.thread_in_process(1.0, ROOT, 102, STRANGER);
    s.run(0, ROOT, 0.0, 10.0).dies();
    s.run(1, 101, 1.0, 4.0).dies();
    s.run(1, 102, 4.0, 6.0).dies();
    let parts = [("user_work", 13.0), ("other_processes", 2.0), ("idle_too_little_work", 5.0)];
    assert_components(&s.account(), &parts);
    let tree: Vec<_> = s.timeline().tree().map(|(_, thread)| thread.tid).collect();
    assert_eq!(tree, [Tid(ROOT), Tid(101)]);
}

#[test]
fn exec_by_another_thread_takes_the_number_of_the_first() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.thread(0.0, ROOT, 101);
    s.run(0, ROOT, 0.0, 3.0).dies();
    s.run(1, 101, 0.0, 4.0).sleeps(WAIT4);
    s.event(
        4.0,
        1,
        EventKind::Exec(morecores_study::trace::Exec {
            tid: Tid(ROOT),
            was: Tid(101),
            name: morecores_study::trace::Comm::new("next"),
            accounts: Default::default(),
        }),
    );
    // The number changes in the middle of a run; the run's last switch has the new number.
    let mut events = s.events();
    for event in &mut events {
        if let EventKind::Switch(switch) = &mut event.kind
            && (event.at, switch.prev) == (at(4.0), Tid(101))
        {
            (switch.prev, switch.prev_state) = (Tid(ROOT), PrevState::Dead);
        }
    }
    let timeline = morecores_explain::trace::Timeline::new(&s.header, &events);
    let tree: Vec<_> = timeline.tree().map(|(_, thread)| thread).collect();
    assert_eq!(tree.len(), 2);
    assert_eq!((tree[0].tid, tree[0].ended), (Tid(ROOT), Some(at(3.0))));
    assert_eq!((tree[1].tid, tree[1].ended), (Tid(ROOT), Some(at(4.0))));
    assert_eq!(tree[1].name_at(at(4.0)).to_string(), "next");
    assert_eq!(tree[1].on_cpu(), Nanos::from_millis(4));
    assert_eq!((timeline.misfits, timeline.lost_events), Default::default());
}

#[test]
fn lost_time_is_unexplained_and_counted() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, ROOT, 0.0, 10.0);
    let mut events = s.events();
    // The events between 3 and 6 are lost; at 6 the stranger runs, until 8.
    events.retain(|event| !matches!(event.kind, EventKind::Switch(_)) || event.at == at(0.0));
    let mut script = ScheduleTrace::new(1, 10.0);
    script.event(3.0, 0, EventKind::Rename { tid: Tid(ROOT), name: morecores_study::trace::Comm::new("x") });
    script.event(6.0, 0, EventKind::Lost { events: 2 });
    script.run(0, STRANGER, 6.0, 8.0);
    script.run(0, ROOT, 8.0, 10.0).dies();
    events.extend(script.events().into_iter().filter(|event| {
        event.at > at(0.0) && !(event.at == at(6.0) && matches!(event.kind, EventKind::Switch(_)))
    }));
    events.sort_by_key(|event| event.at);
    let timeline = morecores_explain::trace::Timeline::new(&script.header, &events);
    let idle = morecores_explain::trace::apply_idle_rule(&timeline, &causes(&timeline));
    let a = morecores_explain::trace::account(&script.header, &timeline, idle);
    assert_components(&a, &[("user_work", 5.0), ("other_processes", 2.0), ("unexplained", 3.0)]);
    assert_eq!((timeline.lost_events, timeline.misfits.misplaced), (2, 0));
    assert!((a.unexplained[0].1 - 3e-3).abs() < 1e-9);
}

#[test]
fn thread_on_two_cpus_counts_on_the_last_one() {
    let mut s = ScheduleTrace::new(2, 10.0);
    s.run(0, ROOT, 0.0, 9.0);
    s.run(1, ROOT, 4.0, 10.0).dies();
    let a = s.account();
    assert_eq!(s.timeline().misfits.misplaced, 1);
    // CPU 1 is idle until 4; the activity of CPU 0 from 4 to 9 is unknown; from 9 on it is idle.
    assert_components(&a, &[("user_work", 10.0), ("idle_too_little_work", 5.0), ("unexplained", 5.0)]);
}

#[test]
fn a_wake_up_just_before_the_sleep_means_no_wait() {
    let mut s = ScheduleTrace::new(1, 10.0);
    s.run(0, ROOT, 0.0, 4.0).sleeps(FUTEX);
    s.wake_by_thread(3.999, STRANGER, ROOT);
    s.run(0, ROOT, 5.0, 10.0).dies();
    assert_components(&s.account(), &[("user_work", 9.0), ("idle_scheduling", 1.0)]);
    assert_eq!(s.timeline().misfits.early, 1);
}
