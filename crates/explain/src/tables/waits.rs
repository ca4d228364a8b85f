//! The table of all waits of the command's threads, by their place in the code.

use std::collections::{BTreeMap, HashMap};

use morecores_study::trace::Call;
use morecores_view::code::WaitView;

use super::code_sites::{CodeSites, Durations};
use super::programs::{ProgramId, Programs};
use crate::trace::{Timeline, WaitId, call_name};

/// Part of all waiting time from which a place has a row. A choice: ten rows hold most of it.
const LEAST_SHARE: f64 = 0.01;

/// Rows of the places, longest waits first; none without stacks.
pub(super) fn waits(
    timeline: &Timeline,
    programs: &Programs,
    sites: &CodeSites<'_>,
    arch: &str,
) -> Vec<WaitView> {
    let mut groups: BTreeMap<(ProgramId, Option<String>), Durations> = BTreeMap::new();
    let mut names: HashMap<Call, Option<String>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        if timeline.thread(wait.thread).in_tree {
            let call = names.entry(wait.call).or_insert_with(|| call_name(wait.call, arch)).clone();
            let group = groups.entry((programs.program_at(wait.thread, wait.from), call)).or_default();
            sites.add_wait(id, group);
        }
    }
    let all: f64 = groups.values().map(Durations::total_s).sum();
    let rows = groups.iter().flat_map(|((program, call), durations)| {
        let row = |site| WaitView { command: programs.name(*program), call: call.clone(), site };
        durations.sites().into_iter().map(row)
    });
    let mut rows: Vec<WaitView> = rows.filter(|row| row.site.seconds >= LEAST_SHARE * all).collect();
    rows.sort_by(|one, other| other.site.seconds.total_cmp(&one.site.seconds));
    rows
}
