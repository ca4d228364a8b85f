//! Locks held across waits for a device, a timer, or an outside process. The trace shows that a
//! wait is under the lock only while another thread waits for that lock. Waits of the same kind
//! count as under the lock at other times too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use morecores_study::Nanos;
use morecores_study::trace::Call;

use super::locks::LockId;
use morecores_explain::trace::{
    Cause, LockHold, State, ThreadId, Timeline, WaitId, WaitsByThread, awaited_futex, futex_uses, lock_holds,
};

/// Waits under a lock, and the sections of the program during which the lock is held for them.
#[derive(Default)]
pub(super) struct Sections {
    /// Locks, by their number in the program's steps.
    pub(super) locks: Vec<SectionLock>,
    /// Section of each wait under a lock: lock, start and end of the hold.
    pub(super) by_wait: HashMap<WaitId, Section>,
}

/// Lock that is held across waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLock {
    /// Name of the lock.
    pub id: LockId,
    /// Whether most of its holds are across waits; these holds are then nearly all of them.
    pub mostly_across_waits: bool,
}

/// Span of a thread's time during which it holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) lock: u32,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

/// Kind of a wait: its system call and its cause.
type WaitKind = (Option<u16>, Cause);

/// Known waits of one lock's users.
#[derive(Default)]
struct UserWaits {
    under_lock: BTreeMap<WaitId, LockHold>,
    outside_lock: BTreeSet<WaitId>,
    users: BTreeSet<ThreadId>,
    /// Number of observed holds, and number of holds across a wait.
    hold_counts: (usize, usize),
}

/// Finds the sections of all locks.
pub(super) fn find_sections(timeline: &Timeline, causes: &[Cause]) -> Sections {
    let uses = futex_uses(timeline);
    let holds = lock_holds(timeline, &uses);
    let waits = WaitsByThread::new(timeline, causes);
    let mut found = Sections::default();
    let mut holds_by_lock: BTreeMap<LockId, Vec<LockHold>> = BTreeMap::new();
    for hold in holds {
        let (leader, address) = hold.lock;
        holds_by_lock.entry(LockId::Futex(leader, address)).or_default().push(hold);
    }
    let mut users: BTreeMap<LockId, BTreeSet<ThreadId>> = BTreeMap::new();
    for wait in &timeline.waits {
        if let Some((leader, address)) = awaited_futex(timeline, wait) {
            let users = users.entry(LockId::Futex(leader, address)).or_default();
            users.insert(wait.thread);
            users.extend(wait.wake.and_then(|wake| wake.by.thread()));
        }
    }
    for (lock_id, holds) in holds_by_lock {
        let users = users.remove(&lock_id).unwrap_or_default();
        let known = UserWaits::from_holds(&holds, &waits, users);
        if !known.under_lock.is_empty() {
            known.record_sections(timeline, causes, &waits, lock_id, &mut found);
        }
    }
    found
}

/// Whether a wait has a cause that a lock may be held across and that is no other dependency in a
/// replay.
const fn may_be_under_lock(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Disk | Cause::Timer | Cause::Peer | Cause::Device | Cause::Rcu | Cause::Uninterruptible
    )
}

impl UserWaits {
    fn from_holds(holds: &[LockHold], waits: &WaitsByThread<'_>, users: BTreeSet<ThreadId>) -> Self {
        let mut known = Self { users, ..Self::default() };
        for hold in holds {
            let holder_waits = waits.overlapping(hold.holder, hold.from, hold.to);
            let inside: Vec<WaitId> =
                holder_waits.filter(|(.., cause)| may_be_under_lock(*cause)).map(|(id, ..)| id).collect();
            known.hold_counts.0 += 1;
            known.hold_counts.1 += usize::from(!inside.is_empty());
            known.under_lock.extend(inside.into_iter().map(|id| (id, *hold)));
        }
        if known.under_lock.is_empty() {
            return known;
        }
        for hold in holds {
            for user in known.users.iter().filter(|user| **user != hold.holder) {
                let meanwhile = waits.overlapping(*user, hold.from, hold.to);
                known
                    .outside_lock
                    .extend(meanwhile.filter(|(.., cause)| may_be_under_lock(*cause)).map(|(id, ..)| id));
            }
        }
        known
    }

    /// Records the waits under the lock: waits observed there, and all waits of a kind for which
    /// most known waits are under the lock.
    fn record_sections(
        &self,
        timeline: &Timeline,
        causes: &[Cause],
        waits: &WaitsByThread<'_>,
        lock_id: LockId,
        found: &mut Sections,
    ) {
        let kind = |id: &WaitId| -> WaitKind {
            let call = match timeline.wait(*id).call {
                Call::Number(number) => Some(number),
                Call::Fault | Call::Unknown => None,
            };
            (call, causes[id.index()])
        };
        let mut seen: HashMap<WaitKind, i64> = HashMap::new();
        self.under_lock.keys().for_each(|id| *seen.entry(kind(id)).or_default() += 1);
        self.outside_lock.iter().for_each(|id| *seen.entry(kind(id)).or_default() -= 1);
        let lock = found.locks.len() as u32;
        let (work_before, work_after) =
            (self.median_work(timeline, Side::Before), self.median_work(timeline, Side::After));
        for user in &self.users {
            let mut free_from = timeline.began;
            for (id, wait, cause) in waits.overlapping(*user, timeline.began, timeline.ended) {
                let alike = may_be_under_lock(cause) && seen.get(&kind(&id)).is_some_and(|seen| *seen > 0);
                let hold = self.under_lock.get(&id);
                let is_under_lock = hold.is_some() || alike && !self.outside_lock.contains(&id);
                if is_under_lock && wait.from >= free_from {
                    let from = hold.filter(|hold| hold.has_start).map(|hold| hold.from.min(wait.from));
                    let from = from.unwrap_or(Nanos(wait.from.0.saturating_sub(work_before.0)));
                    let to = hold.map_or(wait.to + work_after, |hold| hold.to.max(wait.to));
                    let next = waits.overlapping(*user, wait.to, timeline.ended).next();
                    let to =
                        if hold.is_some() { to } else { next.map_or(to, |(_, next, _)| to.min(next.from)) };
                    let section = Section { lock, from: from.max(free_from), to };
                    if section.from < section.to {
                        found.by_wait.entry(id).or_insert(section);
                    }
                    free_from = to;
                }
                free_from = free_from.max(wait.to);
            }
        }
        found.locks.push(SectionLock {
            id: lock_id,
            mostly_across_waits: 2 * self.hold_counts.1 > self.hold_counts.0,
        });
    }

    /// Median work of the holder before or after the wait, over the observed holds.
    fn median_work(&self, timeline: &Timeline, side: Side) -> Nanos {
        let mut all: Vec<Nanos> = Vec::new();
        for (id, hold) in &self.under_lock {
            let wait = timeline.wait(*id);
            let (from, to) = match side {
                Side::Before if hold.has_start => (hold.from, wait.from),
                Side::Before => continue,
                Side::After => (wait.to, hold.to),
            };
            let segments = &timeline.thread(hold.holder).segments;
            let first = segments.partition_point(|segment| segment.to <= from);
            let inside = segments[first..].iter().take_while(|segment| segment.from < to);
            let ran = inside.filter(|segment| matches!(segment.state, State::Running { .. }));
            all.push(ran.map(|segment| segment.to.min(to).since(segment.from.max(from))).sum());
        }
        Nanos::median(all).unwrap_or(Nanos::ZERO)
    }
}

/// Part of a hold, relative to the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}
