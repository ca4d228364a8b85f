//! All activities of a run with their dependencies, and the longest chain of dependent activities
//! under any cost of each.
//!
//! With the recorded lengths as costs, the longest chain is the elapsed time. With a cost of zero
//! for some activities, it is a lower bound on the elapsed time without them, on any number of
//! CPUs. This module chooses no costs.

use morecores_study::Nanos;

use super::causes::Cause;
use super::critical_path::{Activity, ActivityKind, ThreadInstant, creator, last_thread, releaser};
use super::timeline::{Segment, State, ThreadId, Timeline, WaitId};

/// Order in which threads took locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOrder {
    /// The recorded order: a wait for a lock ends after its release.
    Recorded,
    /// Any order: a wait for a lock takes no time.
    Free,
}

/// Activities of all threads of the tree, with their dependencies.
pub struct ActivityGraph<'t> {
    timeline: &'t Timeline,
    causes: &'t [Cause],
    /// Segments of the tree's threads in the order of their beginnings. A segment depends only on
    /// segments that began earlier.
    order: Vec<(Nanos, ThreadId, u32)>,
    /// Thread whose end is the end of the run.
    last: Option<ThreadId>,
}

impl<'t> ActivityGraph<'t> {
    /// Graph of a timeline; `causes` are the causes of its waits.
    pub fn new(timeline: &'t Timeline, causes: &'t [Cause]) -> Self {
        let mut order: Vec<(Nanos, ThreadId, u32)> = Vec::new();
        for (id, thread) in timeline.tree() {
            order.extend(thread.segments.iter().zip(0..).map(|(segment, index)| (segment.from, id, index)));
        }
        order.sort_unstable();
        Self { timeline, causes, order, last: last_thread(timeline) }
    }

    /// Length of the longest chain of dependent activities that ends with the run, if each activity
    /// has the length that `cost` gives it. An activity that `cost` gets may be the beginning of a
    /// longer one. Gaps in the trace have their recorded length.
    pub fn longest_chain(&self, locks: LockOrder, cost: impl Fn(&Activity) -> Nanos) -> Nanos {
        let threads = self.timeline.threads.iter();
        let begins = threads.map(|thread| vec![Nanos::ZERO; thread.segments.len()]).collect();
        let mut chains = Chains { graph: self, locks, cost, begins };
        for (_, id, index) in &self.order {
            let begin = chains.begin_of_segment(*id, *index as usize);
            chains.begins[id.index()][*index as usize] = begin;
        }
        let last =
            self.last.and_then(|id| Some((id, self.timeline.thread(id).segments.len().checked_sub(1)?)));
        let Some((last, index)) = last else { return self.timeline.elapsed() };
        let segment = self.timeline.thread(last).segments[index];
        chains.end_of_segment(last, index) + self.timeline.ended.since(segment.to)
    }
}

/// Longest chains to the beginnings of segments, in the order in which they are computed.
struct Chains<'g, F> {
    graph: &'g ActivityGraph<'g>,
    locks: LockOrder,
    cost: F,
    /// Longest chain to the beginning of each segment of each thread.
    begins: Vec<Vec<Nanos>>,
}

impl<F: Fn(&Activity) -> Nanos> Chains<'_, F> {
    /// Longest chain to the beginning of a segment, from the chains to segments that began earlier.
    fn begin_of_segment(&self, id: ThreadId, index: usize) -> Nanos {
        let timeline = self.graph.timeline;
        let segments = &timeline.thread(id).segments;
        let from = segments[index].from;
        match index.checked_sub(1) {
            Some(before) => self.end_of_segment(id, before) + from.since(segments[before].to),
            None => match creator(timeline, id) {
                Some(instant) => self.after(instant, from),
                None => from.since(timeline.began),
            },
        }
    }

    /// Longest chain to the end of a segment, from the chain to its beginning and to the segment of
    /// the thread that ended it.
    fn end_of_segment(&self, id: ThreadId, index: usize) -> Nanos {
        let segment = self.graph.timeline.thread(id).segments[index];
        let begin = self.begins[id.index()][index];
        let State::Blocked(wait) = segment.state else {
            return begin + self.segment_cost(id, &segment, segment.to);
        };
        if self.locks == LockOrder::Free && self.is_lock_wait(wait) {
            return begin;
        }
        match releaser(self.graph.timeline, self.graph.causes, wait) {
            Some(instant) => begin.max(self.after(instant, segment.to)),
            None => begin + self.segment_cost(id, &segment, segment.to),
        }
    }

    fn is_lock_wait(&self, wait: WaitId) -> bool {
        matches!(self.graph.causes[wait.index()], Cause::UserLock | Cause::KernelLock)
    }

    /// Longest chain to an instant of a thread, and the kernel's work for it until `until`.
    fn after(&self, ThreadInstant { thread, at }: ThreadInstant, until: Nanos) -> Nanos {
        let segments = &self.graph.timeline.thread(thread).segments;
        let index = segments.partition_point(|segment| segment.from < at).saturating_sub(1);
        let begin = self.begins[thread.index()][index];
        let work = Activity { from: at, to: until, thread: Some(thread), kind: ActivityKind::KernelWork };
        begin + self.segment_cost(thread, &segments[index], at) + (self.cost)(&work)
    }

    /// Cost of a segment up to an instant.
    fn segment_cost(&self, id: ThreadId, segment: &Segment, to: Nanos) -> Nanos {
        let kind = segment.state.into();
        (self.cost)(&Activity { from: segment.from, to, thread: Some(id), kind })
    }
}
