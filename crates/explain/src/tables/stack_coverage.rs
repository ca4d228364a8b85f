//! Number of moments with a recorded user stack. This module looks into no stack.

use morecores_study::trace::{SampleMode, StackEnd};
use morecores_view::code::StackCoverage;

use crate::trace::{RecordedStack, Timeline, WakeUp};

/// Coverage of the tree's moments; `None` for a trace without stacks.
pub(super) fn stack_coverage(timeline: &Timeline) -> Option<StackCoverage> {
    let stacks = &timeline.user_stacks;
    let in_tree = |thread| timeline.thread(thread).in_tree;
    let samples = timeline
        .samples
        .iter()
        .filter(|sample| sample.thread.is_some_and(in_tree) && sample.mode != SampleMode::Interrupt);
    let of_samples = samples.clone().filter_map(|sample| sample.stack.as_ref());
    let waits = timeline.waits.iter().filter(|wait| in_tree(wait.thread));
    let wakes = waits.clone().filter(|wait| WakeUp::from_wait(wait).is_some_and(|wake| in_tree(wake.by)));
    let all =
        of_samples.clone().chain(stacks.at_waits.iter().chain(&stacks.at_wakes).map(|(_, stack)| stack));
    let is_complete = |stack: &&RecordedStack| stack.end == StackEnd::Outermost;
    let coverage = StackCoverage {
        samples: samples.count() as u64,
        sample_stacks: of_samples.count() as u64,
        waits: waits.count() as u64,
        wait_stacks: stacks.at_waits.len() as u64,
        wakes: wakes.count() as u64,
        wake_stacks: stacks.at_wakes.len() as u64,
        complete: all.filter(is_complete).count() as u64,
    };
    (coverage.stacks() > 0).then_some(coverage)
}
