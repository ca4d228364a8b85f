//! The holder of each lock of the program's own while others wait for it, inferred from the order
//! of its wake-ups.
//!
//! While a thread waits, the lock cannot be released without waking a waiter: the thread that wakes
//! the next waiter has held the lock until then. The beginning of the hold is recorded only if
//! nothing else can have happened in between.

use std::collections::HashMap;

use morecores_study::Nanos;

use super::causes::Cause;
use super::futexes::{FutexId, FutexUse, WakeUp, begun, crowded, first_at, first_run, futex};
use super::timeline::{ThreadId, Timeline, Wait, WaitId};

/// A stretch of time in which a thread holds a lock and others wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// The lock.
    pub lock: FutexId,
    /// Beginning of the stretch.
    pub from: Nanos,
    /// End of the stretch.
    pub to: Nanos,
    /// Thread that held the lock.
    pub holder: ThreadId,
    /// Whether the holder got the lock at the beginning of the stretch. The stretch is then the
    /// whole hold.
    pub whole: bool,
}

/// All stretches with a known holder, by lock and then in the order of time.
pub fn held(timeline: &Timeline, uses: &HashMap<FutexId, FutexUse>) -> Vec<Held> {
    let mut waits_of: HashMap<FutexId, Vec<&Wait>> = HashMap::new();
    for wait in &timeline.waits {
        if let Some(futex) = futex(timeline, wait).filter(|futex| uses.get(futex) == Some(&FutexUse::Lock)) {
            waits_of.entry(futex).or_default().push(wait);
        }
    }
    let mut all: Vec<Held> =
        waits_of.iter().flat_map(|(lock, waits)| of_lock(timeline, *lock, waits)).collect();
    all.sort_unstable();
    all
}

fn of_lock(timeline: &Timeline, lock: FutexId, waits: &[&Wait]) -> Vec<Held> {
    let mut wakes: Vec<WakeUp> = waits.iter().filter_map(|wait| WakeUp::of(wait)).collect();
    wakes.sort_unstable();
    let (crowded, begun) = (crowded(waits), begun(waits));
    let mut held = Vec::new();
    let mut before: Option<WakeUp> = None;
    for wake in wakes {
        let since = crowded[..crowded.partition_point(|(from, _)| *from < wake.at)].last();
        let since = since.map_or(wake.at, |(from, _)| *from);
        let last = before.replace(wake).filter(|last| last.at >= since);
        let from = match last {
            // No thread waited when the holder got the lock.
            None => Some(since),
            Some(last) if last.waiter == wake.by => first_run(timeline, last.waiter, last.at),
            // The holder was quicker than the woken thread, which found the lock taken and waited
            // again.
            Some(last) => first_at(&begun, last.waiter, last.at),
        };
        let whole = last.is_some_and(|last| last.waiter == wake.by);
        if let Some(from) = from.filter(|from| *from < wake.at) {
            held.push(Held { lock, from, to: wake.at, holder: wake.by, whole });
        }
    }
    held
}

/// Cause of a lock holder's own wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    Disk,
    Peer,
    Timer,
}

impl Behind {
    pub(crate) const COUNT: usize = 3;

    fn of(cause: Cause) -> Option<Self> {
        match cause {
            Cause::Disk => Some(Self::Disk),
            Cause::Peer => Some(Self::Peer),
            Cause::Timer => Some(Self::Timer),
            _ => None,
        }
    }
}

/// Waits of each thread, in the order of their beginnings.
pub struct WaitsOf<'t>(HashMap<ThreadId, Vec<(WaitId, &'t Wait, Cause)>>);

impl<'t> WaitsOf<'t> {
    /// Sorts the waits of `timeline`, whose causes are `causes`, by thread.
    pub fn new(timeline: &'t Timeline, causes: &[Cause]) -> Self {
        let mut of: HashMap<ThreadId, Vec<_>> = HashMap::new();
        for (id, (wait, cause)) in (0..).map(WaitId).zip(timeline.waits.iter().zip(causes)) {
            of.entry(wait.thread).or_default().push((id, wait, *cause));
        }
        Self(of)
    }

    /// Waits of a thread that overlap a stretch of time.
    pub fn within(
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
pub(crate) fn behind(
    timeline: &Timeline,
    causes: &[Cause],
    uses: &HashMap<FutexId, FutexUse>,
) -> Vec<(Nanos, Nanos, Behind)> {
    let waits = WaitsOf::new(timeline, causes);
    let mut stalls: HashMap<FutexId, Vec<(Nanos, Nanos, Behind)>> = HashMap::new();
    for held in held(timeline, uses) {
        for (_, wait, cause) in waits.within(held.holder, held.from, held.to) {
            if let Some(behind) = Behind::of(cause) {
                let stall = (wait.from.max(held.from), wait.to.min(held.to), behind);
                stalls.entry(held.lock).or_default().push(stall);
            }
        }
    }
    let mut all = Vec::new();
    for (wait, cause) in timeline.waits.iter().zip(causes) {
        if *cause != Cause::UserLock {
            continue;
        }
        let of_lock = futex(timeline, wait).and_then(|lock| stalls.get(&lock));
        let stalls = of_lock.map(Vec::as_slice).unwrap_or_default();
        let first = stalls.partition_point(|(_, to, _)| *to <= wait.from);
        for (from, to, behind) in stalls[first..].iter().take_while(|(from, ..)| *from < wait.to) {
            all.push(((*from).max(wait.from), (*to).min(wait.to), *behind));
        }
    }
    all
}
