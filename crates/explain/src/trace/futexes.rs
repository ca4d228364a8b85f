//! The use of each futex, inferred from its waits: a lock, a queue of threads that wait for work,
//! or a signal.
//!
//! The arguments of the waiting call decide if they follow the conventions of locks. Otherwise the
//! order of waits and wake-ups decides: a lock is held by one thread at a time and handed on by
//! threads that waited for it.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{FutexWait, Object};

use super::timeline::{Source, State, ThreadId, Timeline, Wait, Wake};

/// A futex: the process, identified by its first thread, and the address in it.
pub type FutexId = (ThreadId, u64);

/// Futex that a wait is for, if it is for one.
pub fn awaited_futex(timeline: &Timeline, wait: &Wait) -> Option<FutexId> {
    match wait.object {
        Object::Futex(address) => Some((timeline.thread(wait.thread).leader?, address)),
        _ => None,
    }
}

/// Use of a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexUse {
    /// A lock: one thread at a time holds it and hands it on.
    Lock,
    /// A queue: several threads wait for work, and a thread that adds work wakes one of them.
    Queue,
    /// A signal: it wakes one waiter, or all of them at once.
    Signal,
}

/// Longest time between two wake-ups of one system call. A wake-up takes some microseconds, or tens
/// of microseconds if it has to interrupt another virtual CPU.
const SAME_CALL_GAP: Nanos = Nanos::from_micros(50);

/// Share of the turns at a lock that may seem to begin inside another turn, because the trace does
/// not show a thread's actions after its wake-up. The value is a choice between none, as at a lock,
/// and most, as at a queue with two working threads.
const MAX_OVERLAP: f64 = 0.25;

/// Use of each futex for which a thread ended another thread's wait.
pub fn futex_uses(timeline: &Timeline) -> HashMap<FutexId, FutexUse> {
    let mut waits_by_futex: HashMap<FutexId, Vec<&Wait>> = HashMap::new();
    for wait in &timeline.waits {
        if let Some(futex) = awaited_futex(timeline, wait) {
            waits_by_futex.entry(futex).or_default().push(wait);
        }
    }
    let uses =
        waits_by_futex.into_iter().filter_map(|(futex, waits)| Some((futex, infer_use(timeline, &waits)?)));
    uses.collect()
}

/// Identity of the object behind a futex. A condition variable alternates between two futex words
/// (`__g_signals` of glibc's `pthread_cond_t`), which are the halves of an aligned eight-byte unit.
pub const fn condition_id((process, address): FutexId) -> FutexId {
    (process, address & !7)
}

/// Locks made of a condition variable whose waiters look again from time to time, as the
/// interpreter lock of CPython.
///
/// Several threads wait and wake each other, and many of the waits time out. If two threads take
/// turns, each has one of the two words to itself, so the words must be seen together. Without the
/// time-outs, threads that hand work to each other look the same.
pub(crate) fn timed_locks(timeline: &Timeline) -> HashSet<FutexId> {
    let mut waits_by_condition: HashMap<FutexId, Vec<&Wait>> = HashMap::new();
    for wait in &timeline.waits {
        if let Some(futex) = awaited_futex(timeline, wait) {
            waits_by_condition.entry(condition_id(futex)).or_default().push(wait);
        }
    }
    let is_lock = |waits: &[&Wait]| {
        let mut wakes: Vec<WakeUp> = waits.iter().filter_map(|wait| WakeUp::from_wait(wait)).collect();
        wakes.sort_unstable();
        let waiters: HashSet<ThreadId> = wakes.iter().map(|wake| wake.waiter).collect();
        let timed_out = waits.iter().filter(|wait| wait.wake.is_some_and(Wake::is_by_timer)).count();
        waiters.len() > 1
            && 2 * timed_out >= wakes.len()
            && woken_by_waiters(waits, &wakes)
            && turns_exclude_each_other(timeline, waits, &wakes)
    };
    let locks = waits_by_condition.into_iter().filter(|(_, waits)| is_lock(waits));
    locks.map(|(condition, _)| condition).collect()
}

/// Use of a futex with these waits. None if no thread ended any of them.
///
/// A lock or a queue wakes one waiter at a time; a barrier or a broadcast wakes all waiters in one
/// call. By chance a busy lock can look like a barrier, and a barrier can have a single waiter. The
/// majority of the wake-ups decides.
///
/// A single waiter is that of a signal, or it starves at a lock: a holder that takes the lock again
/// before the woken thread runs never waits itself. Only the word tells these two apart.
fn infer_use(timeline: &Timeline, waits: &[&Wait]) -> Option<FutexUse> {
    let woken = waits.iter().filter_map(|wait| WakeUp::from_wait(wait));
    let mut wakes: Vec<WakeUp> = woken.collect();
    let first = *wakes.first()?;
    let futex_calls: Vec<FutexWait> = waits.iter().filter_map(|wait| wait.futex).collect();
    let most_calls = |predicate: fn(FutexWait) -> bool| {
        2 * futex_calls.iter().filter(|wait| predicate(**wait)).count() > futex_calls.len()
    };
    if most_calls(FutexWait::takes_a_lock) {
        return Some(FutexUse::Lock);
    }
    if wakes.iter().all(|wake| wake.waiter == first.waiter) {
        let is_lock = most_calls(FutexWait::expects_a_taken_lock);
        return Some(if is_lock { FutexUse::Lock } else { FutexUse::Signal });
    }
    wakes.sort_unstable();
    let groups = wakes.chunk_by(|a, b| same_call(timeline, *a, *b)).map(<[_]>::len);
    let in_groups: usize = groups.filter(|group| *group > 1).sum();
    Some(if 2 * in_groups >= wakes.len() {
        FutexUse::Signal
    } else if most_calls(FutexWait::may_expect_a_taken_lock) {
        FutexUse::Lock
    } else if counts_something(&futex_calls) || wakes.iter().all(|wake| wake.by == first.by) {
        FutexUse::Queue
    } else if woken_by_waiters(waits, &wakes) && turns_exclude_each_other(timeline, waits, &wakes) {
        FutexUse::Lock
    } else {
        FutexUse::Queue
    })
}

/// Number of different words that the waiters of a lock expect at most.
const MAX_LOCK_WORDS: usize = 3;

/// Whether the expected words are those of a counter, as of the signals of a condition variable:
/// with one CPU the turns of a pool's workers exclude each other, too.
fn counts_something(futex_calls: &[FutexWait]) -> bool {
    let words: HashSet<u32> = futex_calls.iter().map(|wait| wait.expected).collect();
    words.len() > MAX_LOCK_WORDS
}

/// A wake-up of one waiter by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WakeUp {
    pub(crate) at: Nanos,
    pub(crate) by: ThreadId,
    pub(crate) waiter: ThreadId,
}

impl WakeUp {
    pub(crate) fn from_wait(wait: &Wait) -> Option<Self> {
        let wake = wait.wake?;
        match wake.by {
            Source::Thread(by) => Some(Self { at: wake.at, by, waiter: wait.thread }),
            _ => None,
        }
    }
}

/// Whether two consecutive wake-ups belong to one call: one thread woke different waiters and did
/// not leave its CPU in between.
fn same_call(timeline: &Timeline, first: WakeUp, second: WakeUp) -> bool {
    first.by == second.by && first.waiter != second.waiter && second.at.since(first.at) <= SAME_CALL_GAP && {
        let segments = &timeline.thread(first.by).segments;
        let segment_at = |at| segments.partition_point(|segment| segment.to < at);
        segment_at(first.at) == segment_at(second.at)
    }
}

/// Whether most wake-ups come from threads that also wait at this futex at times. A thread that
/// adds work to a queue does not wait there.
fn woken_by_waiters(waits: &[&Wait], wakes: &[WakeUp]) -> bool {
    let waiters: HashSet<ThreadId> = waits.iter().map(|wait| wait.thread).collect();
    2 * wakes.iter().filter(|wake| waiters.contains(&wake.by)).count() > wakes.len()
}

/// Whether the turns of the threads that waited exclude each other, as they do at a lock.
fn turns_exclude_each_other(timeline: &Timeline, waits: &[&Wait], wakes: &[WakeUp]) -> bool {
    let mut turns = known_turns(timeline, waits, wakes);
    turns.sort_unstable();
    let (mut overlapping, mut until) = (0, Nanos::ZERO);
    for (from, to) in &turns {
        overlapping += usize::from(*from < until);
        until = until.max(*to);
    }
    overlapping as f64 <= MAX_OVERLAP * turns.len() as f64
}

/// Turns: for each wait whose thread went on to wake the next waiter, the time from its first
/// instant on a CPU to that wake-up.
///
/// A turn is known only if some thread waited all the time in between: then the holder could not
/// release the lock without a wake-up, and held it until then.
fn known_turns(timeline: &Timeline, waits: &[&Wait], wakes: &[WakeUp]) -> Vec<(Nanos, Nanos)> {
    let mut wakes_by_thread: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
    for wake in wakes {
        wakes_by_thread.entry(wake.by).or_default().push(wake.at);
    }
    let wait_starts = wait_starts(waits);
    let contended = contended_spans(waits);
    let turn = |wake: &WakeUp| {
        let from = first_run(timeline, wake.waiter, wake.at)?;
        let to = next_instant(&wakes_by_thread, wake.waiter, from)?;
        let waits_again =
            next_instant(&wait_starts, wake.waiter, from).is_some_and(|next_wait| next_wait < to);
        let span = contended[..contended.partition_point(|(begin, _)| *begin <= from)].last();
        (!waits_again && span.is_some_and(|(_, end)| *end >= to)).then_some((from, to))
    };
    wakes.iter().filter_map(turn).collect()
}

/// Instants at which each thread began to wait.
pub(super) fn wait_starts(waits: &[&Wait]) -> HashMap<ThreadId, Vec<Nanos>> {
    let mut starts: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
    for wait in waits {
        starts.entry(wait.thread).or_default().push(wait.from);
    }
    starts
}

/// The first of a thread's instants at or after `at`.
pub(super) fn next_instant(
    instants_by_thread: &HashMap<ThreadId, Vec<Nanos>>,
    thread: ThreadId,
    at: Nanos,
) -> Option<Nanos> {
    let instants = instants_by_thread.get(&thread)?;
    instants.get(instants.partition_point(|instant| *instant < at)).copied()
}

/// Spans of time in which at least one thread waits.
pub(super) fn contended_spans(waits: &[&Wait]) -> Vec<(Nanos, Nanos)> {
    let mut spans: Vec<(Nanos, Nanos)> = waits.iter().map(|wait| (wait.from, wait.to)).collect();
    spans.sort_unstable();
    spans.dedup_by(|next, last| {
        let joined = next.0 <= last.1;
        if joined {
            last.1 = last.1.max(next.1);
        }
        joined
    });
    spans
}

/// First instant at or after `at` at which a thread has a CPU.
pub(super) fn first_run(timeline: &Timeline, thread: ThreadId, at: Nanos) -> Option<Nanos> {
    let segments = &timeline.thread(thread).segments;
    let after = &segments[segments.partition_point(|segment| segment.to <= at)..];
    let running = after.iter().find(|segment| matches!(segment.state, State::Running { .. }))?;
    Some(running.from.max(at))
}
