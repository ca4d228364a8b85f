//! Ends that were not waited for in the traced run because they had already come, and would be waited for if they came later.
//!
//! A trace without system calls does not show that a parent took a child that had ended, nor any trace that a thread joined
//! another that had. Without these a replay is too optimistic.

use std::collections::HashMap;

use morecores_study::Nanos;

use super::script::Sheets;
use crate::replay::Step;
use morecores_explain::trace::{Source, ThreadId, Timeline};

/// Whoever once waited for the end of one of its own (threads, or child processes) is taken to wait, at the last time that it
/// did, for all of the kind that had ended by then.
pub(super) fn joins(timeline: &Timeline, place: &HashMap<ThreadId, u32>, sheets: &mut Sheets) {
    // Of each thread and kind: until when the last such wait lasted.
    let mut last: HashMap<(ThreadId, bool), Nanos> = HashMap::new();
    for wait in timeline.waits.iter().filter(|wait| wait.ended) {
        let Some(Source::Thread(waker)) = wait.wake.map(|wake| wake.by) else { continue };
        let ended = timeline.thread(waker);
        if ended.parent == Some(wait.thread)
            && ended.ended.is_some_and(|end| end.since(wait.to) <= AT_ITS_END)
        {
            let kind = (wait.thread, ended.leader == Some(waker));
            last.insert(kind, wait.to);
        }
    }
    for (id, thread) in timeline.tree() {
        let (Some(parent), Some(ended)) = (thread.parent, thread.ended) else { continue };
        let Some(&at) = last.get(&(parent, thread.leader == Some(id))) else { continue };
        if ended <= at
            && let (Some(&child), Some(&parent)) = (place.get(&id), place.get(&parent))
        {
            sheets.step(parent, at, Step::Join(child));
        }
    }
}

/// A thread wakes who waits for its end in its last moments: until it leaves its CPU it takes some tens of microseconds, and
/// whatever an interrupt needs.
const AT_ITS_END: Nanos = Nanos::from_millis(1);
