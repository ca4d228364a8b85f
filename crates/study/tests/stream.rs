//! Tests that the reader returns the events that were written, in the documented order and from the
//! documented bytes.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod support;

use std::collections::HashSet;
use std::mem::discriminant;

use morecores_study::trace::*;
use morecores_study::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use support::*;

proptest! {
    #[test]
    fn every_event_is_read_back(frames in prop::collection::vec(
        (0_u32..3).prop_flat_map(|cpu| (Just(cpu), events(cpu))), 0..12,
    )) {
        let decoded = read_events(stream(&frames).as_slice()).unwrap();
        prop_assert!(decoded.is_complete());
        prop_assert_eq!(decoded.unknown_events, 0);
        // The order is by time, then by CPU, then as written: a stable sort of all CPUs' events in
        // sequence.
        let mut expected: Vec<Event> = Vec::new();
        for cpu in 0..3 {
            expected.extend(frames.iter().filter(|frame| frame.0 == cpu).flat_map(|frame| frame.1.clone()));
        }
        expected.sort_by_key(|event| event.at);
        prop_assert_eq!(decoded.events, expected);
    }

    #[test]
    fn frames_are_read_in_the_written_order(events in events(8191)) {
        let written = stream(&[(8191, events.clone())]);
        let frames: Result<Vec<EventFrame>, _> = StreamReader::new(written.as_slice()).unwrap().collect();
        let read: Vec<Event> = frames.unwrap().into_iter().flat_map(|frame| frame.events).collect();
        prop_assert_eq!(read, events);
    }
}

/// Without this test, a kind missing from the strategy would count as tested.
#[test]
fn the_arbitrary_events_are_of_every_kind() {
    let mut runner = TestRunner::deterministic();
    let seen: HashSet<_> =
        (0..2000).map(|_| discriminant(&kind().new_tree(&mut runner).unwrap().current())).collect();
    assert_eq!(seen.len(), 18);
}

#[test]
fn more_events_than_a_frame_holds_become_several() {
    let events = plain(0, 7, 150_000);
    let written = stream(&[(0, events.clone())]);
    assert_eq!(frame_starts(&written).len(), 1 + 3 + 1);
    assert_eq!(read_events(written.as_slice()).unwrap().events, events);
}

#[test]
fn large_sets_of_cpus_become_several_frames_too() {
    let all: CpuSet = (0..8192).map(CpuId).collect();
    let scattered: CpuSet = (0..4096).map(|half| CpuId(2 * half)).collect();
    for allowed in [all, scattered] {
        let kind = EventKind::Confined { tid: Tid(5), allowed };
        let events: Vec<Event> =
            (0..300).map(|at| Event { at: Nanos(at), cpu: CpuId(0), kind: kind.clone() }).collect();
        let written = stream(&[(0, events.clone())]);
        assert!(frame_starts(&written).len() > 1 + 1 + 1);
        let decoded = read_events(written.as_slice()).unwrap();
        assert!(decoded.is_complete() && decoded.events == events);
    }
}

#[test]
fn an_impossible_cpu_number_is_refused() {
    let mut writer = StreamWriter::new(Vec::new()).unwrap();
    let kind = EventKind::Confined { tid: Tid(5), allowed: [CpuId(9000)].into_iter().collect() };
    let events = [Event { at: Nanos(1), cpu: CpuId(0), kind }];
    for error in [writer.frame(CpuId(0), &events), writer.frame(CpuId(8192), &plain(8192, 1, 1))] {
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
}

#[test]
fn streams_stay_small() {
    // Two threads wake each other through a pipe, one event per microsecond.
    let events: Vec<Event> = (0..20_000_u32)
        .map(|index| {
            let (me, peer) = (Tid(7301 + index / 2 % 2), Tid(7302 - index / 2 % 2));
            let kind = if index % 2 == 0 {
                EventKind::Waking(Waking { tid: peer, by: Waker::Thread(me), io_wait: false })
            } else {
                EventKind::Switch(Switch {
                    prev: me,
                    prev_state: PrevState::Asleep,
                    call: Call::Number(0),
                    prev_runtime: Nanos(1_000_000_000 + u64::from(index) * 1000),
                    interrupts: Nanos(0),
                    next: peer,
                })
            };
            Event { at: Nanos(1_000_000 + u64::from(index * 1013 + index % 17)), cpu: CpuId(0), kind }
        })
        .collect();
    let bytes = stream(&[(0, events)]).len();
    assert!(bytes < 3 * 20_000, "{bytes} bytes");
}

/// Tests the example of docs/format.md, byte by byte.
#[test]
fn the_documented_bytes_are_written_and_read() {
    let raw = [
        0x40, 0x01, 0x63, 0x01,
        0x51, // switch after 0 ns from the running thread, asleep in call 4, to 0 + 19
        0x41, 0x42, 0x1f, 0x07, // waking of 19 - 1, 2,000 ns later, by the running thread
        0x8c, 0x03, 0x0f, // 7 events lost, 1 ns earlier
    ];
    let switch = Switch {
        prev: Tid::IDLE,
        prev_state: PrevState::Asleep,
        call: Call::Number(4),
        prev_runtime: Nanos(0),
        interrupts: Nanos(0),
        next: Tid(19),
    };
    let waking = Waking { tid: Tid(18), by: Waker::Thread(Tid(19)), io_wait: false };
    let events = [
        (5000, EventKind::Switch(switch)),
        (7000, EventKind::Waking(waking)),
        (6999, EventKind::Lost { events: 7 }),
    ]
    .map(|(at, kind)| Event { at: Nanos(at), cpu: CpuId(1), kind });

    let header = RawFrame { events: 3, cpu: 1, time: 5000, ..Default::default() };
    let end = RawFrame { kind: 1, number: 1, time: 7000, ..Default::default() };
    let documented = [file_header(), frame(header, &raw), frame(end, &[0x03, 0x03, 0x07])].concat();
    assert_eq!(stream(&[(1, events.to_vec())]), documented);
    let decoded = read_events(documented.as_slice()).unwrap();
    assert!(decoded.is_complete());
    assert_eq!(decoded.events, [&events[0], &events[2], &events[1]].map(Event::clone));
}

#[test]
fn kinds_of_a_later_version_are_skipped_and_counted() {
    let known = [0x0c, 0x03, 0x05]; // two events lost, 1 ns later
    let unknown = [0x1f, 0x03, 0x07, 0xaa, 0xbb, 0xcc]; // kind 31, 1 ns later, three bytes
    let raw = [known.as_slice(), &unknown, &known].concat();
    let header = RawFrame { events: 3, time: 10, ..Default::default() };
    let later_frame = frame_of(RawFrame { kind: 7, number: 1, ..Default::default() }, 99, b"anything");
    let end = frame(RawFrame { kind: 1, number: 2, ..Default::default() }, &[0x03, 0x01, 0x07, 0xee]);
    let stream = [file_header(), frame(header, &raw), later_frame, end].concat();
    let decoded = read_events(stream.as_slice()).unwrap();
    assert_eq!(decoded.unknown_events, 1);
    assert!(decoded.is_complete(), "{decoded:?}");
    assert_eq!(decoded.events.iter().map(|event| event.at.0).collect::<Vec<_>>(), [11, 13]);
}

#[test]
fn a_later_version_and_other_files_are_refused() {
    let mut later = stream(&[]);
    later[8] = 2;
    let error = read_events(later.as_slice()).unwrap_err();
    assert!(matches!(error, StreamError::NewerVersion { found: 2 }));
    assert!(error.to_string().contains("use a newer"), "{error}");
    for other in [b"{\"schema\": 1}".as_slice(), b"MCEVENTs\x01\0\0\0", b"MCEVENTS\0\0\0\0", b"x"] {
        assert!(matches!(read_events(other), Err(StreamError::NotAStream)), "{other:?}");
    }
}

#[test]
fn a_failed_read_is_reported() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::Other.into())
        }
    }
    let whole = stream(&[(0, plain(0, 1, 10))]);
    let input = std::io::Read::chain(&whole[..100], Failing);
    assert!(matches!(read_events(input), Err(StreamError::Io(_))));
}
