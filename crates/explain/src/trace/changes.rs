//! A timeline as a list of changes, the input of the idle rule. This module decides nothing.

use morecores_study::Nanos;

use super::causes::Cause;
use super::futexes::futex_uses;
use super::holders::{HolderWait, holder_waits};
use super::timeline::{Occupant, ThreadId, Timeline};

/// A change at an instant.
pub(super) struct Change {
    pub(super) at: Nanos,
    pub(super) kind: ChangeKind,
}

#[derive(Clone, Copy)]
pub(super) enum ChangeKind {
    /// A thread enters its segment of this index.
    EnterSegment(ThreadId, u32),
    /// A thread has no known state any more.
    LeaveSegments(ThreadId),
    /// A thread takes its name of this index.
    Rename(ThreadId, u32),
    /// A confinement, by its index, begins.
    Confine(u32),
    /// A CPU, by its index, becomes idle with its span of this index, or stops being idle.
    CpuIdle(u32, Option<u32>),
    /// The holder of a lock that a thread waits for begins to wait for this cause, or stops.
    HolderWait(HolderWait, bool),
    /// The sample of this index is taken.
    Sample(u32),
}

/// All changes that matter to the idle rule, in the order of time. `causes` are the causes of the
/// waits.
pub(super) fn changes(timeline: &Timeline, causes: &[Cause]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (from, to, cause) in holder_waits(timeline, causes, &futex_uses(timeline)) {
        changes.push(Change { at: from, kind: ChangeKind::HolderWait(cause, true) });
        changes.push(Change { at: to, kind: ChangeKind::HolderWait(cause, false) });
    }
    for (id, thread) in timeline.tree() {
        for (index, segment) in thread.segments.iter().enumerate() {
            changes.push(Change { at: segment.from, kind: ChangeKind::EnterSegment(id, index as u32) });
            if thread.segments.get(index + 1).is_none_or(|next| next.from > segment.to) {
                changes.push(Change { at: segment.to, kind: ChangeKind::LeaveSegments(id) });
            }
        }
        for (index, name) in thread.names.iter().enumerate().skip(1) {
            changes.push(Change {
                at: name.from.max(timeline.began),
                kind: ChangeKind::Rename(id, index as u32),
            });
        }
    }
    for (index, confinement) in timeline.confinements.iter().enumerate() {
        if timeline.thread(confinement.thread).in_tree {
            changes.push(Change {
                at: confinement.at.max(timeline.began),
                kind: ChangeKind::Confine(index as u32),
            });
        }
    }
    for (cpu_index, cpu) in timeline.cpus.iter().enumerate().filter(|(_, cpu)| cpu.allotted) {
        let mut was_idle = false;
        for (index, span) in cpu.spans.iter().enumerate() {
            let is_idle = span.occupant == Occupant::Idle;
            if is_idle || was_idle {
                let span_index = is_idle.then_some(index as u32);
                changes
                    .push(Change { at: span.from, kind: ChangeKind::CpuIdle(cpu_index as u32, span_index) });
            }
            was_idle = is_idle;
        }
    }
    // The order is stable: a sample shows the state after all changes of its instant.
    let samples = timeline.samples.iter().zip(0..);
    changes.extend(samples.map(|(sample, index)| Change { at: sample.at, kind: ChangeKind::Sample(index) }));
    changes.sort_by_key(|change| change.at);
    changes
}
