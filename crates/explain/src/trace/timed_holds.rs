//! The holder of each lock whose waiters look again from time to time, while others wait for it.
//!
//! The holder releases such a lock by a signal to its condition variable, which wakes a waiter. A
//! waiter that looks at the lock after a time-out, and waits again, has waited all the time. One
//! that does not wait again has taken the lock, and the trace shows no release: the holder is the
//! thread that took it before, or the only thread that uses the lock and does not wait for it.

use std::collections::{BTreeSet, HashMap};

use morecores_study::Nanos;

use super::futexes::{
    FutexId, WakeUp, awaited_futex, condition_id, contended_spans, first_run, next_instant, timed_locks,
    wait_starts,
};
use super::holders::LockHold;
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
    let holds = waits_by_lock
        .into_iter()
        .flat_map(|(lock, waits)| infer_holds(timeline, lock, &join_after_timeouts(timeline, waits)));
    let mut all: Vec<LockHold> = holds.collect();
    all.sort_unstable();
    all
}

/// End of a wait with the lock: a thread woke the waiter, or the waiter took the lock after a
/// time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Handover {
    at: Nanos,
    taker: ThreadId,
    /// Thread that released the lock; `None` after a time-out.
    by: Option<ThreadId>,
}

impl Handover {
    fn from_wait(wait: &Wait) -> Option<Self> {
        let by = WakeUp::from_wait(wait).map(|wake| wake.by);
        let at = wait.wake?.at;
        (by.is_some() || wait.wake.is_some_and(Wake::is_by_timer)).then_some(Self {
            at,
            taker: wait.thread,
            by,
        })
    }
}

fn infer_holds(timeline: &Timeline, lock: FutexId, waits: &[Wait]) -> Vec<LockHold> {
    let waits: Vec<&Wait> = waits.iter().collect();
    let users: BTreeSet<ThreadId> = waits.iter().map(|wait| wait.thread).collect();
    let mut handovers: Vec<Handover> = waits.iter().filter_map(|wait| Handover::from_wait(wait)).collect();
    handovers.sort_unstable();
    let (contended, starts) = (contended_spans(&waits), wait_starts(&waits));
    let mut by_thread: HashMap<ThreadId, Vec<&Wait>> = HashMap::new();
    for wait in &waits {
        by_thread.entry(wait.thread).or_default().push(wait);
    }
    let is_waiting = |thread: ThreadId, at: Nanos| {
        let own = &by_thread[&thread];
        own[..own.partition_point(|wait| wait.from < at)].last().is_some_and(|wait| wait.to >= at)
    };
    let only_user = |taker: ThreadId, at: Nanos| {
        let mut others = users.iter().copied().filter(|user| *user != taker && !is_waiting(*user, at));
        others.next().filter(|_| others.next().is_none())
    };
    let mut holds = Vec::new();
    let mut before: Option<Handover> = None;
    for handover in handovers {
        let Handover { at, taker, by } = handover;
        let since = contended[..contended.partition_point(|(from, _)| *from < at)].last();
        let since = since.map_or(at, |(from, _)| *from);
        let last = before.replace(handover).filter(|last| last.at >= since);
        let last_taker = last.map(|last| last.taker).filter(|last| *last != taker);
        let Some(holder) = by.or(last_taker).or_else(|| only_user(taker, at)) else { continue };
        let from = match last {
            // No thread waited when the holder got the lock.
            None => Some(since),
            Some(last) if last.taker == holder => first_run(timeline, last.taker, last.at),
            // The holder was quicker than the woken thread, which found the lock taken and waited
            // again.
            Some(last) => next_instant(&starts, last.taker, last.at),
        };
        let has_start = last.is_some_and(|last| last.taker == holder);
        if let Some(from) = from.filter(|from| *from < at) {
            holds.push(LockHold { lock, from, to: at, holder, has_start });
        }
    }
    holds
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
