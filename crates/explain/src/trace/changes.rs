//! A timeline as a list of changes, the input of the idle rule. This module decides nothing.

use morecores_study::Nanos;

use super::causes::Cause;
use super::futexes::futex_uses;
use super::holders::{Behind, behind};
use super::timeline::{Occupant, ThreadId, Timeline};

/// A change at an instant.
pub(super) struct Change {
    pub(super) at: Nanos,
    pub(super) what: What,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    /// A thread enters its segment of this index.
    Into(ThreadId, u32),
    /// A thread has no known state any more.
    Out(ThreadId),
    /// A thread takes its name of this index.
    Name(ThreadId, u32),
    /// A confinement, by its index, begins.
    Confine(u32),
    /// A CPU, by its place, becomes idle with its stretch of this index, or stops being idle.
    Idle(u32, Option<u32>),
    /// The holder of a lock that a thread waits for begins to wait for this cause, or stops.
    Behind(Behind, bool),
}

/// All changes that matter to the idle rule, in the order of time. `causes` are the causes of the
/// waits.
pub(super) fn changes(timeline: &Timeline, causes: &[Cause]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (from, to, what) in behind(timeline, causes, &futex_uses(timeline)) {
        changes.push(Change { at: from, what: What::Behind(what, true) });
        changes.push(Change { at: to, what: What::Behind(what, false) });
    }
    for (id, thread) in timeline.tree() {
        for (index, segment) in thread.segments.iter().enumerate() {
            changes.push(Change { at: segment.from, what: What::Into(id, index as u32) });
            if thread.segments.get(index + 1).is_none_or(|next| next.from > segment.to) {
                changes.push(Change { at: segment.to, what: What::Out(id) });
            }
        }
        for (index, named) in thread.names.iter().enumerate().skip(1) {
            changes.push(Change { at: named.from.max(timeline.began), what: What::Name(id, index as u32) });
        }
    }
    for (index, confinement) in timeline.confinements.iter().enumerate() {
        if timeline.thread(confinement.thread).in_tree {
            changes
                .push(Change { at: confinement.at.max(timeline.began), what: What::Confine(index as u32) });
        }
    }
    for (place, cpu) in timeline.cpus.iter().enumerate().filter(|(_, cpu)| cpu.allotted) {
        let mut was_idle = false;
        for (index, stretch) in cpu.stretches.iter().enumerate() {
            let is_idle = stretch.who == Occupant::Idle;
            if is_idle || was_idle {
                let stretch_index = is_idle.then_some(index as u32);
                changes.push(Change { at: stretch.from, what: What::Idle(place as u32, stretch_index) });
            }
            was_idle = is_idle;
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}
