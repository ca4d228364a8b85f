//! The table of the command's own locks: their waits, and the time for which each was held while
//! threads waited for it. A lock has the name of its variable, and none if the trace has no name.

use std::collections::{HashMap, HashSet};

use morecores_study::trace::{TraceFacts, Variable};
use morecores_view::code::{RuntimeLock, UserLockView};

use super::programs::Programs;
use crate::trace::{
    Cause, FutexId, Timeline, awaited_futex, condition_id, futex_uses, lock_holds, timed_locks,
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
) -> Vec<UserLockView> {
    let mut rows: HashMap<FutexId, UserLockView> = HashMap::new();
    let names = LockNames::new(facts, timeline);
    for (wait, cause) in timeline.waits.iter().zip(causes) {
        let Some(futex) = awaited_futex(timeline, wait).filter(|_| *cause == Cause::UserLock) else {
            continue;
        };
        let row = rows.entry(names.lock(futex)).or_insert_with(|| UserLockView {
            command: programs.name(programs.program_at(wait.thread, wait.from)),
            name: names.variable(futex).map(place_in_variable),
            runtime: names.runtime(futex),
            waits: 0,
            wait_s: 0.0,
            max_wait_s: 0.0,
            held_s: 0.0,
        });
        let waited = wait.to.since(wait.from).as_secs_f64();
        row.waits += 1;
        row.wait_s += waited;
        row.max_wait_s = row.max_wait_s.max(waited);
    }
    for hold in lock_holds(timeline, &futex_uses(timeline)) {
        if let Some(row) = rows.get_mut(&names.lock(hold.lock)) {
            row.held_s += hold.to.since(hold.from).as_secs_f64();
        }
    }
    let mut rows: Vec<(FutexId, UserLockView)> = rows.into_iter().collect();
    rows.sort_by(|(a, one), (b, other)| other.wait_s.total_cmp(&one.wait_s).then(a.cmp(b)));
    rows.into_iter().map(|(_, row)| row).collect()
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
