//! Records in the kernel's layout (include/uapi/linux/perf_event.h, `enum perf_event_type`), and
//! the resulting events.

use super::super::record::SAMPLE_ID_BYTES;
use super::*;

const CALLER: Caller = Caller { process: Tid(100), thread: Tid(101) };

/// A record by thread `tid` of `process` at `time`.
fn record(kind: u32, flags: u32, body: &[u8], (process, tid): (u32, u32), time: u64) -> Vec<u8> {
    let length = 8 + body.len() + SAMPLE_ID_BYTES;
    let mut bytes = kind.to_ne_bytes().to_vec();
    // Flags and length are 16 bits each.
    bytes.extend((flags as u16).to_ne_bytes());
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(body);
    bytes.extend(numbers(&[process, tid]));
    bytes.extend(time.to_ne_bytes());
    assert_eq!((bytes.len(), length % 8), (length, 0));
    bytes
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn switch_in(tid: u32, time: u64) -> Vec<u8> {
    record(sys::PERF_RECORD_SWITCH, 0, &[], (200, tid), time)
}

fn switch_out(tid: u32, more: u32, time: u64) -> Vec<u8> {
    record(sys::PERF_RECORD_SWITCH, sys::PERF_RECORD_MISC_SWITCH_OUT | more, &[], (200, tid), time)
}

/// A fork or exit record: its subject's process and thread, those of its author, and its time once
/// more.
fn task(kind: u32, about: (u32, u32), by: (u32, u32), time: u64) -> Vec<u8> {
    let body = [numbers(&[about.0, by.0, about.1, by.1]), time.to_ne_bytes().to_vec()].concat();
    record(kind, 0, &body, by, time)
}

fn comm(flags: u32, (process, tid): (u32, u32), name: &[u8; 8], time: u64) -> Vec<u8> {
    let body = [numbers(&[process, tid]), name.to_vec()].concat();
    record(sys::PERF_RECORD_COMM, flags, &body, (process, tid), time)
}

fn lost(count: u64, time: u64) -> Vec<u8> {
    let body = [9_u64.to_ne_bytes(), count.to_ne_bytes()].concat();
    record(sys::PERF_RECORD_LOST, 0, &body, (200, 200), time)
}

fn decoded(records: &[Vec<u8>]) -> (Vec<(u64, EventKind)>, Decoder) {
    let mut decoder = Decoder::new(CpuId(3), CALLER);
    let mut events = Vec::new();
    for record in records {
        decoder.decode(record, &mut events);
    }
    assert!(events.iter().all(|event| event.cpu == CpuId(3)));
    (events.into_iter().map(|event| (event.at.0, event.kind)).collect(), decoder)
}

#[test]
fn each_side_of_a_switch_is_a_separate_event() {
    let preempted = sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    let (events, _) =
        decoded(&[switch_in(7, 10), switch_out(7, preempted, 20), switch_in(8, 22), switch_out(8, 0, 30)]);
    let expected = [
        (10, switch_event(Tid::UNSEEN, PrevState::Unknown, Tid(7))),
        (20, switch_event(Tid(7), PrevState::Preempted, Tid::UNSEEN)),
        (22, switch_event(Tid::UNSEEN, PrevState::Unknown, Tid(8))),
        (30, switch_event(Tid(8), PrevState::Unknown, Tid::UNSEEN)),
    ];
    assert_eq!(events, expected);
}

#[test]
fn the_root_is_the_first_child_and_the_caller_itself_is_left_out() {
    let (own, child) = ((100, 101), (200, 200));
    let (events, decoder) = decoded(&[
        record(sys::PERF_RECORD_SWITCH, 0, &[], own, 5),
        task(sys::PERF_RECORD_FORK, (100, 150), own, 6),
        task(sys::PERF_RECORD_FORK, child, own, 10),
        task(sys::PERF_RECORD_FORK, (300, 300), own, 11),
        task(sys::PERF_RECORD_FORK, (200, 201), child, 12),
        comm(0, own, b"mine\0\0\0\0", 13),
        record(sys::PERF_RECORD_SWITCH, sys::PERF_RECORD_MISC_SWITCH_OUT, &[], own, 14),
    ]);
    let fork = |parent, child, process| {
        EventKind::Fork(Fork { parent: Tid(parent), child: Tid(child), process: Tid(process) })
    };
    assert_eq!(events, [(10, fork(101, 200, 200)), (11, fork(101, 300, 300)), (12, fork(200, 201, 200))]);
    assert_eq!(decoder.root, Some((Nanos(10), Tid(200))));
}

#[test]
fn an_exit_ends_with_a_switch_and_is_reported_once() {
    let exit = task(sys::PERF_RECORD_EXIT, (200, 7), (200, 7), 20);
    let mut expected = vec![
        (10, switch_event(Tid::UNSEEN, PrevState::Unknown, Tid(7))),
        (20, EventKind::Exit(ThreadExit { tid: Tid(7), accounts: Accounts::default() })),
        (20, switch_event(Tid(7), PrevState::Dead, Tid::UNSEEN)),
    ];
    let (events, _) = decoded(&[switch_in(7, 10), exit.clone(), switch_out(7, 0, 25)]);
    assert_eq!(events, expected);
    // The number is reused.
    let (events, _) = decoded(&[switch_in(7, 10), exit, switch_in(7, 30), switch_out(7, 0, 35)]);
    expected.push((30, switch_event(Tid::UNSEEN, PrevState::Unknown, Tid(7))));
    expected.push((35, switch_event(Tid(7), PrevState::Unknown, Tid::UNSEEN)));
    assert_eq!(events, expected);
}

#[test]
fn an_exec_by_another_thread_names_that_thread() {
    let exec = sys::PERF_RECORD_MISC_COMM_EXEC;
    let (events, _) = decoded(&[
        switch_in(205, 10),
        comm(exec, (200, 200), b"second\0\0", 11),
        comm(exec, (200, 200), b"third\0\0\0", 12),
        comm(0, (200, 200), b"renamed\0", 13),
    ]);
    let program = |was, name| {
        EventKind::Exec(Exec {
            tid: Tid(200),
            was: Tid(was),
            name: Comm::new(name),
            accounts: Accounts::default(),
        })
    };
    let renamed = EventKind::Rename { tid: Tid(200), name: Comm::new("renamed") };
    assert_eq!(events[1..], [(11, program(205, "second")), (12, program(200, "third")), (13, renamed)]);
}

#[test]
fn a_thread_may_leave_its_cpu_between_its_new_number_and_its_exec() {
    let preempted = sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
    let exec = comm(sys::PERF_RECORD_MISC_COMM_EXEC, (200, 200), b"second\0\0", 40);
    let (events, _) =
        decoded(&[switch_in(205, 10), switch_out(200, preempted, 20), switch_in(200, 30), exec.clone()]);
    let was = |kind: &EventKind| match kind {
        EventKind::Exec(exec) => exec.was,
        other => panic!("{other:?}"),
    };
    assert_eq!(was(&events[3].1), Tid(205));
    assert_eq!(events[1].1, switch_event(Tid(200), PrevState::Preempted, Tid::UNSEEN));
    // After a loss, the thread may have been any other one.
    let (events, _) =
        decoded(&[switch_in(205, 10), lost(3, 15), switch_out(200, 0, 20), switch_in(200, 30), exec]);
    assert_eq!(was(&events[4].1), Tid(200));
}

#[test]
fn every_loss_is_reported_once() {
    let (events, mut decoder) = decoded(&[switch_in(7, 10), lost(5, 20), switch_in(8, 21)]);
    assert_eq!(events[1], (20, EventKind::Lost { events: 5 }));
    let mut rest = Vec::new();
    decoder.report_total_loss(5, Nanos(30), &mut rest);
    assert_eq!(rest, []);
    decoder.report_total_loss(9, Nanos(30), &mut rest);
    assert_eq!((rest.len(), &rest[0].kind, rest[0].at), (1, &EventKind::Lost { events: 4 }, Nanos(30)));
    assert_eq!(decoder.lost, 9);
}

#[test]
fn time_never_steps_back_and_foreign_threads_are_not_the_idle_loop() {
    let (events, _) = decoded(&[switch_in(7, 10), switch_out(7, 0, 9), switch_in(0, 12)]);
    assert_eq!(events[1].0, 10);
    assert_eq!(events[2].1, switch_event(Tid::UNSEEN, PrevState::Unknown, Tid::UNSEEN));
}

#[test]
fn truncated_and_unknown_records_are_skipped() {
    let fork = task(sys::PERF_RECORD_FORK, (200, 200), (100, 101), 10);
    for length in 0..fork.len() {
        // The end of a truncated record is read as its end fields; only the whole record has a
        // parent.
        let (events, decoder) = decoded(&[fork[..length].to_vec()]);
        assert!(events.len() <= usize::from(length >= 8 + 16 + SAMPLE_ID_BYTES), "{length}: {events:?}");
        assert!(decoder.root.is_none() || length >= 8 + 16 + SAMPLE_ID_BYTES);
    }
    let throttled = record(sys::PERF_RECORD_THROTTLE, 0, &[0; 24], (200, 200), 10);
    assert_eq!(decoded(&[throttled]).0, []);
}
