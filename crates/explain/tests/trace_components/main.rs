//! Traces written by hand whose components are known: work, time taken from it, and waits for other
//! threads.

#[path = "../schedule_trace/mod.rs"]
mod schedule_trace;
mod scheduling;
mod user_locks;
mod waits;

use morecores_study::Nanos;
use morecores_study::trace::{Call, EventCost, Interrupt, PrevState, TraceSource, Waker};
use schedule_trace::*;

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
    // Only threads of the command have holds of locks.
    let hold = EventCost::LOCK_HOLD.to_owned();
    s.header.facts.costs.push(EventCost { probe: hold, count: 200, each_ns: Nanos::from_micros(10) });
    assert_components(&s.account(), &[("user_work", 5.8), ("tracer", 3.3), ("idle_timer", 0.9)]);
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
