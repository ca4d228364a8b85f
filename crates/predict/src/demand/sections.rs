//! Locks held across waits for a device, a timer, or an outside process. The trace shows that a
//! wait is under the lock only while another thread waits for that lock. Waits of the same kind
//! count as under the lock at other times too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use morecores_study::Nanos;
use morecores_study::trace::Call;

use super::locks::LockName;
use morecores_explain::trace::{
    Cause, Held, State, ThreadId, Timeline, WaitId, WaitsOf, futex, futex_uses, held,
};

/// Waits under a lock, and the sections of the program during which the lock is held for them.
#[derive(Default)]
pub(super) struct Sections {
    /// Locks, by their number in the program's steps.
    pub(super) locks: Vec<SectionLock>,
    /// Section of each wait under a lock: lock, start and end of the hold.
    pub(super) of: HashMap<WaitId, Section>,
}

/// Lock that is held across waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionLock {
    /// Name of the lock.
    pub name: LockName,
    /// Whether most of its holds are across waits; these holds are then nearly all of them.
    pub mostly: bool,
}

/// Stretch of a thread's time during which it holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) lock: u32,
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

/// Kind of a wait: its system call and its cause.
type Kind = (Option<u16>, Cause);

/// Known waits of one lock's users.
#[derive(Default)]
struct Known {
    under: BTreeMap<WaitId, Held>,
    outside: BTreeSet<WaitId>,
    users: BTreeSet<ThreadId>,
    /// Number of observed holds, and number of holds across a wait.
    times: (usize, usize),
}

/// Finds the sections of all locks.
pub(super) fn sections(timeline: &Timeline, causes: &[Cause]) -> Sections {
    let uses = futex_uses(timeline);
    let held = held(timeline, &uses);
    let waits = WaitsOf::new(timeline, causes);
    let mut found = Sections::default();
    let mut of_lock: BTreeMap<LockName, Vec<Held>> = BTreeMap::new();
    for held in held {
        let (leader, address) = held.lock;
        of_lock.entry(LockName::Futex(leader, address)).or_default().push(held);
    }
    let mut users: BTreeMap<LockName, BTreeSet<ThreadId>> = BTreeMap::new();
    for wait in &timeline.waits {
        if let Some((leader, address)) = futex(timeline, wait) {
            let users = users.entry(LockName::Futex(leader, address)).or_default();
            users.insert(wait.thread);
            users.extend(wait.wake.and_then(|wake| wake.by.thread()));
        }
    }
    for (name, held) in of_lock {
        let users = users.remove(&name).unwrap_or_default();
        let known = Known::of(&held, &waits, users);
        if !known.under.is_empty() {
            known.write(timeline, causes, &waits, name, &mut found);
        }
    }
    found
}

/// Whether a wait has a cause that a lock may be held across and that is no other dependency in a
/// replay.
const fn counts(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Disk | Cause::Timer | Cause::Peer | Cause::Device | Cause::Rcu | Cause::Uninterruptible
    )
}

impl Known {
    fn of(held: &[Held], waits: &WaitsOf<'_>, users: BTreeSet<ThreadId>) -> Self {
        let mut known = Self { users, ..Self::default() };
        for stretch in held {
            let of_holder = waits.within(stretch.holder, stretch.from, stretch.to);
            let inside: Vec<WaitId> =
                of_holder.filter(|(.., cause)| counts(*cause)).map(|(id, ..)| id).collect();
            known.times.0 += 1;
            known.times.1 += usize::from(!inside.is_empty());
            known.under.extend(inside.into_iter().map(|id| (id, *stretch)));
        }
        if known.under.is_empty() {
            return known;
        }
        for stretch in held {
            for user in known.users.iter().filter(|user| **user != stretch.holder) {
                let meanwhile = waits.within(*user, stretch.from, stretch.to);
                known.outside.extend(meanwhile.filter(|(.., cause)| counts(*cause)).map(|(id, ..)| id));
            }
        }
        known
    }

    /// Records the waits under the lock: waits observed there, and all waits of a kind for which
    /// most known waits are under the lock.
    fn write(
        &self,
        timeline: &Timeline,
        causes: &[Cause],
        waits: &WaitsOf<'_>,
        name: LockName,
        found: &mut Sections,
    ) {
        let kind = |id: &WaitId| -> Kind {
            let call = match timeline.wait(*id).call {
                Call::Number(number) => Some(number),
                Call::Fault | Call::Unknown => None,
            };
            (call, causes[id.index()])
        };
        let mut seen: HashMap<Kind, i64> = HashMap::new();
        self.under.keys().for_each(|id| *seen.entry(kind(id)).or_default() += 1);
        self.outside.iter().for_each(|id| *seen.entry(kind(id)).or_default() -= 1);
        let lock = found.locks.len() as u32;
        let (lead, tail) = (self.work(timeline, Side::Before), self.work(timeline, Side::After));
        for user in &self.users {
            let mut free_from = timeline.began;
            for (id, wait, cause) in waits.within(*user, timeline.began, timeline.ended) {
                let alike = counts(cause) && seen.get(&kind(&id)).is_some_and(|seen| *seen > 0);
                let here = self.under.get(&id);
                let under = here.is_some() || alike && !self.outside.contains(&id);
                if under && wait.from >= free_from {
                    let from = here.filter(|held| held.whole).map(|held| held.from.min(wait.from));
                    let from = from.unwrap_or(Nanos(wait.from.0.saturating_sub(lead.0)));
                    let to = here.map_or(wait.to + tail, |held| held.to.max(wait.to));
                    let next = waits.within(*user, wait.to, timeline.ended).next();
                    let to =
                        if here.is_some() { to } else { next.map_or(to, |(_, next, _)| to.min(next.from)) };
                    let section = Section { lock, from: from.max(free_from), to };
                    if section.from < section.to {
                        found.of.entry(id).or_insert(section);
                    }
                    free_from = to;
                }
                free_from = free_from.max(wait.to);
            }
        }
        found.locks.push(SectionLock { name, mostly: 2 * self.times.1 > self.times.0 });
    }

    /// Median work of the holder before or after the wait, over the observed holds.
    fn work(&self, timeline: &Timeline, side: Side) -> Nanos {
        let mut all: Vec<Nanos> = Vec::new();
        for (id, held) in &self.under {
            let wait = timeline.wait(*id);
            let (from, to) = match side {
                Side::Before if held.whole => (held.from, wait.from),
                Side::Before => continue,
                Side::After => (wait.to, held.to),
            };
            let segments = &timeline.thread(held.holder).segments;
            let first = segments.partition_point(|segment| segment.to <= from);
            let inside = segments[first..].iter().take_while(|segment| segment.from < to);
            let ran = inside.filter(|segment| matches!(segment.state, State::Running { .. }));
            all.push(ran.map(|segment| segment.to.min(to).since(segment.from.max(from))).sum());
        }
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(Nanos::ZERO)
    }
}

/// Part of a hold, relative to the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}
