//! Time that threads waited for kernel locks: spinning on a CPU, and asleep until the wake-up.
//!
//! The time from the wake-up to a CPU is scheduling delay and no part of the wait. The time off a
//! CPU during which a spinning thread could have continued is no part either.

use morecores_study::Nanos;

use crate::trace::{LockSpan, State, Thread, ThreadId, Timeline, lock_spans};

/// A wait, divided by the state of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waited {
    /// Time on a CPU.
    pub(super) spun: Nanos,
    /// Time blocked, until the wake-up.
    pub(super) asleep: Nanos,
}

impl Waited {
    /// Divides a thread's time in this stretch.
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

    /// Sum of both times.
    pub(super) fn total(self) -> Nanos {
        self.spun + self.asleep
    }
}

/// A stretch of time in which a thread was waiting for one kernel lock or, nested, for several.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockTime {
    /// Waiting thread.
    pub(super) thread: ThreadId,
    /// Beginning of the stretch.
    pub(super) from: Nanos,
    /// Division of the stretch.
    pub(super) waited: Waited,
}

/// All waits of the tree for kernel locks, with nested waits counted once.
pub(super) fn lock_times(timeline: &Timeline) -> Vec<LockTime> {
    let time = |span: LockSpan| {
        let waited = Waited::of(timeline.thread(span.thread), span.from, span.to);
        LockTime { thread: span.thread, from: span.from, waited }
    };
    lock_spans(timeline).into_iter().map(time).collect()
}
