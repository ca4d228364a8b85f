//! The holder of each lock whose waiters look again from time to time, while others wait for it.
//!
//! The holder releases such a lock by a signal to its condition variable, which wakes a waiter: the
//! rule is that of the other locks. A waiter that looks at the lock after a time-out, and waits
//! again, has waited all the time.

use std::collections::HashMap;

use morecores_study::Nanos;

use super::futexes::{FutexId, awaited_futex, condition_id, timed_locks};
use super::holders::{LockHold, infer_holds};
use super::timeline::{State, ThreadId, Timeline, Wait, Wake};

/// Longest CPU time of a waiter between a time-out and its next wait if it found the lock taken. It
/// takes some microseconds, or tens of them with a cold cache.
const MAX_LOOK: Nanos = Nanos::from_micros(100);

/// All spans with a known holder of a lock with time-outs, by lock and then in the order of time.
/// The lock is the condition variable, as in [`condition_id`].
pub fn timed_lock_holds(timeline: &Timeline) -> Vec<LockHold> {
    let locks = timed_locks(timeline);
    let mut waits_by_lock: HashMap<FutexId, Vec<Wait>> = HashMap::new();
    for wait in &timeline.waits {
        let lock = awaited_futex(timeline, wait).map(condition_id).filter(|lock| locks.contains(lock));
        if let Some(lock) = lock {
            waits_by_lock.entry(lock).or_default().push(*wait);
        }
    }
    let holds = waits_by_lock.into_iter().flat_map(|(lock, waits)| {
        let joined = join_after_timeouts(timeline, waits);
        infer_holds(timeline, lock, &joined.iter().collect::<Vec<_>>())
    });
    let mut all: Vec<LockHold> = holds.collect();
    all.sort_unstable();
    all
}

/// Waits for one lock, in the order of their beginnings, without the looks at it after a time-out.
fn join_after_timeouts(timeline: &Timeline, waits: Vec<Wait>) -> Vec<Wait> {
    let mut joined: Vec<Wait> = Vec::with_capacity(waits.len());
    let mut last_of_thread: HashMap<ThreadId, usize> = HashMap::new();
    for wait in waits {
        let last = last_of_thread.get(&wait.thread).and_then(|index| joined.get_mut(*index));
        let looked = |last: &Wait| {
            last.wake.is_some_and(Wake::is_by_timer)
                && time_on_cpu(timeline, wait.thread, last.to, wait.from) <= MAX_LOOK
        };
        match last.filter(|last| looked(last)) {
            Some(last) => *last = Wait { from: last.from, ..wait },
            None => {
                last_of_thread.insert(wait.thread, joined.len());
                joined.push(wait);
            }
        }
    }
    joined
}

/// Time of a thread on any CPU within a span.
fn time_on_cpu(timeline: &Timeline, thread: ThreadId, from: Nanos, to: Nanos) -> Nanos {
    let segments = &timeline.thread(thread).segments;
    let first = segments.partition_point(|segment| segment.to <= from);
    let inside = segments[first..].iter().take_while(|segment| segment.from < to);
    let running = inside.filter(|segment| matches!(segment.state, State::Running { .. }));
    running.map(|segment| segment.to.min(to).since(segment.from.max(from))).sum()
}
