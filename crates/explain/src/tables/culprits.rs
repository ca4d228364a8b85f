//! Users of the CPUs while CPUs were idle or missing: the commands that ran while other CPUs were
//! idle for lack of parallel work, and the processes outside the tree that took CPU time from it.

use std::collections::{BTreeMap, HashMap};

use morecores_study::trace::Call;
use morecores_view::{Culprit, NOBODY};

use super::programs::Programs;
use crate::trace::{Charge, Occupant, Shares, Timeline, call_name};

/// Idle time charged to one command, in seconds, and its division by the call in which most other
/// threads waited.
#[derive(Debug, Default)]
struct Charged {
    seconds: f64,
    by_call: HashMap<Option<Call>, f64>,
}

/// The idle rule's charges by command, largest first; their sum is the component.
pub(super) fn culprits(
    timeline: &Timeline,
    programs: &Programs,
    charges: &[Charge],
    arch: &str,
) -> Vec<Culprit> {
    let mut by_name: BTreeMap<String, Charged> = BTreeMap::new();
    for charge in charges {
        let name = match charge.thread {
            Some(id) => {
                let since = timeline.thread(id).names.get(charge.naming).map(|named| named.from);
                programs.name(programs.at(id, since.unwrap_or_default()))
            }
            None => NOBODY.to_owned(),
        };
        let charged = by_name.entry(name).or_default();
        charged.seconds += charge.seconds;
        *charged.by_call.entry(charge.waiting_in).or_default() += charge.seconds;
    }
    let mut culprits: Vec<Culprit> = by_name
        .into_iter()
        .map(|(name, charged)| Culprit {
            name,
            lost_cpus: charged.seconds,
            waiting_in: waiting_in(charged.by_call, arch),
        })
        .collect();
    culprits.sort_by(|a, b| b.lost_cpus.total_cmp(&a.lost_cpus));
    culprits
}

/// Call with the most seconds; in a tie the first by name, so that the result does not depend on
/// the hash order.
fn waiting_in(by_call: HashMap<Option<Call>, f64>, arch: &str) -> Option<String> {
    let mut named: Vec<(Option<String>, f64)> =
        by_call.into_iter().map(|(call, s)| (call.and_then(|call| call_name(call, arch)), s)).collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    named.into_iter().next().and_then(|(name, _)| name)
}

/// CPU time on the allotted CPUs of all threads outside the tree except the tracer, in seconds, by
/// name, largest first. Threads that the trace does not show have no name and are missing.
pub(super) fn others(timeline: &Timeline, shares: &[Vec<Shares>], programs: &Programs) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    let allotted = timeline.cpus.iter().zip(shares).filter(|(cpu, _)| cpu.allotted);
    for (stretch, parts) in allotted.flat_map(|(cpu, shares)| cpu.stretches.iter().zip(shares)) {
        let Occupant::Thread(id) = stretch.who else { continue };
        let thread = timeline.thread(id);
        if !thread.in_tree && !thread.tracer {
            *by_name.entry(programs.name_of(timeline, id, stretch.from)).or_default() += parts.rest;
        }
    }
    let mut others: Vec<(String, f64)> = by_name.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others
}
