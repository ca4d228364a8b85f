//! Tests of polling: a thread sleeps and checks repeatedly until others are done. On more CPUs it
//! checks less often.

#[path = "../../explain/tests/schedule_trace/mod.rs"]
mod schedule_trace;

use morecores_predict::demand::Demands;
use morecores_predict::replay::{Machine, replay};
use morecores_study::trace::{Call, Interrupt, Waker};
use schedule_trace::{ROOT, ScheduleTrace};

const NANOSLEEP: Call = Call::Number(35);

/// Main thread that polls every 10 ms while two others work for 50 ms each on one CPU. If the
/// others do nothing, the main thread only sleeps.
fn polling_trace(others_work: bool) -> ScheduleTrace {
    let mut t = ScheduleTrace::new(1, 110.0);
    t.thread(0.0, ROOT, 101);
    t.thread(0.0, ROOT, 102);
    t.run(0, ROOT, 0.0, 1.0).sleeps(NANOSLEEP);
    let mut turn = [101, 102].into_iter().cycle();
    for look in 0..10_u32 {
        let begin = 1.0 + 10.0 * f64::from(look);
        if others_work {
            // The last turns of both threads end before the last check.
            let tid = turn.next().unwrap_or(101);
            let run = t.run(0, tid, begin + 0.1, begin + 9.0);
            if look < 8 {
                run.leaves(morecores_study::trace::PrevState::Preempted);
            } else {
                run.dies();
            }
        }
        t.wake(begin + 10.0, Waker::Interrupt(Interrupt::Timer), ROOT);
        let run = t.run(0, ROOT, begin + 10.0, begin + 10.1);
        if look < 9 {
            run.sleeps(NANOSLEEP);
        }
    }
    t.run(0, ROOT, 101.1, 110.0).dies();
    t
}

fn replayed_ms(script: &ScheduleTrace, cpus: u32) -> f64 {
    let demands = Demands::from_timeline(&script.timeline())
        .unwrap_or_else(|| unreachable!("the main process is there"));
    replay(&demands.program, &Machine::new(cpus)).elapsed.as_secs_f64() * 1e3
}

#[test]
fn polling_thread_waits_for_the_watched_threads() {
    let watching = polling_trace(true);
    // The work is 89 ms in a row, without the idle millisecond between turns. The main thread sees
    // its end one check earlier than in the trace.
    assert!((replayed_ms(&watching, 1) - 100.0).abs() < 1.0, "{}", replayed_ms(&watching, 1));
    // The others end after 45 ms at the latest. The main thread checks every 10 ms from 1 ms on,
    // and works for 9 ms at the end.
    assert!((replayed_ms(&watching, 2) - 60.0).abs() < 1.0, "{}", replayed_ms(&watching, 2));
}

#[test]
fn plain_sleep_is_as_long_on_any_machine() {
    let sleeping = polling_trace(false);
    for cpus in [1, 2] {
        assert!((replayed_ms(&sleeping, cpus) - 110.0).abs() < 1.0, "{}", replayed_ms(&sleeping, cpus));
    }
}

/// The main thread waits for a signal of either of two others, with a repeated timeout of 10 ms;
/// the others work for 24 ms each.
#[test]
fn renewed_timed_wait_is_one_wait() {
    let mut t = ScheduleTrace::new(1, 50.0);
    t.thread(0.0, ROOT, 101);
    t.thread(0.0, ROOT, 102);
    let futex = |run: &mut schedule_trace::CpuRun, address| {
        run.sleeps(schedule_trace::FUTEX).awaits(morecores_study::trace::Object::Futex(address));
    };
    futex(t.run(0, ROOT, 0.0, 1.0), 0x1000);
    t.run(0, 101, 1.0, 11.0).leaves(morecores_study::trace::PrevState::Preempted);
    t.wake(11.0, Waker::Interrupt(Interrupt::Timer), ROOT);
    // The second wait uses the other futex word of the same condition variable.
    futex(t.run(0, ROOT, 11.0, 11.1), 0x1004);
    t.run(0, 101, 11.1, 25.1).leaves(morecores_study::trace::PrevState::Preempted);
    t.run(0, 102, 25.1, 49.0).dies();
    t.wake_by_thread(48.9, 102, ROOT);
    t.run(0, ROOT, 49.0, 50.0).dies();
    // The replay has no trace of the 10 ms timeout: the main thread waits for the second thread's
    // 24 ms.
    assert!((replayed_ms(&t, 2) - 26.0).abs() < 1.0, "{}", replayed_ms(&t, 2));
}

/// The main thread sleeps for longer and longer, as GNU parallel does, until the end of either of
/// two others cuts its sleep short. The others work for 24 ms each.
#[test]
fn sleep_that_another_thread_ends_waits_for_that_thread() {
    let mut t = ScheduleTrace::new(1, 50.0);
    t.thread(0.0, ROOT, 101);
    t.thread(0.0, ROOT, 102);
    t.run(0, ROOT, 0.0, 1.0).sleeps(NANOSLEEP);
    t.run(0, 101, 1.0, 11.0).leaves(morecores_study::trace::PrevState::Preempted);
    t.wake(11.0, Waker::Interrupt(Interrupt::Timer), ROOT);
    t.run(0, ROOT, 11.0, 11.1).sleeps(NANOSLEEP);
    t.run(0, 101, 11.1, 25.1).dies();
    t.run(0, 102, 25.1, 31.1).leaves(morecores_study::trace::PrevState::Preempted);
    t.wake(31.1, Waker::Interrupt(Interrupt::Timer), ROOT);
    t.run(0, ROOT, 31.1, 31.2).sleeps(NANOSLEEP);
    t.run(0, 102, 31.2, 49.0).dies();
    t.wake_by_thread(48.9, 102, ROOT);
    t.run(0, ROOT, 49.0, 50.0).dies();
    assert!((replayed_ms(&t, 1) - 50.0).abs() < 1.0, "{}", replayed_ms(&t, 1));
    assert!((replayed_ms(&t, 2) - 26.0).abs() < 1.0, "{}", replayed_ms(&t, 2));
}
