//! The holder of each lock of the program's own while others wait for it, inferred from the order
//! of its wake-ups.
//!
//! While a thread waits, the lock cannot be released without waking a waiter: the thread that wakes
//! the next waiter has held the lock until then. The beginning of the hold is recorded only if
//! nothing else can have happened in between.

use std::collections::HashMap;

use morecores_study::Nanos;

use super::causes::Cause;
use super::futexes::{
    FutexId, FutexUse, WakeUp, awaited_futex, contended_spans, first_run, next_instant, wait_starts,
};
use super::timeline::{ThreadId, Timeline, Wait, WaitId};

/// A span of time in which a thread holds a lock and others wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockHold {
    /// The lock.
    pub lock: FutexId,
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
    /// Thread that held the lock.
    pub holder: ThreadId,
    /// Whether the holder got the lock at the beginning of the span. The span is then the
    /// whole hold.
    pub has_start: bool,
}

/// All spans with a known holder, by lock and then in the order of time.
pub fn lock_holds(timeline: &Timeline, uses: &HashMap<FutexId, FutexUse>) -> Vec<LockHold> {
    let mut waits_by_lock: HashMap<FutexId, Vec<&Wait>> = HashMap::new();
    for wait in &timeline.waits {
        if let Some(futex) =
            awaited_futex(timeline, wait).filter(|futex| uses.get(futex) == Some(&FutexUse::Lock))
        {
            waits_by_lock.entry(futex).or_default().push(wait);
        }
    }
    let mut all: Vec<LockHold> =
        waits_by_lock.iter().flat_map(|(lock, waits)| infer_holds(timeline, *lock, waits)).collect();
    all.sort_unstable();
    all
}

fn infer_holds(timeline: &Timeline, lock: FutexId, waits: &[&Wait]) -> Vec<LockHold> {
    let mut wakes: Vec<WakeUp> = waits.iter().filter_map(|wait| WakeUp::from_wait(wait)).collect();
    wakes.sort_unstable();
    let (contended, starts) = (contended_spans(waits), wait_starts(waits));
    let mut holds = Vec::new();
    let mut before: Option<WakeUp> = None;
    for wake in wakes {
        let since = contended[..contended.partition_point(|(from, _)| *from < wake.at)].last();
        let since = since.map_or(wake.at, |(from, _)| *from);
        let last = before.replace(wake).filter(|last| last.at >= since);
        let from = match last {
            // No thread waited when the holder got the lock.
            None => Some(since),
            Some(last) if last.waiter == wake.by => first_run(timeline, last.waiter, last.at),
            // The holder was quicker than the woken thread, which found the lock taken and waited
            // again.
            Some(last) => next_instant(&starts, last.waiter, last.at),
        };
        let has_start = last.is_some_and(|last| last.waiter == wake.by);
        if let Some(from) = from.filter(|from| *from < wake.at) {
            holds.push(LockHold { lock, from, to: wake.at, holder: wake.by, has_start });
        }
    }
    holds
}

/// Cause of a lock holder's own wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderWait {
    Disk,
    Peer,
    Timer,
}

impl HolderWait {
    pub(crate) const COUNT: usize = 3;

    fn from_cause(cause: Cause) -> Option<Self> {
        match cause {
            Cause::Disk => Some(Self::Disk),
            Cause::Peer => Some(Self::Peer),
            Cause::Timer => Some(Self::Timer),
            _ => None,
        }
    }
}

/// Waits of each thread, in the order of their beginnings.
pub struct WaitsByThread<'t>(HashMap<ThreadId, Vec<(WaitId, &'t Wait, Cause)>>);

impl<'t> WaitsByThread<'t> {
    /// Sorts the waits of `timeline`, whose causes are `causes`, by thread.
    pub fn new(timeline: &'t Timeline, causes: &[Cause]) -> Self {
        let mut by_thread: HashMap<ThreadId, Vec<_>> = HashMap::new();
        for (id, (wait, cause)) in (0..).map(WaitId).zip(timeline.waits.iter().zip(causes)) {
            by_thread.entry(wait.thread).or_default().push((id, wait, *cause));
        }
        Self(by_thread)
    }

    /// Waits of a thread that overlap a span of time.
    pub fn overlapping(
        &self,
        thread: ThreadId,
        from: Nanos,
        to: Nanos,
    ) -> impl Iterator<Item = (WaitId, &'t Wait, Cause)> + '_ {
        let waits = self.0.get(&thread).map(Vec::as_slice).unwrap_or_default();
        let first = waits.partition_point(|(_, wait, _)| wait.to <= from);
        waits[first..].iter().copied().take_while(move |(_, wait, _)| wait.from < to)
    }
}

/// Times at which a thread waits for a lock whose holder waits too: beginning, end, and cause of
/// the holder's wait.
pub(crate) fn holder_waits(
    timeline: &Timeline,
    causes: &[Cause],
    uses: &HashMap<FutexId, FutexUse>,
) -> Vec<(Nanos, Nanos, HolderWait)> {
    let waits = WaitsByThread::new(timeline, causes);
    let mut stalls: HashMap<FutexId, Vec<(Nanos, Nanos, HolderWait)>> = HashMap::new();
    for hold in lock_holds(timeline, uses) {
        for (_, wait, cause) in waits.overlapping(hold.holder, hold.from, hold.to) {
            if let Some(cause) = HolderWait::from_cause(cause) {
                let stall = (wait.from.max(hold.from), wait.to.min(hold.to), cause);
                stalls.entry(hold.lock).or_default().push(stall);
            }
        }
    }
    let mut all = Vec::new();
    for (wait, cause) in timeline.waits.iter().zip(causes) {
        if *cause != Cause::UserLock {
            continue;
        }
        let lock_stalls = awaited_futex(timeline, wait).and_then(|lock| stalls.get(&lock));
        let stalls = lock_stalls.map(Vec::as_slice).unwrap_or_default();
        let first = stalls.partition_point(|(_, to, _)| *to <= wait.from);
        for (from, to, cause) in stalls[first..].iter().take_while(|(from, ..)| *from < wait.to) {
            all.push(((*from).max(wait.from), (*to).min(wait.to), *cause));
        }
    }
    all
}
