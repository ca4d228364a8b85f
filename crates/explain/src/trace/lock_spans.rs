//! When threads of the tree waited for kernel locks, nested waits once. How they spent that time is decided elsewhere.

use morecores_study::Nanos;

use super::timeline::{ThreadId, Timeline};

/// A stretch of time in which a thread waited for one kernel lock or, nested, for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockSpan {
    /// The thread that held it.
    pub thread: ThreadId,
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
}

/// All of them, disjoint: by thread, then in the order of time.
pub fn lock_spans(timeline: &Timeline) -> Vec<LockSpan> {
    let of_tree = timeline.contentions.iter().filter(|wait| timeline.thread(wait.thread).in_tree);
    let mut spans: Vec<LockSpan> =
        of_tree.map(|wait| LockSpan { thread: wait.thread, from: wait.from, to: wait.to }).collect();
    spans.sort_unstable();
    spans.dedup_by(|next, last| {
        let nested = next.thread == last.thread && next.from <= last.to;
        if nested {
            last.to = last.to.max(next.to);
        }
        nested
    });
    spans
}
