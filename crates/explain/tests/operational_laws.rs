//! Checks of a trace against itself: a whole trace violates no law, and a damaged one does.

mod schedule_trace;

use std::path::Path;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_study::trace::{
    Decoded, Event, EventKind, Object, TraceHeader, read_trace_events, read_trace_headers, trace_name,
};
use morecores_view::{LawViolation, OperationalLaw};
use schedule_trace::*;

/// Two threads take turns for 400 ms: each waits 1 ms for the other's wake-up, is ready for 0.5 ms
/// and runs for 0.5 ms.
fn turns() -> ScheduleTrace {
    let mut s = ScheduleTrace::new(2, 402.0);
    s.thread(0.0, ROOT, 101);
    s.run(1, 101, 0.0, 1.0).sleeps(FUTEX).awaits(Object::Futex(0x1000));
    s.run(0, ROOT, 0.0, 0.5).sleeps(FUTEX).awaits(Object::Futex(0x1000));
    for turn in 0..200 {
        let from = 1.0 + 2.0 * f64::from(turn);
        s.wake_by_thread(from, 101, ROOT);
        s.run(0, ROOT, from + 0.5, from + 1.0).sleeps(FUTEX).awaits(Object::Futex(0x1000));
        s.wake_by_thread(from + 1.0, ROOT, 101);
        s.run(1, 101, from + 1.5, from + 2.0).sleeps(FUTEX).awaits(Object::Futex(0x1000));
    }
    s.wake_by_thread(401.0, 101, ROOT);
    s.run(0, ROOT, 401.5, 402.0).dies();
    s
}

fn violations(header: &TraceHeader, events: Vec<Event>) -> Vec<LawViolation> {
    let decoded = Decoded { events, damaged_frames: 0, lost_events: 0, unknown_events: 0, cut_off: false };
    trace_view(&DecodedTrace::new(header, decoded), "x86_64").law_violations
}

fn laws(violations: &[LawViolation]) -> Vec<OperationalLaw> {
    violations.iter().map(|violation| violation.law).collect()
}

#[test]
fn a_whole_trace_violates_no_law() {
    let s = turns();
    assert_eq!(violations(&s.header, s.events()), []);
}

#[test]
fn lost_wake_ups_violate_littles_law() {
    let s = turns();
    let mut events = s.events();
    let mut wakings = 0;
    events.retain(|event| {
        wakings += u32::from(matches!(event.kind, EventKind::Waking(_)));
        !matches!(event.kind, EventKind::Waking(_)) || wakings % 3 > 0
    });
    let found = violations(&s.header, events);
    assert_eq!(laws(&found), [OperationalLaw::RunQueue, OperationalLaw::FutexWaits]);
    // A third of the dispatches has no ready time, and a third of the waits no wake-up.
    let ratio = |violation: &LawViolation| violation.counted_s / violation.integrated_s;
    assert!((1.4..1.6).contains(&ratio(&found[0])), "{found:?}");
    assert!((0.6..0.7).contains(&ratio(&found[1])), "{found:?}");
}

#[test]
fn lost_switches_violate_the_utilisation_law() {
    let s = turns();
    let mut events = s.events();
    // Both switches of every second turn of thread 101 are lost.
    let mut switches = 0;
    events.retain(|event| {
        let EventKind::Switch(switch) = event.kind else { return true };
        let is_other = switch.prev.0 == 101 || switch.next.0 == 101;
        switches += u32::from(is_other);
        !is_other || matches!(switches % 4, 1 | 2)
    });
    assert!(laws(&violations(&s.header, events)).contains(&OperationalLaw::CpuTime));
}

#[test]
fn recorded_traces_violate_no_law() {
    let mut read = 0;
    for program in ["pigz", "raytrace", "zstd"] {
        let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(program);
        for header in read_trace_headers(&study).expect("headers").whole {
            let decoded = read_trace_events(&study, &header).expect("events");
            assert_eq!(violations(&header, decoded.events), [], "{program}: {}", trace_name(&header));
            read += 1;
        }
    }
    assert!(read >= 3);
}
