//! Activity of a thread of an OpenMP program, by one of its stacks. This module knows no times.
//!
//! A thread of the runtime's pool has the runtime as its outermost code. Any other thread has a
//! parallel region open while it is below a call of the runtime that opens one.

use std::collections::{BTreeSet, HashSet};

use morecores_study::trace::{CodeAddress, StackEnd};

use crate::tables::code::{Code, CodeMap};
use crate::tables::runtimes::{OpenMpPurpose, is_openmp_file, openmp_purpose};
use crate::trace::{Cause, RecordedStack, Timeline, WaitId};

/// Beginnings of the names of files between the runtime and the program, or below the first
/// function of a thread.
const SYSTEM_FILES: [&str; 7] =
    ["[vdso]", "ld-linux", "ld-musl", "libc.so", "libc-2.", "libc.musl", "libpthread"];

/// Parallel region, as far as one stack shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region {
    /// Place that opens the region; `None` for a thread of the pool.
    pub(super) site: Option<CodeAddress>,
    /// Function with the code of the region; `None` while the thread is in none of its code.
    pub(super) function: Option<Code>,
}

/// Activity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Activity {
    /// Outside all regions.
    Outside,
    /// Work in a region, or a wait for anything but its team.
    Work(Region),
    /// Wait for the team in a region.
    Wait(Region),
    /// Wait of a thread of the pool that is in the code of no region.
    Pool,
}

/// Owner of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Program,
    Runtime,
    System,
}

/// Neighbouring frames with the same owner.
#[derive(Clone, Copy, Debug)]
struct Run {
    owner: Owner,
    outermost: CodeAddress,
    innermost: CodeAddress,
}

/// Reader of the stacks of a trace.
pub(super) struct StackReader<'a> {
    map: &'a CodeMap<'a>,
    timeline: &'a Timeline,
    /// Owners of the modules.
    owners: Vec<Owner>,
    /// Places that open regions.
    sites: HashSet<CodeAddress>,
    /// Functions of the runtime in which threads waited for locks.
    lock_functions: BTreeSet<Code>,
}

impl<'a> StackReader<'a> {
    /// Reader of the stacks; `None` if the trace shows no runtime of OpenMP. `causes` are those of
    /// the idle rule.
    pub(super) fn new(map: &'a CodeMap<'a>, timeline: &'a Timeline, causes: &[Cause]) -> Option<Self> {
        let owner = |file: &str| match file {
            file if is_openmp_file(file) => Owner::Runtime,
            file if SYSTEM_FILES.iter().any(|start| file.starts_with(start)) => Owner::System,
            _ => Owner::Program,
        };
        let owners: Vec<Owner> = map.files().map(owner).collect();
        if !owners.contains(&Owner::Runtime) {
            return None;
        }
        let (sites, lock_functions) = (HashSet::new(), BTreeSet::new());
        let mut reader = Self { map, timeline, owners, sites, lock_functions };
        let stacks = &timeline.user_stacks;
        let of_samples = timeline.samples.iter().filter_map(|sample| sample.stack.as_ref());
        for stack in of_samples.chain(stacks.at_waits.iter().map(|(_, stack)| stack)) {
            if let [Run { owner: Owner::Program, innermost, .. }, runtime, body @ ..] =
                &reader.runs(stack)[..]
            {
                let opens = match reader.purpose(runtime.outermost) {
                    Some(OpenMpPurpose::Region) => true,
                    Some(_) => false,
                    None => !body.is_empty(),
                };
                reader.sites.extend(opens.then_some(*innermost));
            }
        }
        for (WaitId(wait), stack) in &stacks.at_waits {
            let runs =
                if causes[*wait as usize] == Cause::UserLock { reader.runs(stack) } else { Vec::new() };
            let last = runs.last().filter(|run| run.owner == Owner::Runtime && runs.len() > 1);
            reader.lock_functions.extend(last.map(|run| map.code_at(run.outermost)));
        }
        Some(reader)
    }

    /// Whether the stack is that of a thread of the runtime's pool.
    pub(super) fn is_of_pool(&self, stack: &RecordedStack) -> bool {
        stack.end == StackEnd::Outermost
            && self.runs(stack).first().is_some_and(|run| run.owner == Owner::Runtime)
    }

    /// Activity of a thread with this stack; `None` if the stack is not complete. `seems_to_wait`
    /// says whether the thread sleeps or spins, for a function of the runtime that is not exported.
    pub(super) fn activity(&self, stack: &RecordedStack, seems_to_wait: bool) -> Option<Activity> {
        if stack.end != StackEnd::Outermost {
            return None;
        }
        let runs = self.runs(stack);
        let waits_in = |entry: CodeAddress| match self.purpose(entry) {
            Some(purpose) => purpose == OpenMpPurpose::Wait,
            None => seems_to_wait && !self.lock_functions.contains(&self.map.code_at(entry)),
        };
        let in_body = |site: Option<CodeAddress>, body: &[Run]| {
            let function = body.first().map(|run| self.map.code_at(run.outermost));
            let region = Region { site, function };
            match body {
                [_, last] if waits_in(last.outermost) => Activity::Wait(region),
                _ => Activity::Work(region),
            }
        };
        Some(match &runs[..] {
            [Run { owner: Owner::Runtime, .. }] => Activity::Pool,
            [Run { owner: Owner::Runtime, .. }, body @ ..] => in_body(None, body),
            [Run { innermost: site, .. }, _] if self.sites.contains(site) => {
                Activity::Wait(Region { site: Some(*site), function: None })
            }
            [Run { innermost: site, .. }, _, body @ ..] if self.sites.contains(site) && !body.is_empty() => {
                in_body(Some(*site), body)
            }
            _ => Activity::Outside,
        })
    }

    /// Purpose of the function with this code of the runtime.
    fn purpose(&self, code: CodeAddress) -> Option<OpenMpPurpose> {
        openmp_purpose(self.map.symbol(self.map.code_at(code))?)
    }

    /// Frames by their owners, the outermost first, without those of the system.
    fn runs(&self, stack: &RecordedStack) -> Vec<Run> {
        let owner =
            |code: CodeAddress| self.owners.get(code.module as usize).copied().unwrap_or(Owner::Program);
        let mut runs: Vec<Run> = Vec::new();
        for code in self.timeline.user_stacks.code(stack) {
            match (owner(code), runs.last_mut()) {
                (Owner::System, _) => {}
                (owner, Some(run)) if run.owner == owner => run.outermost = code,
                (owner, _) => runs.push(Run { owner, outermost: code, innermost: code }),
            }
        }
        runs.reverse();
        runs
    }
}
