//! Tests of a lock held across waits: a replay holds it during the waits too.

#[path = "../../explain/tests/schedule_trace/mod.rs"]
mod schedule_trace;

use morecores_predict::demand::{Demands, add_locks, lock_uses};
use morecores_predict::replay::{Machine, replay};
use morecores_study::trace::{Call, Interrupt, Object, Waker};
use schedule_trace::{FUTEX, ROOT, ScheduleTrace, WAIT4};

const NANOSLEEP: Call = Call::Number(230);
const HOLDERS: [u32; 3] = [101, 102, 103];
/// Number of holds, in turn, and milliseconds per hold.
const HOLDS: u32 = 12;
const HOLD: f64 = 3.0;
/// Milliseconds of a holder's work before and after its sleep.
const MOMENT: f64 = 0.01;

/// Three threads on three CPUs. Each works for two milliseconds, then sleeps for three milliseconds
/// under a lock, four times.
fn lock_held_asleep_trace() -> ScheduleTrace {
    let mut s = ScheduleTrace::new(3, 41.0);
    let lock = Object::Futex(0x1000);
    s.run(0, ROOT, 0.0, 0.0).sleeps(WAIT4);
    for (cpu, tid) in (0..).zip(HOLDERS) {
        s.thread(0.0, ROOT, tid);
        if cpu > 0 {
            s.run(cpu, tid, 0.0, 2.0).sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        }
    }
    for hold in 0..HOLDS {
        let (cpu, from) = (hold % 3, 2.0 + HOLD * f64::from(hold));
        let (tid, next) = (HOLDERS[cpu as usize], HOLDERS[(cpu as usize + 1) % 3]);
        let start = if hold == 0 { 0.0 } else { from };
        s.run(cpu, tid, start, from + MOMENT).sleeps(NANOSLEEP);
        s.wake(from + HOLD - MOMENT, Waker::Interrupt(Interrupt::Timer), tid);
        if hold + 1 < HOLDS {
            s.wake_by_thread(from + HOLD, tid, next);
        }
        let run = s.run(cpu, tid, from + HOLD - MOMENT, from + HOLD + 2.0);
        if hold + 3 < HOLDS {
            run.sleeps(FUTEX).awaits(lock).futex_args(128, 2);
        } else {
            run.dies();
        }
    }
    s.wake_by_thread(40.0, 103, ROOT);
    s.run(0, ROOT, 40.0, 41.0).dies();
    s
}

#[test]
fn a_lock_held_across_a_timer_is_held_in_a_replay_too() {
    let script = lock_held_asleep_trace();
    let timeline = script.timeline();
    let demands = Demands::from_timeline(&timeline).expect("the main process is there");
    let uses = lock_uses(&timeline, &demands);
    assert_eq!(uses.len(), 1, "{uses:?}");
    let locked = add_locks(&demands.program, &uses, 2000);
    let on = |program, cpus| replay(program, &Machine::new(cpus)).elapsed.as_secs_f64() * 1e3;
    for cpus in [3, 16] {
        assert!((on(&locked, cpus) - 41.0).abs() < 1.0, "{} on {cpus}", on(&locked, cpus));
    }
    // The holds are 36 ms in total, one after the other.
    let held = locked.bounds().holds[0].as_secs_f64() * 1e3;
    assert!((held - HOLD * f64::from(HOLDS)).abs() < 1.0, "{held}");
    // Without the lock each thread takes its time alone: four times five milliseconds, and the
    // rest.
    let free = add_locks(&demands.program, &[], 2000);
    assert!((on(&free, 3) - 23.0).abs() < 1.0, "{}", on(&free, 3));
}

#[test]
fn wait_for_a_lock_held_asleep_counts_as_timer() {
    let components = lock_held_asleep_trace().account();
    let times = components.idle.times;
    let behind = times.behind_user_lock;
    assert!(behind.timer_s > 0.95 * times.user_lock && behind.disk_s + behind.peer_s == 0.0, "{times:?}");
}
