//! Users of the CPUs while CPUs were idle or missing: the commands that ran while other CPUs were
//! idle for lack of parallel work, and the processes outside the tree that took CPU time from it.

use std::collections::{BTreeMap, HashMap};

use morecores_study::trace::Call;
use morecores_view::{Culprit, NO_CULPRIT};

use super::programs::Programs;
use crate::trace::{Charge, Occupant, SpanParts, Timeline, call_name};

/// Idle time charged to one command, in seconds, and its division by the call in which most other
/// threads waited.
#[derive(Debug, Default)]
struct CommandCharge {
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
    let mut by_name: BTreeMap<String, CommandCharge> = BTreeMap::new();
    for charge in charges {
        let name = match charge.thread {
            Some(id) => programs.name(programs.charged_program(timeline, id, charge.name_index)),
            None => NO_CULPRIT.to_owned(),
        };
        let command = by_name.entry(name).or_default();
        command.seconds += charge.seconds;
        *command.by_call.entry(charge.waiting_in).or_default() += charge.seconds;
    }
    let mut culprits: Vec<Culprit> = by_name
        .into_iter()
        .map(|(name, command)| Culprit {
            name,
            lost_cpus: command.seconds,
            waiting_in: most_waited_call(command.by_call, arch),
        })
        .collect();
    culprits.sort_by(|a, b| b.lost_cpus.total_cmp(&a.lost_cpus));
    culprits
}

/// Call with the most seconds; in a tie the first by name, so that the result does not depend on
/// the hash order.
fn most_waited_call(by_call: HashMap<Option<Call>, f64>, arch: &str) -> Option<String> {
    let mut calls: Vec<(Option<String>, f64)> =
        by_call.into_iter().map(|(call, s)| (call.and_then(|call| call_name(call, arch)), s)).collect();
    calls.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    calls.into_iter().next().and_then(|(name, _)| name)
}

/// CPU time on the allotted CPUs of all threads outside the tree except the tracer, in seconds, by
/// name, largest first. Threads that the trace does not show have no name and are missing.
pub(super) fn other_programs(
    timeline: &Timeline,
    span_parts: &[Vec<SpanParts>],
    programs: &Programs,
) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    let allotted = timeline.cpus.iter().zip(span_parts).filter(|(cpu, _)| cpu.allotted);
    for (span, parts) in allotted.flat_map(|(cpu, span_parts)| cpu.spans.iter().zip(span_parts)) {
        let Occupant::Thread(id) = span.occupant else { continue };
        let thread = timeline.thread(id);
        if !thread.in_tree && !thread.tracer {
            *by_name.entry(programs.thread_name(timeline, id, span.from)).or_default() += parts.occupant;
        }
    }
    let mut others: Vec<(String, f64)> = by_name.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others
}
