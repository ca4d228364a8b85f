//! The table of the command's own locks: their waits, and the time for which each was held while
//! threads waited for it. A lock has the name of its variable, and none if the trace has no name.

use std::collections::{HashMap, HashSet};

use morecores_study::trace::{TraceFacts, Variable};
use morecores_view::code::{RuntimeLock, UserLockView};

use super::code_sites::{CodeSites, Durations, Place};
use super::programs::Programs;
use crate::DecodedTrace;
use crate::trace::{
    Cause, FutexId, Timeline, WaitId, awaited_futex, condition_id, futex_uses, idle_causes, lock_holds,
    timed_locks,
};

/// Variable of CPython with the state of its interpreter. Its lock with time-outs is the global
/// interpreter lock.
const PYTHON_RUNTIME: &str = "_PyRuntime";

/// Rows of all locks, longest waits first. `causes` are those of the idle rule: a wait counts if a
/// lock of the program's own is its cause.
pub(super) fn user_locks(
    facts: &TraceFacts,
    timeline: &Timeline,
    programs: &Programs,
    causes: &[Cause],
    sites: &CodeSites<'_>,
) -> Vec<UserLockView> {
    let names = LockNames::new(facts, timeline);
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
    for hold in lock_holds(timeline, &futex_uses(timeline)) {
        let row = identities.get(&names.lock(hold.lock)).and_then(|identity| rows.get_mut(identity));
        if let Some(row) = row {
            sites.add_hold(&hold, &mut row.holds);
        }
    }
    let mut rows: Vec<(Identity, Row)> = rows.into_iter().collect();
    rows.sort_by(|(a, one), (b, other)| {
        other.waits.total_s().total_cmp(&one.waits.total_s()).then_with(|| a.cmp(b))
    });
    rows.into_iter().map(|(identity, row)| row.into_view(identity)).collect()
}

/// Names of the locks of a trace, as far as they are known: the variable, Python's global lock, or
/// the function that waits for it.
pub fn user_lock_names(trace: &DecodedTrace<'_>) -> HashMap<FutexId, String> {
    let (facts, timeline) = (&trace.header.facts, &trace.timeline);
    let (names, sites) = (LockNames::new(facts, timeline), CodeSites::new(facts, timeline));
    let waits = lock_waits(timeline, &idle_causes(timeline));
    let identities = identities(&waits, &names, &Programs::from_timeline(timeline), &sites);
    let name = |futex: FutexId| {
        let identity = identities.get(&names.lock(futex))?;
        let site = || identity.site.as_ref().map(Place::in_words);
        let runtime = identity.runtime.map(|RuntimeLock::PythonGil| "Python's global lock (GIL)".to_owned());
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
    let mut identities: HashMap<FutexId, Identity> = HashMap::new();
    for (id, futex) in waits {
        let lock = names.lock(*futex);
        identities.entry(lock).or_insert_with(|| {
            let wait = names.timeline.wait(*id);
            let name = names.variable(*futex).map(place_in_variable);
            let site = if name.is_none() { sites.wait_place(*id) } else { None };
            Identity {
                command: programs.name(programs.program_at(wait.thread, wait.from)),
                runtime: names.runtime(*futex),
                lock: (name.is_none() && site.is_none()).then_some(lock),
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
    max_wait_s: f64,
}

impl Row {
    fn into_view(self, identity: Identity) -> UserLockView {
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
}

impl<'a> LockNames<'a> {
    fn new(facts: &'a TraceFacts, timeline: &'a Timeline) -> Self {
        let variables = facts.variables.iter();
        Self {
            timeline,
            variables: variables.map(|variable| ((variable.process.0, variable.address), variable)).collect(),
            timed: timed_locks(timeline),
        }
    }

    /// Lock of a futex: both words of a condition variable are one.
    fn lock(&self, futex: FutexId) -> FutexId {
        let condition = condition_id(futex);
        if self.timed.contains(&condition) { condition } else { futex }
    }

    /// Variable that contains a futex.
    fn variable(&self, (process, address): FutexId) -> Option<&'a Variable> {
        self.variables.get(&(self.timeline.thread(process).tid.0, address)).copied()
    }

    /// Lock of a runtime that a futex is.
    fn runtime(&self, futex: FutexId) -> Option<RuntimeLock> {
        let is_python = self.variable(futex)?.name == PYTHON_RUNTIME;
        (is_python && self.timed.contains(&condition_id(futex))).then_some(RuntimeLock::PythonGil)
    }
}

/// Name of a variable, with the offset of the futex in it.
fn place_in_variable(variable: &Variable) -> String {
    match variable.offset {
        0 => variable.name.clone(),
        offset => format!("{}+{offset:#x}", variable.name),
    }
}
