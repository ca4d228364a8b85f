//! The critical path of a run: the chain of activities that decided its end.
//!
//! It is found backwards from the end. While its thread runs or waits for a CPU, the path stays
//! with the thread. At the end of a wait that another thread of the tree ended, the path continues
//! with that thread (Hollingsworth, *Critical path profiling of message passing and shared-memory
//! programs*, IEEE TPDS 9, 1998). [`ActivityGraph`](super::ActivityGraph) has all activities. This
//! module makes no table.

use morecores_study::Nanos;
use morecores_study::trace::HoldReason;

use super::causes::Cause;
use super::timeline::{State, ThreadId, Timeline, WaitId};

/// Activity of a thread, without a change of kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Beginning of the activity.
    pub from: Nanos,
    /// End of the activity.
    pub to: Nanos,
    /// Thread of the activity; none where the trace shows no thread.
    pub thread: Option<ThreadId>,
    /// Kind of the activity.
    pub kind: ActivityKind,
}

/// Kind of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// The thread is on a CPU.
    Running,
    /// The thread is ready and has no CPU.
    Ready,
    /// The thread is ready but may not run on any CPU.
    Held(HoldReason),
    /// The thread waits, and no thread of the tree ended the wait.
    Waiting(WaitId),
    /// The kernel works on behalf of the thread, which itself does something else: a queued piece
    /// of work, or a packet.
    KernelWork,
    /// The trace does not show the activity.
    Unknown,
}

impl From<State> for ActivityKind {
    fn from(state: State) -> Self {
        match state {
            State::Running { .. } => Self::Running,
            State::Runnable => Self::Ready,
            State::Held(reason) => Self::Held(reason),
            State::Blocked(wait) => Self::Waiting(wait),
        }
    }
}

impl Activity {
    /// Length of the activity.
    pub const fn length(&self) -> Nanos {
        self.to.since(self.from)
    }
}

/// Instant of a thread's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadInstant {
    /// The thread.
    pub thread: ThreadId,
    /// The instant.
    pub at: Nanos,
}

/// Instant on which the end of a wait depended: the other thread of the tree that ended the wait,
/// when it last ran before that end. None if no other thread of the tree ended the wait. `causes`
/// are those of [`causes`](super::causes()) or [`idle_causes`](super::idle_causes).
pub fn releaser(timeline: &Timeline, causes: &[Cause], id: WaitId) -> Option<ThreadInstant> {
    let wait = timeline.wait(id);
    let thread = match causes[id.index()] {
        Cause::Thread(thread) => thread,
        Cause::UserLock | Cause::KernelLock => wait.wake?.origin.thread()?,
        _ => return None,
    };
    let is_other = wait.ended && thread != wait.thread && timeline.thread(thread).in_tree;
    is_other.then(|| last_run(timeline, thread, wait.to)).flatten()
}

/// Instant on which the beginning of a thread depended: its parent's last run before it. None if
/// the parent does not belong to the tree.
pub fn creator(timeline: &Timeline, id: ThreadId) -> Option<ThreadInstant> {
    let thread = timeline.thread(id);
    let parent = thread.parent.filter(|parent| timeline.thread(*parent).in_tree)?;
    last_run(timeline, parent, thread.segments.first()?.from)
}

/// Last instant up to `at` at which the thread ran. The thread ran for some time before it, so that
/// a path never returns to the same instant.
fn last_run(timeline: &Timeline, thread: ThreadId, at: Nanos) -> Option<ThreadInstant> {
    let segments = &timeline.thread(thread).segments;
    let begun = &segments[..segments.partition_point(|segment| segment.from < at)];
    let run = begun.iter().rev().find(|segment| matches!(segment.state, State::Running { .. }))?;
    Some(ThreadInstant { thread, at: run.to.min(at) })
}

/// Thread whose end was the end of the run: the thread of the main process that existed longest.
pub(super) fn last_thread(timeline: &Timeline) -> Option<ThreadId> {
    let root = timeline.root?;
    // After an exec by another thread, that thread is the process's first one.
    let leader = |id: ThreadId| timeline.thread(id).leader.unwrap_or(id);
    let of_process = |id: &ThreadId| leader(*id) == leader(root);
    let ids = timeline.tree().map(|(id, _)| id).filter(of_process);
    let end = |id: ThreadId| timeline.thread(id).segments.last().map(|segment| segment.to);
    ids.filter(|id| end(*id).is_some()).max_by_key(|id| (end(*id), *id == root))
}

/// Critical path in the order of time, without gap or overlap from the beginning of the window to
/// its end. `causes` are the causes of the waits.
pub fn critical_path(timeline: &Timeline, causes: &[Cause]) -> Vec<Activity> {
    let mut path = BackwardPath { at: timeline.ended, activities: Vec::new() };
    let mut thread = last_thread(timeline);
    while let Some(id) = thread {
        thread = path.step(timeline, causes, id);
    }
    path.extend_to(timeline.began, None, ActivityKind::Unknown);
    path.activities.reverse();
    path.activities
}

/// Path from the end of the window back to `at`.
struct BackwardPath {
    at: Nanos,
    activities: Vec<Activity>,
}

impl BackwardPath {
    /// Extends the path back to `from`.
    fn extend_to(&mut self, from: Nanos, thread: Option<ThreadId>, kind: ActivityKind) {
        if from < self.at {
            self.activities.push(Activity { from, to: self.at, thread, kind });
            self.at = from;
        }
    }

    /// Extends the path by the last activity of the thread that begins before `self.at`. Returns
    /// the thread with which the path continues; none if the thread has no earlier activity.
    fn step(&mut self, timeline: &Timeline, causes: &[Cause], id: ThreadId) -> Option<ThreadId> {
        let segments = &timeline.thread(id).segments;
        let begun = &segments[..segments.partition_point(|segment| segment.from < self.at)];
        let Some(segment) = begun.last() else {
            let ThreadInstant { thread, at } = creator(timeline, id)?;
            self.extend_to(at, Some(thread), ActivityKind::KernelWork);
            return Some(thread);
        };
        // Lost events leave gaps between segments.
        self.extend_to(segment.to, Some(id), ActivityKind::Unknown);
        if let State::Blocked(wait) = segment.state
            && let Some(ThreadInstant { thread, at }) = releaser(timeline, causes, wait)
        {
            self.extend_to(at, Some(thread), ActivityKind::KernelWork);
            return Some(thread);
        }
        self.extend_to(segment.from, Some(id), segment.state.into());
        Some(id)
    }
}
