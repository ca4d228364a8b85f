//! Critical path, criticality and times of efficiencies of a run whose figures are known.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod event_trace;
#[path = "../../view/tests/studies/mod.rs"]
mod studies;

use event_trace::*;
use morecores_study::trace::{
    Comm, EventKind, Exec, Interrupt, PrevState, SampleMode, Tid, TraceSource, Waker,
};
use morecores_view::*;

fn part<'v>(view: &'v TraceView, command: &str, activity: PathActivity) -> &'v PathPart {
    let path = view.critical_path.as_ref().expect("a path");
    let found =
        path.parts.iter().find(|part| part.command.as_deref() == Some(command) && part.activity == activity);
    found.unwrap_or_else(|| panic!("{path:#?}"))
}

/// `main` and `cc1` take turns on the path. Without `cc1`, `main` still takes 8 s; without `main`,
/// `cc1` takes 5 s.
#[test]
fn the_path_goes_through_the_child() {
    let view = two_command_trace().view();
    let path = view.critical_path.as_ref().expect("a path");
    assert_eq!((path.parts.len(), path.handovers), (2, 2), "{path:#?}");
    let edges: Vec<(PathEdgeKind, u64)> = path.edges.iter().map(|edge| (edge.kind, edge.count)).collect();
    assert_eq!(edges, [(PathEdgeKind::Start, 1), (PathEdgeKind::Call, 1)], "{path:#?}");
    for (command, gain) in [("main", 5.0), ("cc1", 2.0)] {
        let part = part(&view, command, PathActivity::Running);
        assert_near(part.time_s, 5.0);
        assert_near(part.gain_bound_s.expect("a bound"), gain);
    }
}

/// 4 s alone, 3 s beside one other, 1 s alone; and 3 s beside one other, 2 s alone.
#[test]
fn criticality_halves_where_two_run() {
    let view = two_command_trace().view();
    let rows: Vec<(&str, f64, f64, Option<f64>)> = view
        .threads
        .iter()
        .map(|row| (row.command.as_str(), row.cpu_s, row.criticality_s, row.path_s))
        .collect();
    assert_eq!(rows, [("main", 8.0, 6.5, Some(5.0)), ("cc1", 5.0, 3.5, Some(5.0))]);
}

#[test]
fn useful_time_of_the_busiest_and_the_longest_chain() {
    let times = two_command_trace().view().efficiency_times.expect("times");
    assert_near(times.useful_s, 13.0);
    assert_near(times.longest_useful_s, 8.0);
    assert_near(times.ideal_s.expect("a chain"), 10.0);
}

/// A quarter of the samples of `cc1` spin: its useful time is 3.75 s.
#[test]
fn spinning_is_not_useful() {
    let mut trace = two_command_trace();
    for (index, spins) in [true, false, false, false].into_iter().enumerate() {
        trace.sample(4 * S + index as u64 * S, 1, 101, SampleMode::User, spins);
    }
    let times = trace.view().efficiency_times.expect("times");
    assert_near(times.useful_s, 11.75);
    assert_near(times.ideal_s.expect("a chain"), 8.75);
}

#[test]
fn perf_events_show_no_path() {
    let mut trace = two_command_trace();
    trace.header.facts.source = TraceSource::Perf;
    let view = trace.view();
    assert_eq!(view.critical_path, None);
    assert!(!view.threads.is_empty() && view.threads.iter().all(|row| row.path_s.is_none()));
    assert_eq!(view.efficiency_times.expect("times").ideal_s, None);
}

/// Many short threads have one row for their command.
#[test]
fn short_threads_have_one_row() {
    let mut trace = EventTrace::new(2, 1000 * S);
    for index in 0..200_u64 {
        let (child, from) = (200 + index as u32, (1 + 4 * index) * S);
        trace.fork(from, 0, ROOT, child);
        trace.wake(from, 0, child, ROOT);
        trace.sleep(from, 1, child);
        trace.exec(from, 1, child, "tiny", accounts(0, 0));
        trace.die(from + S, 1, 0);
    }
    trace.die(1000 * S, 0, 0);
    let view = trace.view();
    let [main, tiny] = view.threads.as_slice() else { panic!("{:#?}", view.threads) };
    assert_eq!((main.thread.as_deref(), main.threads, main.tid), (Some("main"), 1, Some(ROOT)));
    assert_eq!(
        (tiny.command.as_str(), tiny.thread.as_deref(), tiny.threads, tiny.tid),
        ("tiny", None, 200, None)
    );
    assert_near(tiny.criticality_s, 100.0);
}

/// `main` sleeps again and again until `cc1` has worked for 5 s: without `cc1` it would stop
/// sleeping, although no event says so.
#[test]
fn a_thread_that_polls_does_not_bound_the_gain() {
    let mut trace = EventTrace::new(2, 10 * S);
    trace.fork(S, 0, ROOT, 101);
    trace.wake(S, 0, 101, ROOT);
    trace.sleep(S, 1, 101);
    trace.exec(S, 1, 101, "cc1", accounts(0, 0));
    trace.die(6 * S, 1, 0);
    for second in 1..9 {
        trace.sleep(second * S + 1000, 0, 0);
        trace.wake_by((second + 1) * S, 0, ROOT, Waker::Interrupt(Interrupt::Timer));
        trace.sleep((second + 1) * S, 0, ROOT);
    }
    trace.die(10 * S, 0, 0);
    let view = trace.view();
    let path = view.critical_path.as_ref().expect("a path");
    let cc1 = path.parts.iter().find(|part| part.command.as_deref() == Some("cc1"));
    assert_eq!(cc1, None, "no event leads to it: {path:#?}");
    let sleeps = part(&view, "main", PathActivity::Timer);
    assert_near(sleeps.time_s, 8.0 - 0.008);
    // `main` and `cc1` work for 7 s in all; the sleeps beside `cc1` are no part of any bound.
    let main = part(&view, "main", PathActivity::Running);
    assert!(main.gain_bound_s.expect("a bound") > 5.0, "{path:#?}");
}

/// As above, but `cc1` waits for a disk for 5 s: without this wait too `main` would stop sleeping.
#[test]
fn a_thread_that_polls_for_a_disk_does_not_bound_the_gain() {
    let mut trace = EventTrace::new(2, 10 * S);
    trace.fork(S, 0, ROOT, 101);
    trace.wake(S, 0, 101, ROOT);
    trace.sleep(S, 1, 101);
    trace.exec(S, 1, 101, "cc1", accounts(0, 0));
    trace.leave(S + 500, 1, PrevState::Uninterruptible, 0);
    for second in 1..9 {
        trace.sleep(second * S + 1000, 0, 0);
        trace.wake_by((second + 1) * S, 0, ROOT, Waker::Interrupt(Interrupt::Timer));
        trace.sleep((second + 1) * S, 0, ROOT);
        if second == 5 {
            let disk = Waker::SoftIrqOfInterrupt { vector: 4, interrupt: Interrupt::Other };
            trace.wake_by(6 * S + 500, 1, 101, disk);
            trace.sleep(6 * S + 500, 1, 101);
            trace.die(6 * S + 600, 1, 0);
        }
    }
    trace.die(10 * S, 0, 0);
    let view = trace.view();
    // The sleeps beside the wait for the disk are no part of the bound.
    let main = part(&view, "main", PathActivity::Running);
    assert!(main.gain_bound_s.expect("a bound") > 5.0, "{:#?}", view.critical_path);
}

/// A second thread of the main process execs: it is the main process from then on.
#[test]
fn an_exec_by_a_second_thread_continues_the_path() {
    let mut trace = EventTrace::new(2, 10 * S);
    trace.thread(2 * S, 0, ROOT, 101, ROOT);
    trace.wake(2 * S, 0, 101, ROOT);
    trace.sleep(2 * S, 1, 101);
    trace.die(4 * S, 0, 0);
    let exec = Exec { tid: Tid(ROOT), was: Tid(101), name: Comm::new("java"), accounts: accounts(0, 0) };
    trace.push(4 * S, 1, EventKind::Exec(exec));
    trace.leave(10 * S, 1, PrevState::Dead, 0);
    let view = trace.view();
    let path = view.critical_path.as_ref().expect("a path");
    assert!(path.parts.iter().all(|part| part.activity == PathActivity::Running), "{path:#?}");
    let java = part(&view, "java", PathActivity::Running);
    assert_near(java.time_s, 6.0);
}
