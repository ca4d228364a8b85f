//! Spans in which threads of the tree waited for kernel locks, with nested waits counted once.
//! Other modules divide the time in these spans.

use morecores_study::Nanos;

use super::timeline::{ThreadId, Timeline};

/// A span of time in which a thread waited for one kernel lock or, nested, for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockSpan {
    /// Waiting thread.
    pub thread: ThreadId,
    /// Beginning of the span.
    pub from: Nanos,
    /// End of the span.
    pub to: Nanos,
}

/// All spans, disjoint: by thread, then in the order of time.
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
