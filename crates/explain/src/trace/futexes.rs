//! The use of each futex, as far as its waits tell: a lock, a queue of threads that wait for work, or a signal.
//!
//! The arguments of the waiting call decide where they follow the conventions of locks. Elsewhere the order of waits and
//! wake-ups does: a lock is handed on by those who had waited for it themselves, and one at a time has it.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{FutexWait, Object};

use super::timeline::{Source, State, ThreadId, Timeline, Wait};

/// A futex: the process by its first thread, and the address in it.
pub type FutexId = (ThreadId, u64);

/// The futex that a wait is for, where it is for one.
pub fn futex(timeline: &Timeline, wait: &Wait) -> Option<FutexId> {
    match wait.object {
        Object::Futex(address) => Some((timeline.thread(wait.thread).leader?, address)),
        _ => None,
    }
}

/// Use of a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexUse {
    /// A lock: one thread at a time has it and hands it on.
    Lock,
    /// Several threads wait there for work, and a thread that has some wakes one of them.
    Queue,
    /// One waiter, or all of them at once.
    Signal,
}

/// Longest time between two wake-ups of one system call: one takes some microseconds, tens where it has to interrupt
/// another virtual CPU.
const SAME_CALL: Nanos = Nanos::from_micros(50);

/// Share of the turns at a lock that may seem to begin inside another one, since what a thread does after it was woken
/// is not seen. A choice between none, as at a lock, and most, as at a queue with two threads at work.
const SHARED: f64 = 0.25;

/// The use of each futex that a thread was woken from by another.
pub fn futex_uses(timeline: &Timeline) -> HashMap<FutexId, FutexUse> {
    let mut waits_of: HashMap<FutexId, Vec<&Wait>> = HashMap::new();
    for wait in &timeline.waits {
        if let Some(futex) = futex(timeline, wait) {
            waits_of.entry(futex).or_default().push(wait);
        }
    }
    let uses = waits_of.into_iter().filter_map(|(futex, waits)| Some((futex, use_of(timeline, &waits)?)));
    uses.collect()
}

/// The use of a futex with these waits. `None` where no thread ended any of them.
///
/// A lock or a queue wakes one waiter at a time; a barrier or a broadcast wakes all of them in one call. A busy lock can
/// look so too, by chance, and a barrier can have a single waiter: what most wake-ups look like decides.
fn use_of(timeline: &Timeline, waits: &[&Wait]) -> Option<FutexUse> {
    let woken = waits.iter().filter_map(|wait| WakeUp::of(wait));
    let mut wakes: Vec<WakeUp> = woken.collect();
    let first = *wakes.first()?;
    let told: Vec<FutexWait> = waits.iter().filter_map(|wait| wait.futex).collect();
    let most_are = |of: fn(FutexWait) -> bool| 2 * told.iter().filter(|wait| of(**wait)).count() > told.len();
    if most_are(FutexWait::takes_a_lock) {
        return Some(FutexUse::Lock);
    }
    if wakes.iter().all(|wake| wake.waiter == first.waiter) {
        return Some(FutexUse::Signal);
    }
    wakes.sort_unstable();
    let groups = wakes.chunk_by(|a, b| same_call(timeline, *a, *b)).map(<[_]>::len);
    let together: usize = groups.filter(|group| *group > 1).sum();
    Some(if 2 * together >= wakes.len() {
        FutexUse::Signal
    } else if most_are(FutexWait::expects_a_taken_lock) {
        FutexUse::Lock
    } else if wakes.iter().all(|wake| wake.by == first.by) {
        FutexUse::Queue
    } else if handed_on(waits, &wakes) && one_at_a_time(timeline, waits, &wakes) {
        FutexUse::Lock
    } else {
        FutexUse::Queue
    })
}

/// A wake-up of one waiter by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WakeUp {
    pub(super) at: Nanos,
    pub(super) by: ThreadId,
    pub(super) waiter: ThreadId,
}

impl WakeUp {
    pub(super) fn of(wait: &Wait) -> Option<Self> {
        let wake = wait.wake?;
        match wake.by {
            Source::Thread(by) => Some(Self { at: wake.at, by, waiter: wait.thread }),
            _ => None,
        }
    }
}

/// Whether two wake-ups, the second right after the first, are of one call: of different waiters, by one thread that did
/// not leave its CPU meanwhile.
fn same_call(timeline: &Timeline, first: WakeUp, second: WakeUp) -> bool {
    first.by == second.by && first.waiter != second.waiter && second.at.since(first.at) <= SAME_CALL && {
        let segments = &timeline.thread(first.by).segments;
        let during = |at| segments.partition_point(|segment| segment.to < at);
        during(first.at) == during(second.at)
    }
}

/// Whether most wake-ups are by threads that wait there themselves at times. Who puts work into a queue does not.
fn handed_on(waits: &[&Wait], wakes: &[WakeUp]) -> bool {
    let waiters: HashSet<ThreadId> = waits.iter().map(|wait| wait.thread).collect();
    2 * wakes.iter().filter(|wake| waiters.contains(&wake.by)).count() > wakes.len()
}

/// Whether the turns of those who had waited exclude each other, as they do at a lock.
fn one_at_a_time(timeline: &Timeline, waits: &[&Wait], wakes: &[WakeUp]) -> bool {
    let mut turns = turns(timeline, waits, wakes);
    turns.sort_unstable();
    let (mut shared, mut until) = (0, Nanos::ZERO);
    for (from, to) in &turns {
        shared += usize::from(*from < until);
        until = until.max(*to);
    }
    shared as f64 <= SHARED * turns.len() as f64
}

/// Of each wait whose thread went on to wake the next waiter: from its first instant on a CPU to that wake-up.
///
/// Only where somebody waited all the time in between: then whoever had the lock could not give it back without waking
/// somebody, and has it until then.
fn turns(timeline: &Timeline, waits: &[&Wait], wakes: &[WakeUp]) -> Vec<(Nanos, Nanos)> {
    let mut given: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
    for wake in wakes {
        given.entry(wake.by).or_default().push(wake.at);
    }
    let begun = begun(waits);
    let crowded = crowded(waits);
    let turn = |wake: &WakeUp| {
        let from = first_run(timeline, wake.waiter, wake.at)?;
        let to = first_at(&given, wake.waiter, from)?;
        let back = first_at(&begun, wake.waiter, from).is_some_and(|back| back < to);
        let around = crowded[..crowded.partition_point(|(begin, _)| *begin <= from)].last();
        (!back && around.is_some_and(|(_, end)| *end >= to)).then_some((from, to))
    };
    wakes.iter().filter_map(turn).collect()
}

/// Instant at which each thread began to wait.
pub(super) fn begun(waits: &[&Wait]) -> HashMap<ThreadId, Vec<Nanos>> {
    let mut begun: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
    for wait in waits {
        begun.entry(wait.thread).or_default().push(wait.from);
    }
    begun
}

/// A thread's first instant of these from `at` on.
pub(super) fn first_at(of: &HashMap<ThreadId, Vec<Nanos>>, who: ThreadId, at: Nanos) -> Option<Nanos> {
    let instants = of.get(&who)?;
    instants.get(instants.partition_point(|instant| *instant < at)).copied()
}

/// Stretches of time in which somebody waits.
pub(super) fn crowded(waits: &[&Wait]) -> Vec<(Nanos, Nanos)> {
    let mut stretches: Vec<(Nanos, Nanos)> = waits.iter().map(|wait| (wait.from, wait.to)).collect();
    stretches.sort_unstable();
    stretches.dedup_by(|next, last| {
        let joined = next.0 <= last.1;
        if joined {
            last.1 = last.1.max(next.1);
        }
        joined
    });
    stretches
}

/// Instant at which a thread first has a CPU, from a given one on.
pub(super) fn first_run(timeline: &Timeline, thread: ThreadId, at: Nanos) -> Option<Nanos> {
    let segments = &timeline.thread(thread).segments;
    let after = &segments[segments.partition_point(|segment| segment.to <= at)..];
    let running = after.iter().find(|segment| matches!(segment.state, State::Running { .. }))?;
    Some(running.from.max(at))
}
