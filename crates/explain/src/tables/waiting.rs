//! How long threads waited for kernel locks: on a CPU, spinning, and off it, asleep until they were woken.
//!
//! The way from the wake to a CPU is scheduling and no part of the wait; nor is time off a CPU in which a spinning
//! thread could have gone on.

use morecores_study::Nanos;

use crate::trace::{LockSpan, State, Thread, ThreadId, Timeline, lock_spans};

/// A wait, by how it was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waited {
    /// On a CPU.
    pub(super) spun: Nanos,
    /// Blocked, until the wake.
    pub(super) asleep: Nanos,
}

impl Waited {
    /// What a thread spent of this stretch of time in each way.
    pub(super) fn of(thread: &Thread, from: Nanos, to: Nanos) -> Self {
        let mut waited = Self::default();
        let first = thread.segments.partition_point(|segment| segment.to <= from);
        for segment in thread.segments[first..].iter().take_while(|segment| segment.from < to) {
            let part = segment.to.min(to).since(segment.from.max(from));
            match segment.state {
                State::Running { .. } => waited.spun += part,
                State::Blocked(_) => waited.asleep += part,
                State::Runnable | State::Held(_) => {}
            }
        }
        waited
    }

    /// Both together.
    pub(super) fn total(self) -> Nanos {
        self.spun + self.asleep
    }
}

/// A stretch of time in which a thread was waiting for one kernel lock or, nested, for several.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockTime {
    /// Who.
    pub(super) thread: ThreadId,
    /// Since when.
    pub(super) from: Nanos,
    /// How it was spent.
    pub(super) waited: Waited,
}

/// All waits of the tree for kernel locks, nested ones once.
pub(super) fn lock_times(timeline: &Timeline) -> Vec<LockTime> {
    let time = |span: LockSpan| {
        let waited = Waited::of(timeline.thread(span.thread), span.from, span.to);
        LockTime { thread: span.thread, from: span.from, waited }
    };
    lock_spans(timeline).into_iter().map(time).collect()
}
