//! Parallelism and serial phases of a traced run, on traces whose truth is set event by event.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod event_trace;
#[path = "../../view/tests/studies/mod.rs"]
mod studies;

use event_trace::{EventTrace, PEER, ROOT, S, assert_all_near, assert_near, two_command_trace};
use morecores_study::trace::*;
use morecores_view::*;

#[test]
fn profile_counts_running_threads() {
    let view = two_command_trace().view();
    assert_near(view.elapsed_s, 10.0);
    assert_all_near(&view.parallelism.running, &[0.0, 0.7, 0.3]);
    assert_all_near(&view.parallelism.runnable, &[0.0, 0.7, 0.3]);
}

#[test]
fn runnable_threads_are_in_the_second_profile_alone_and_many_are_folded() {
    // On one CPU, eight threads share it from the first second to the end, and seven of them are
    // always runnable.
    let mut t = EventTrace::new(1, 2 * S);
    for tid in 101..108 {
        t.fork(S, 0, ROOT, tid);
        t.wake(S, 0, tid, ROOT);
    }
    let view = t.view();
    assert_all_near(&view.parallelism.running, &[0.0, 1.0]);
    assert_all_near(&view.parallelism.runnable, &[0.0, 0.5, 0.0, 0.0, 0.5]);
}

#[test]
fn serial_phases_have_culprits_and_make_the_serial_part() {
    let view = two_command_trace().view();
    let phases: Vec<(f64, f64, &str)> =
        view.serial_phases.iter().map(|p| (p.start_s, p.duration_s, &*p.culprit)).collect();
    // The second phase has `cc1` for two seconds and `main` for one.
    assert_eq!(phases, [(0.0, 4.0, "main"), (7.0, 3.0, "cc1")]);
    assert_near(view.parts.serial_s, 7.0);
    assert_near(view.parts.parallel_s, 3.0);
    assert_eq!((view.serial_minimum_s, view.serial_gap_s), (0.01, 0.001));
}

/// Trace in which `main` is alone for a second, except for turns of `turn_us` µs with a second
/// thread, one every 10 ms from 10 ms on.
fn interrupted_trace(turn_us: u64) -> TraceView {
    let mut t = EventTrace::new(2, S);
    t.fork(0, 0, ROOT, 101);
    for turn in 1..100 {
        let begin = turn * 10_000;
        t.wake(begin, 0, 101, ROOT);
        t.sleep(begin, 1, 101);
        t.sleep(begin + turn_us, 1, 0);
    }
    t.view()
}

#[test]
fn short_gaps_do_not_divide_a_phase_and_long_ones_do() {
    let short = interrupted_trace(900);
    assert_eq!(short.serial_phases.len(), 1, "{:?}", short.serial_phases);
    assert_near(short.serial_phases[0].duration_s, 1.0);
    // The turns are longer than the gap, and the time between them is shorter than a phase, except
    // for the first 10 ms.
    let long = interrupted_trace(1_100);
    assert_eq!(long.serial_phases.len(), 1, "{:?}", long.serial_phases);
    assert_near(long.serial_phases[0].duration_s, 0.01);
}

/// Two threads run half of the time, in turns of 100 µs: this is no serial phase, however short
/// the gaps are.
#[test]
fn gaps_of_half_the_time_end_a_phase() {
    let mut t = EventTrace::new(2, S);
    t.fork(0, 0, ROOT, 101);
    for turn in 0..5_000 {
        let begin = turn * 200;
        t.wake(begin, 0, 101, ROOT);
        t.sleep(begin, 1, 101);
        t.sleep(begin + 100, 1, 0);
    }
    let view = t.view();
    assert_eq!(view.serial_phases, []);
    assert_all_near(&view.parallelism.running, &[0.0, 0.5, 0.5]);
}

/// Two processes pass a byte to each other: 2 µs of work, then 30 µs until the other process's
/// idle CPU has woken.
#[test]
fn a_relay_is_one_serial_phase() {
    // The trace ends in a moment of work, since the way to a CPU is no end of a phase.
    let mut t = EventTrace::new(2, S + 1);
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
    assert_near(view.serial_phases[0].duration_s, 1.000_001);
    assert_near(view.parts.parallel_s, 0.0);
}

#[test]
fn cause_that_ends_a_blocked_period_is_the_culprit() {
    let culprit = |waker: Waker| {
        let mut t = EventTrace::new(1, 10 * S);
        t.header.facts.interrupts.insert(24, "virtio0-req.0".into());
        t.sleep(S, 0, 0);
        t.wake_by(9 * S, 0, ROOT, waker);
        t.sleep(9 * S, 0, ROOT);
        let view = t.view();
        assert_eq!(view.serial_phases.len(), 1);
        let phase = &view.serial_phases[0];
        (phase.culprit.clone(), phase.cause)
    };
    let named = |name: &str, cause: IdleCause| (name.to_owned(), Some(cause));
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Timer)), named("timer", IdleCause::Timer));
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Device(24))), named("virtio0-req.0", IdleCause::Disk));
    assert_eq!(culprit(Waker::Interrupt(Interrupt::Device(25))), named("disk", IdleCause::Disk));
    assert_eq!(
        culprit(Waker::SoftIrqOfInterrupt { vector: 3, interrupt: Interrupt::Other }),
        named("network", IdleCause::Peer)
    );
    assert_eq!(
        culprit(Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Other }),
        named("disk", IdleCause::Disk)
    );
    assert_eq!(culprit(Waker::Thread(Tid(PEER))), named("daemon", IdleCause::Peer));
    assert_eq!(culprit(Waker::Unknown), named("nothing", IdleCause::Unknown));
}

/// A command that only slept until its time limit.
#[test]
fn tracer_that_ends_a_run_is_no_culprit() {
    let mut t = EventTrace::new(1, 10 * S);
    let thread =
        |tid| KnownThread { tid: Tid(tid), process: Tid(60), name: "morecores".into(), kernel: false };
    t.header.facts.known.extend([thread(60), thread(61)]);
    // The tracer's reader; another thread of the tracer watches the clock.
    t.header.facts.tracer.push(Tid(61));
    t.sleep(S, 0, 0);
    t.wake(9 * S, 0, ROOT, 60);
    t.sleep(9 * S, 0, ROOT);
    assert_eq!(t.view().serial_phases[0].culprit, "nothing");
}

#[test]
fn bounds_of_phases_follow_the_length_of_the_run() {
    let bounds = |us| {
        let view = EventTrace::new(1, us).view();
        (view.serial_minimum_s, view.serial_gap_s)
    };
    assert_eq!(bounds(S / 10), (0.005, 0.000_5));
    assert_eq!(bounds(S), (0.01, 0.001));
    assert_eq!(bounds(100 * S), (0.1, 0.01));
    let nothing = EventTrace::new(1, 0).view();
    assert_eq!((nothing.serial_phases.len(), nothing.parallelism.running.len()), (0, 0));
}

/// Trace on one CPU in which `threads` threads of `name` and the main thread share the CPU for the
/// second half of two seconds, in turns of `slice` µs.
fn pool_trace(threads: u32, slice: u64, name: impl Fn(u32) -> String) -> EventTrace {
    let mut t = EventTrace::new(1, 2 * S);
    for tid in 101..101 + threads {
        t.thread(S, 0, ROOT, tid, ROOT);
        let name = Comm::new(&name(tid));
        t.push(S, 0, EventKind::Rename { tid: Tid(tid), name });
        t.wake(S, 0, tid, ROOT);
    }
    for (turn, begin) in (S..2 * S).step_by(slice as usize).enumerate() {
        t.leave(begin, 0, PrevState::Preempted, 101 + turn as u32 % threads);
    }
    t
}

#[test]
fn workers_of_a_pool_are_the_threads_ready_at_once() {
    let found = |t: EventTrace| t.view().workers.map(|workers| (workers.name, workers.threads));
    let named = |name: &str| Some((name.to_owned(), 3));
    assert_eq!(found(pool_trace(3, 4_000, |_| "spinner".to_owned())), named("spinner"));
    assert_eq!(found(pool_trace(3, 4_000, |_| "python3".to_owned())), named("python3"));
    // The threads' names end in numbers. All threads are ready in every time slice.
    assert_eq!(found(pool_trace(3, 4_000, |tid| format!("rayon-{tid}"))), named("rayon-"));
    // Stages of a pipe, each with another name.
    let stage = |tid| ["tar", "gzip", "tee"][tid as usize % 3].to_owned();
    assert_eq!(found(pool_trace(3, 4_000, stage)), None);
    assert_eq!(found(two_command_trace()), None, "one after the other");
}

/// As recorded of rayon-core 1.13 on one CPU: during a serial part, the thread of the pool looks
/// for work after each time slice of 4 ms, and yields after 5 µs.
#[test]
fn an_idle_thread_that_yields_is_no_worker() {
    let mut t = EventTrace::new(1, S);
    t.thread(0, 0, ROOT, 101, ROOT);
    t.wake(0, 0, 101, ROOT);
    for turn in (4_000..S).step_by(4_000) {
        t.leave(turn, 0, PrevState::Preempted, 101);
        t.leave(turn + 5, 0, PrevState::Preempted, ROOT);
    }
    let view = t.view();
    assert!(view.parallelism.runnable[2] > 0.9, "{:?}", view.parallelism);
    assert_eq!(view.workers, None);
}

/// Two processes send each other messages: the waking one is ready beside the other, for 300 µs
/// each time.
#[test]
fn threads_that_take_turns_are_not_a_pool() {
    let mut t = EventTrace::new(1, S);
    t.fork(0, 0, ROOT, 101);
    let mut on = ROOT;
    for turn in (1_000..S).step_by(400) {
        let other = if on == ROOT { 101 } else { ROOT };
        t.wake(turn, 0, other, on);
        t.sleep(turn + 300, 0, other);
        on = other;
    }
    let view = t.view();
    assert!(view.parallelism.runnable[2] > 0.7, "{:?}", view.parallelism);
    assert_eq!(view.workers, None);
}
