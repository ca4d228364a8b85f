//! Time that threads waited for kernel locks: spinning on a CPU, and asleep until the wake-up.
//!
//! The time from the wake-up to a CPU is scheduling delay and no part of the wait. The time off a
//! CPU during which a spinning thread could have continued is no part either.

use morecores_study::Nanos;

use crate::trace::{LockSpan, State, Thread, ThreadId, Timeline, lock_spans};

/// A wait, divided by the state of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitTimes {
    /// Time on a CPU.
    pub(super) spin: Nanos,
    /// Time blocked, until the wake-up.
    pub(super) sleep: Nanos,
}

impl WaitTimes {
    /// Divides a thread's time in this span.
    pub(super) fn from_segments(thread: &Thread, from: Nanos, to: Nanos) -> Self {
        let mut times = Self::default();
        let first = thread.segments.partition_point(|segment| segment.to <= from);
        for segment in thread.segments[first..].iter().take_while(|segment| segment.from < to) {
            let part = segment.to.min(to).since(segment.from.max(from));
            match segment.state {
                State::Running { .. } => times.spin += part,
                State::Blocked(_) => times.sleep += part,
                State::Runnable | State::Held(_) => {}
            }
        }
        times
    }

    /// Sum of both times.
    pub(super) fn total(self) -> Nanos {
        self.spin + self.sleep
    }
}

/// A span of time in which a thread was waiting for one kernel lock or, nested, for several.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockWaitTimes {
    /// Waiting thread.
    pub(super) thread: ThreadId,
    /// Beginning of the span.
    pub(super) from: Nanos,
    /// Division of the span.
    pub(super) times: WaitTimes,
}

/// All waits of the tree for kernel locks, with nested waits counted once.
pub(super) fn lock_wait_times(timeline: &Timeline) -> Vec<LockWaitTimes> {
    let lock_wait = |span: LockSpan| {
        let times = WaitTimes::from_segments(timeline.thread(span.thread), span.from, span.to);
        LockWaitTimes { thread: span.thread, from: span.from, times }
    };
    lock_spans(timeline).into_iter().map(lock_wait).collect()
}
