//! The table of the command's own locks: their waits, and the time for which each was held while
//! threads waited for it. A lock has the name of its variable, and none if the trace has no name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use morecores_study::trace::{Comm, TraceFacts, Variable};
use morecores_view::code::{LockOwner, RuntimeLock, UserLockView};

use super::code::CodeMap;
use super::code_sites::{CodeSites, Durations, Place};
use super::programs::Programs;
use super::runtimes::{PYTHON_LOCK_LENGTH, PYTHON_RUNTIME, waits_for_python_lock};
use crate::DecodedTrace;
use crate::trace::{
    Cause, FutexId, Timeline, WaitId, awaited_futex, condition_id, futex_uses, lock_holds, timed_lock_holds,
    timed_locks,
};

/// Rows of all locks, longest waits first. `causes` are those of the idle rule: a wait counts if a
/// lock of the program's own is its cause.
pub(super) fn user_locks(
    facts: &TraceFacts,
    timeline: &Timeline,
    programs: &Programs,
    causes: &[Cause],
    sites: &CodeSites<'_>,
) -> Vec<UserLockView> {
    let names = LockNames::new(facts, timeline, sites);
    let waits = lock_waits(timeline, causes);
    let identities = identities(&waits, &names, programs, sites);
    let mut rows: HashMap<Identity, Row> = HashMap::new();
    for (id, futex) in waits {
        let wait = timeline.wait(id);
        let Some(identity) = identities.get(&names.lock(futex)) else { continue };
        let row = rows.entry(identity.clone()).or_default();
        row.max_wait_s = row.max_wait_s.max(wait.to.since(wait.from).as_secs_f64());
        sites.add_wait(id, &mut row.waits);
    }
    let plain = lock_holds(timeline, &futex_uses(timeline));
    let plain =
        plain.into_iter().filter(|hold| names.lock(hold.lock) == hold.lock && !names.is_timed(hold.lock));
    for hold in plain.chain(timed_lock_holds(timeline)) {
        let row = identities.get(&names.lock(hold.lock)).and_then(|identity| rows.get_mut(identity));
        if let Some(row) = row {
            sites.add_hold(&hold, &mut row.holds);
            let owner = timeline.thread(hold.holder).name_at(hold.to);
            *row.held_by.entry(owner).or_default() += hold.to.since(hold.from).as_secs_f64();
        }
    }
    let mut rows: Vec<(Identity, Row)> = rows.into_iter().collect();
    rows.sort_by(|(a, one), (b, other)| {
        other.waits.total_s().total_cmp(&one.waits.total_s()).then_with(|| a.cmp(b))
    });
    rows.into_iter().map(|(identity, row)| row.into_view(identity)).collect()
}

/// Names of the locks of a trace, as far as they are known: the variable, Python's global lock, or
/// the function that waits for it. `causes` are those of the idle rule.
pub fn user_lock_names(trace: &DecodedTrace<'_>, causes: &[Cause]) -> HashMap<FutexId, String> {
    let (facts, timeline) = (&trace.header.facts, &trace.timeline);
    let map = CodeMap::new(facts);
    let sites = CodeSites::new(&map, timeline);
    let names = LockNames::new(facts, timeline, &sites);
    let waits = lock_waits(timeline, causes);
    let identities = identities(&waits, &names, &Programs::from_timeline(timeline), &sites);
    let name = |futex: FutexId| {
        let identity = identities.get(&names.lock(futex))?;
        let site = || identity.site.as_ref().map(Place::in_words);
        let runtime = identity.runtime.map(|runtime| match runtime {
            RuntimeLock::PythonGil => "Python's global lock (GIL)".to_owned(),
            RuntimeLock::MallocArena => "malloc's arenas".to_owned(),
        });
        runtime.or_else(|| identity.name.clone()).or_else(|| site().map(|place| format!("a lock in {place}")))
    };
    waits.into_iter().filter_map(|(_, futex)| Some((futex, name(futex)?))).collect()
}

/// Waits for locks of the program's own, and the futex of each.
fn lock_waits(timeline: &Timeline, causes: &[Cause]) -> Vec<(WaitId, FutexId)> {
    let waits = (0..).map(WaitId).zip(timeline.waits.iter().zip(causes));
    let of_locks = waits.filter(|(_, (_, cause))| **cause == Cause::UserLock);
    of_locks.filter_map(|(id, (wait, _))| Some((id, awaited_futex(timeline, wait)?))).collect()
}

/// Identity of each lock, by its first wait.
fn identities(
    waits: &[(WaitId, FutexId)],
    names: &LockNames<'_>,
    programs: &Programs,
    sites: &CodeSites<'_>,
) -> HashMap<FutexId, Identity> {
    let in_allocator = waits.iter().filter(|(id, _)| sites.is_in_allocator(*id));
    let arenas: HashSet<FutexId> = in_allocator.map(|(_, futex)| names.lock(*futex)).collect();
    let mut identities: HashMap<FutexId, Identity> = HashMap::new();
    for (id, futex) in waits {
        let lock = names.lock(*futex);
        identities.entry(lock).or_insert_with(|| {
            let wait = names.timeline.wait(*id);
            let arena = arenas.contains(&lock).then_some(RuntimeLock::MallocArena);
            let runtime = names.runtime(lock).or(arena);
            // All arenas are one row.
            let variable = names.variable(lock).or_else(|| names.variable(*futex));
            let name = variable.filter(|_| arena.is_none()).map(place_in_variable);
            let is_unnamed = name.is_none() && runtime.is_none();
            let site = if is_unnamed { sites.wait_place(*id).map(Place::without_line) } else { None };
            Identity {
                command: programs.name(programs.program_at(wait.thread, wait.from)),
                runtime,
                lock: (is_unnamed && site.is_none()).then_some(lock),
                name,
                site,
            }
        });
    }
    identities
}

/// Property that waits of one row share: the name of their lock; without a name the place that
/// first waited for it; without that the lock itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Identity {
    command: String,
    name: Option<String>,
    runtime: Option<RuntimeLock>,
    site: Option<Place>,
    lock: Option<FutexId>,
}

/// Sums of one row.
#[derive(Debug, Default)]
struct Row {
    waits: Durations,
    holds: Durations,
    /// Time of the holds in seconds, by the name of the thread.
    held_by: BTreeMap<Comm, f64>,
    max_wait_s: f64,
}

impl Row {
    fn into_view(self, identity: Identity) -> UserLockView {
        let owner = |(thread, held_s): (Comm, f64)| LockOwner { thread: thread.to_string(), held_s };
        let mut owners: Vec<LockOwner> = self.held_by.into_iter().map(owner).collect();
        owners.sort_by(|one, other| other.held_s.total_cmp(&one.held_s));
        UserLockView {
            command: identity.command,
            name: identity.name,
            runtime: identity.runtime,
            waits: self.waits.count(),
            wait_s: self.waits.total_s(),
            max_wait_s: self.max_wait_s,
            held_s: self.holds.total_s(),
            sites: self.waits.sites(),
            holders: self.holds.sites(),
            owners,
        }
    }
}

/// Names of the locks of a trace.
struct LockNames<'a> {
    timeline: &'a Timeline,
    /// Variables by process and address.
    variables: HashMap<(u32, u64), &'a Variable>,
    /// Locks that are a condition variable with time-outs.
    timed: HashSet<FutexId>,
    /// Those of them that are global locks of CPython.
    python: BTreeSet<FutexId>,
}

impl<'a> LockNames<'a> {
    fn new(facts: &'a TraceFacts, timeline: &'a Timeline, sites: &CodeSites<'_>) -> Self {
        let variables = facts.variables.iter();
        let mut names = Self {
            timeline,
            variables: variables.map(|variable| ((variable.process.0, variable.address), variable)).collect(),
            timed: timed_locks(timeline),
            python: BTreeSet::new(),
        };
        let is_of_python =
            |condition: &FutexId| names.variable(*condition).is_some_and(|own| own.name == PYTHON_RUNTIME);
        let by_variable = names.timed.iter().filter(|condition| is_of_python(condition)).copied();
        names.python = by_variable.chain(python_locks_by_stacks(timeline, sites, &names.timed)).collect();
        names
    }

    /// Lock of a futex: both words of a condition variable are one, and all words of a global lock
    /// of CPython.
    fn lock(&self, futex: FutexId) -> FutexId {
        let (process, address) = futex;
        let condition = condition_id(futex);
        let is_part =
            |(_, start): &&FutexId| (*start..start.saturating_add(PYTHON_LOCK_LENGTH)).contains(&address);
        match self.python.range((process, 0)..=(process, address)).next_back().filter(is_part) {
            Some(python) => *python,
            None if self.timed.contains(&condition) => condition,
            None => futex,
        }
    }

    /// Whether a futex is a word of a lock with time-outs.
    fn is_timed(&self, futex: FutexId) -> bool {
        self.timed.contains(&condition_id(futex))
    }

    /// Variable that contains a futex, or a word of a condition variable.
    fn variable(&self, (process, address): FutexId) -> Option<&'a Variable> {
        let process = self.timeline.thread(process).tid.0;
        let at = |address: u64| self.variables.get(&(process, address)).copied();
        let is_condition = self.timed.iter().any(|(_, condition)| *condition == address);
        at(address).or_else(|| at(address.saturating_add(4)).filter(|_| is_condition))
    }

    /// Lock of a runtime that a lock is.
    fn runtime(&self, lock: FutexId) -> Option<RuntimeLock> {
        self.python.contains(&lock).then_some(RuntimeLock::PythonGil)
    }
}

/// Locks with time-outs for which most threads wait in the functions of CPython that take its
/// global lock.
fn python_locks_by_stacks(
    timeline: &Timeline,
    sites: &CodeSites<'_>,
    timed: &HashSet<FutexId>,
) -> Vec<FutexId> {
    let mut weights: HashMap<FutexId, (f64, f64)> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        let lock = awaited_futex(timeline, wait).map(condition_id).filter(|lock| timed.contains(lock));
        if let Some((lock, (functions, weight))) = lock.zip(sites.wait_functions(id)) {
            let (python, all) = weights.entry(lock).or_default();
            *all += weight;
            *python += if waits_for_python_lock(functions) { weight } else { 0.0 };
        }
    }
    weights.into_iter().filter(|(_, (python, all))| 2.0 * python > *all).map(|(lock, _)| lock).collect()
}

/// Name of a variable, with the offset of the futex in it.
pub(super) fn place_in_variable(variable: &Variable) -> String {
    match variable.offset {
        0 => variable.name.clone(),
        offset => format!("{}+{offset:#x}", variable.name),
    }
}
