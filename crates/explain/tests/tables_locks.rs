//! Waits for kernel locks of a traced run, by lock and caller and as a ratio, on traces whose truth
//! is set event by event.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod event_trace;
#[path = "../../view/tests/studies/mod.rs"]
mod studies;

use event_trace::{EventTrace, PEER, ROOT, S, assert_near, command};
use morecores_study::trace::*;

/// One second of waiting for a mutex: 0.25 s spinning, 0.5 s asleep, and 0.25 s on the way to a
/// CPU, which is no wait.
#[test]
fn waiting_is_spinning_and_sleeping_until_the_wake() {
    let mut t = EventTrace::new(1, 4 * S);
    t.sleep(S, 0, PEER);
    t.wake(S + S / 2, 0, ROOT, PEER);
    t.sleep(S + 3 * S / 4, 0, ROOT);
    t.contended(S + 3 * S / 4, 0, ROOT, 7, S).flags = LockFlags(LockFlags::MUTEX);
    let view = t.view();
    let [lock] = &view.locks[..] else { panic!("{:?}", view.locks) };
    assert_eq!((&*lock.kind, &*lock.symbol, &lock.caller, lock.count), ("mutex", "unknown", &None, 1));
    assert_near(lock.wait_s, 0.75);
    assert_near(lock.spin_s, 0.25);
    assert_near(lock.max_wait_s, 0.75);
    // CPU time: the first second, a quarter of it spinning, and the last 2.25 s.
    assert_near(command(&view, "main").cpu_s, 3.25);
    assert_near(view.waiting_ratio.unwrap(), 0.75 / 3.75);
    assert_eq!(view.commands[0].waiting_ratio, view.waiting_ratio);
}

#[test]
fn nested_waits_count_once_in_the_ratio_and_each_in_the_table() {
    let mut t = EventTrace::new(1, 4 * S);
    t.contended(2 * S, 0, ROOT, 8, S / 2);
    t.contended(2 * S + S / 2, 0, ROOT, 7, S + S / 2);
    t.contended(3 * S, 0, ROOT, 9, S / 4);
    let view = t.view();
    assert_near(view.waiting_ratio.unwrap(), (1.5 + 0.25) / 4.0);
    assert_eq!(view.locks.iter().map(|lock| lock.count).sum::<u64>(), 3);
    assert_near(view.locks.iter().map(|lock| lock.wait_s).sum(), 2.25);
}

#[test]
fn waits_of_others_are_not_the_commands() {
    let mut t = EventTrace::new(1, 4 * S);
    t.sleep(S, 0, PEER);
    t.contended(2 * S, 0, PEER, 7, S / 2);
    let view = t.view();
    assert_eq!(view.locks, []);
    assert_eq!(view.waiting_ratio, Some(0.0));
    assert!(view.commands.iter().all(|command| command.name != "daemon"));
}

#[test]
fn a_ratio_that_was_not_traced_is_null() {
    let mut t = EventTrace::new(1, S);
    t.header.facts.stack_share = None;
    let view = t.view();
    assert_eq!((view.waiting_ratio, view.commands[0].waiting_ratio), (None, None));
    let c = view.components;
    assert_eq!((c.kernel_lock_spin_s, c.idle_kernel_lock_s), (None, None));
    let looked = EventTrace::new(1, S).view().components;
    assert_eq!((looked.kernel_lock_spin_s, looked.idle_kernel_lock_s), (Some(0.0), Some(0.0)));
}

/// For the lock at 1, `alpha` had three sampled short waits and `beta` one; of 40 waits without a
/// stack, 30 and 10 are theirs. The lock at 2 was never sampled, and too few locks of its kind
/// were. Long waits have a row by their stacks alone.
#[test]
fn short_waits_without_a_stack_go_to_the_callers_of_their_lock() {
    let mut t = EventTrace::new(1, S);
    t.stack(
        1,
        &["__traceiter_contention_end", "native_queued_spin_lock_slowpath", "_raw_spin_lock", "alpha"],
    );
    t.stack(2, &["native_queued_spin_lock_slowpath", "_raw_spin_lock", "beta"]);
    let mut us = 1_000;
    let mut wait = |t: &mut EventTrace, lock: u64, waited: u64, stack: Option<u32>| {
        us += 1_000;
        t.contended(us, 0, ROOT, lock, waited).stack = stack;
    };
    for stack in [1, 1, 1, 2] {
        wait(&mut t, 1, 2, Some(stack));
    }
    wait(&mut t, 1, 500, Some(2));
    for _ in 0..40 {
        wait(&mut t, 1, 2, None);
    }
    for _ in 0..5 {
        wait(&mut t, 2, 4, None);
    }
    let view = t.view();
    let rows: Vec<(&str, Option<&str>, u64)> =
        view.locks.iter().map(|l| (&*l.symbol, l.caller.as_deref(), l.count)).collect();
    assert_eq!(
        rows,
        [("_raw_spin_lock", Some("beta"), 12), ("_raw_spin_lock", Some("alpha"), 33), ("unknown", None, 5)]
    );
    assert_near(view.locks[0].wait_s, 522e-6);
    assert_near(view.locks[1].wait_s, 66e-6);
    assert_near(view.locks[2].wait_s, 20e-6);
    assert_near(view.locks[0].max_wait_s, 500e-6);
    assert_near(view.locks[1].max_wait_s, 2e-6);
    assert!(view.locks.iter().all(|lock| lock.wait_s == lock.spin_s && lock.kind == "spinlock"));
}

/// Many locks with one wait each, such as directory entries: the sampled waits stand for the others
/// if there are at least ten.
#[test]
fn short_waits_of_locks_never_sampled_go_to_the_callers_of_their_kind() {
    let storm = |sampled: u64| {
        let mut t = EventTrace::new(1, S);
        t.stack(1, &["_raw_spin_lock", "dput"]);
        t.stack(2, &["_raw_spin_lock", "d_alloc"]);
        for lock in 0..sampled * 10 {
            let stack = (lock % 10 == 0).then_some(if lock % 20 == 0 { 1 } else { 2 });
            t.contended(1_000 + lock * 10, 0, ROOT, lock, 1).stack = stack;
        }
        let view = t.view();
        let mut rows: Vec<(Option<String>, u64)> =
            view.locks.iter().map(|lock| (lock.caller.clone(), lock.count)).collect();
        rows.sort();
        rows
    };
    assert_eq!(storm(10), [(Some("d_alloc".into()), 50), (Some("dput".into()), 50)]);
    assert_eq!(storm(8), [(None, 72), (Some("d_alloc".into()), 4), (Some("dput".into()), 4)]);
}

#[test]
fn known_locks_have_their_own_name() {
    let mut t = EventTrace::new(1, S);
    t.stack(1, &["rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"]);
    let wait = t.contended(5_000, 0, ROOT, 3, 100);
    wait.flags = LockFlags(LockFlags::WRITE);
    wait.known = KnownLock::MmapLock;
    wait.stack = Some(1);
    t.contended(6_000, 0, ROOT, 4, 1).known = KnownLock::RunQueue;
    let view = t.view();
    let rows: Vec<(&str, &str, Option<&str>)> =
        view.locks.iter().map(|l| (&*l.kind, &*l.symbol, l.caller.as_deref())).collect();
    assert_eq!(rows, [("rwsem", "mmap_lock", Some("vm_mmap_pgoff")), ("spinlock", "rq->__lock", None)]);
}
