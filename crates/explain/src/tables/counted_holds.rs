//! The table of all holds of the command's own locks, where each was counted at the C library's
//! functions. The time of the probes within the holds is subtracted.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::{LockMode, LockUse, LockUses, StackEnd, Tid, TraceFacts};
use morecores_view::code::{CodeSite, LockHoldsView, WaitKind};

use super::code::{Call, CodeMap};
use super::programs::Programs;
use super::user_locks::place_in_variable;
use super::wait_places::{NamedFrame, WaitPlace, find_place};
use crate::trace::{ThreadId, Timeline};

/// Rows of all locks, longest holds first; `None` if the holds were not counted.
pub(super) fn counted_holds(
    facts: &TraceFacts,
    timeline: &Timeline,
    programs: &Programs,
    map: &CodeMap<'_>,
) -> Option<Vec<LockHoldsView>> {
    let LockUses { uses, probes_ns, .. } = facts.lock_uses.as_ref()?;
    let probes = probes_ns.unwrap_or_default();
    let variables = facts.variables.iter();
    let variables: HashMap<_, _> =
        variables.map(|variable| ((variable.process, variable.address), variable)).collect();
    let mut threads: HashMap<Tid, Vec<ThreadId>> = HashMap::new();
    for id in (0..timeline.threads.len() as u32).map(ThreadId) {
        threads.entry(timeline.thread(id).tid).or_default().push(id);
    }
    let command = |held: &LockUse| {
        let numbered = threads.get(&held.process).map(Vec::as_slice).unwrap_or_default();
        command(held, timeline, numbered, programs)
    };
    let mut rows: HashMap<Identity, LockHoldsView> = HashMap::new();
    for held in uses {
        let site = site(held, probes, map);
        let name = variables.get(&(held.process, held.address)).map(|variable| place_in_variable(variable));
        let identity = Identity {
            command: command(held),
            place: if name.is_none() { site.as_ref().map(|site| site.function.clone()) } else { None },
            name,
            mode: held.mode,
        };
        let row = rows.entry(identity).or_insert_with_key(|identity| LockHoldsView {
            command: identity.command.clone(),
            name: identity.name.clone(),
            mode: held.mode,
            holds: 0,
            held_s: 0.0,
            max_hold_s: 0.0,
            probes_s: 0.0,
            sites: Vec::new(),
        });
        row.holds += held.count;
        row.held_s += without_probes(held, probes).as_secs_f64();
        row.probes_s += Nanos(probes.0.saturating_mul(held.count)).min(held.held_ns).as_secs_f64();
        row.max_hold_s = row.max_hold_s.max(held.longest_ns.since(probes).as_secs_f64());
        row.sites.extend(site);
    }
    let mut rows: Vec<(Identity, LockHoldsView)> = rows.into_iter().collect();
    rows.sort_by(|(a, one), (b, other)| other.held_s.total_cmp(&one.held_s).then_with(|| a.cmp(b)));
    Some(rows.into_iter().map(|(_, row)| LockHoldsView { sites: merge_sites(row.sites), ..row }).collect())
}

/// Property that the holds of one row share: the name of their lock; without a name the function
/// that takes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Identity {
    command: String,
    name: Option<String>,
    place: Option<String>,
    mode: LockMode,
}

fn without_probes(held: &LockUse, probes: Nanos) -> Nanos {
    held.held_ns.since(Nanos(probes.0.saturating_mul(held.count)))
}

/// Command whose process held the lock; empty if the trace lost its creation. `numbered` are the
/// threads that had the number of the process, one after the other.
fn command(held: &LockUse, timeline: &Timeline, numbered: &[ThreadId], programs: &Programs) -> String {
    let is_alive = |id: &ThreadId| {
        let thread = timeline.thread(*id);
        let began = thread.created.unwrap_or_default();
        (began..=thread.ended.unwrap_or(Nanos(u64::MAX))).contains(&held.last_ns)
    };
    let thread = numbered.iter().find(|id| is_alive(id));
    thread.map_or_else(String::new, |thread| programs.name(programs.program_at(*thread, held.last_ns)))
}

/// Function that took the lock, outside the libraries if the call was inlined from one.
fn site(held: &LockUse, probes: Nanos, map: &CodeMap<'_>) -> Option<CodeSite> {
    let code = held.code?;
    let calls: Vec<Call> = map.calls_at(Some(held.process), code).collect();
    let names = calls.iter().map(|call| NamedFrame {
        file: map.file(code.module),
        function: map.name(call.code),
        is_known: call.code.is_function(),
    });
    let place = find_place(names, StackEnd::Outermost);
    let call = calls.get(place.map_or(0, |WaitPlace { index, .. }| index))?;
    Some(CodeSite {
        function: map.name(call.code),
        source: map.source(call.code, call.line),
        module: map.module(call.code),
        caller: None,
        kind: Some(match held.mode {
            LockMode::Mutex => WaitKind::Mutex,
            LockMode::Read | LockMode::Write => WaitKind::ReadWriteLock,
        }),
        count: held.count as f64,
        seconds: without_probes(held, probes).as_secs_f64(),
        seconds_error: 0.0,
    })
}

/// Sums of the sites of each function and line, longest holds first.
fn merge_sites(sites: Vec<CodeSite>) -> Vec<CodeSite> {
    let mut merged: Vec<CodeSite> = Vec::new();
    for site in sites {
        let is_same = |other: &&mut CodeSite| {
            (&other.function, &other.source, &other.module) == (&site.function, &site.source, &site.module)
        };
        match merged.iter_mut().find(is_same) {
            Some(other) => {
                other.count += site.count;
                other.seconds += site.seconds;
            }
            None => merged.push(site),
        }
    }
    merged.sort_by(|one, other| {
        other.seconds.total_cmp(&one.seconds).then_with(|| one.function.cmp(&other.function))
    });
    merged
}
