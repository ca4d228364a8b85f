//! Joins without a wait in the traced run: the awaited thread had already ended, and a later end
//! would have caused a wait.
//!
//! A trace without system calls does not show that a parent reaped an ended child. No trace shows
//! that a thread joined an ended thread. Without these joins a replay is too optimistic.

use std::collections::HashMap;

use morecores_study::Nanos;

use super::program_builder::ProgramBuilder;
use crate::replay::Step;
use morecores_explain::trace::{Source, ThreadId, Timeline};

/// Adds joins for parents that waited for the end of a thread or a child process at least once. At
/// the end of its last such wait, the parent joins all of that kind that had ended by then.
pub(super) fn add_joins(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
) {
    // End of the last wait, for each parent and kind.
    let mut last: HashMap<(ThreadId, bool), Nanos> = HashMap::new();
    for wait in timeline.waits.iter().filter(|wait| wait.ended) {
        let Some(Source::Thread(waker)) = wait.wake.map(|wake| wake.by) else { continue };
        let waker_thread = timeline.thread(waker);
        if waker_thread.parent == Some(wait.thread)
            && waker_thread.ended.is_some_and(|end| end.since(wait.to) <= MAX_END_DELAY)
        {
            let kind = (wait.thread, waker_thread.leader == Some(waker));
            last.insert(kind, wait.to);
        }
    }
    for (id, thread) in timeline.tree() {
        let (Some(parent), Some(ended)) = (thread.parent, thread.ended) else { continue };
        let Some(&at) = last.get(&(parent, thread.leader == Some(id))) else { continue };
        if ended <= at
            && let (Some(&child), Some(&parent)) = (thread_numbers.get(&id), thread_numbers.get(&parent))
        {
            builder.add_step(parent, at, Step::Join(child));
        }
    }
}

/// Longest time between the wake-up of the joining thread and the recorded end. An ending thread
/// wakes its joiner some tens of microseconds before it leaves its CPU, and interrupts may add to
/// that.
const MAX_END_DELAY: Nanos = Nanos::from_millis(1);
