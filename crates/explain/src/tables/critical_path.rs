//! The critical path by activity and command, and the most that each part can be worth.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use morecores_study::Nanos;
use morecores_study::trace::Call;
use morecores_view::{CriticalPathView, PathActivity, PathEdge, PathEdgeKind, PathPart};

use super::concurrency::StillTimes;
use super::programs::{ProgramId, Programs};
use crate::trace::{
    Activity, ActivityGraph, ActivityKind, Cause, LockOrder, Segment, State, ThreadId, Timeline, call_name,
    critical_path,
};

/// Share of the elapsed time from which a part has a bound on its gain. A choice: each bound is a
/// pass over all activities, and a smaller part cannot be worth much.
const LEAST_BOUNDED_SHARE: f64 = 0.01;

/// Critical path of a run.
pub(super) struct CriticalPath<'t> {
    timeline: &'t Timeline,
    causes: &'t [Cause],
    /// Activities in the order of time.
    activities: Vec<Activity>,
}

/// Kind of activity and command.
type PartKey = (PathActivity, Option<ProgramId>);

impl<'t> CriticalPath<'t> {
    /// Finds the path. `causes` are the causes of the waits.
    pub(super) fn find(timeline: &'t Timeline, causes: &'t [Cause]) -> Self {
        Self { timeline, causes, activities: critical_path(timeline, causes) }
    }

    /// Whether the thread runs on the path at an instant.
    pub(super) fn runs(&self, thread: ThreadId, at: Nanos) -> bool {
        let index = self.activities.partition_point(|activity| activity.to < at);
        let found = self.activities.get(index).filter(|activity| activity.from <= at);
        found.is_some_and(|found| found.thread == Some(thread) && found.kind == ActivityKind::Running)
    }

    /// CPU time of each thread on the path, in step with the timeline's threads.
    pub(super) fn running_times(&self) -> Vec<Nanos> {
        let mut times = vec![Nanos::ZERO; self.timeline.threads.len()];
        let running = self.activities.iter().filter(|activity| activity.kind == ActivityKind::Running);
        for activity in running {
            if let Some(thread) = activity.thread {
                times[thread.index()] += activity.length();
            }
        }
        times
    }

    /// Parts of the path with their bounds. `arch` decides the names of the system calls.
    pub(super) fn to_view(&self, programs: &Programs, still: &StillTimes, arch: &str) -> CriticalPathView {
        let mut times: BTreeMap<PartKey, Nanos> = BTreeMap::new();
        for activity in &self.activities {
            for (key, time) in self.parts_of(programs, activity) {
                *times.entry(key).or_default() += time;
            }
        }
        let elapsed_s = self.timeline.elapsed().as_secs_f64();
        let graph = ActivityGraph::new(self.timeline, self.causes);
        let part = |(key, time): (&PartKey, &Nanos)| {
            let time_s = time.as_secs_f64();
            let is_bounded = key.0 != PathActivity::Unknown && time_s >= LEAST_BOUNDED_SHARE * elapsed_s;
            let gain_bound_s =
                is_bounded.then(|| self.gain_bound(&graph, programs, still, *key).as_secs_f64());
            PathPart {
                activity: key.0,
                command: key.1.map(|program| programs.name(program)),
                time_s,
                gain_bound_s,
            }
        };
        let mut parts: Vec<PathPart> = times.iter().map(part).collect();
        parts.sort_by(|one, other| other.time_s.total_cmp(&one.time_s));
        let edges = self.edges(arch);
        CriticalPathView { parts, handovers: edges.iter().map(|edge| edge.count).sum(), edges }
    }

    /// Changes from one thread to another, most frequent first.
    fn edges(&self, arch: &str) -> Vec<PathEdge> {
        let mut counts: BTreeMap<(PathEdgeKind, Option<Call>), u64> = BTreeMap::new();
        for pair in self.activities.windows(2).filter(|pair| pair[0].thread != pair[1].thread) {
            *counts.entry(self.edge_to(&pair[1])).or_default() += 1;
        }
        let edge = |((kind, call), count): ((PathEdgeKind, Option<Call>), u64)| PathEdge {
            kind,
            call: call.and_then(|call| call_name(call, arch)),
            count,
        };
        let mut edges: Vec<PathEdge> = counts.into_iter().map(edge).collect();
        edges.sort_by_key(|edge| Reverse(edge.count));
        edges
    }

    /// Kind of the change to an activity of another thread, by what the thread did before.
    fn edge_to(&self, next: &Activity) -> (PathEdgeKind, Option<Call>) {
        let Some(thread) = next.thread else { return (PathEdgeKind::Unknown, None) };
        let segments = &self.timeline.thread(thread).segments;
        let before = segments[..segments.partition_point(|segment| segment.from < next.from)].last();
        match before.map(|segment| segment.state) {
            None => (PathEdgeKind::Start, None),
            Some(State::Blocked(wait)) => match self.causes[wait.index()] {
                Cause::UserLock => (PathEdgeKind::UserLock, None),
                Cause::KernelLock => (PathEdgeKind::KernelLock, None),
                _ => (PathEdgeKind::Call, Some(self.timeline.wait(wait).call)),
            },
            Some(_) => (PathEdgeKind::Unknown, None),
        }
    }

    /// Parts to which an activity belongs, with its time in each: a thread may start another
    /// program during the activity.
    fn parts_of<'p>(
        &'p self,
        programs: &'p Programs,
        activity: &Activity,
    ) -> impl Iterator<Item = (PartKey, Nanos)> + 'p {
        let kind = self.kind_of(activity);
        let Activity { from, to, thread, .. } = *activity;
        let unknown = thread.is_none().then(|| ((kind, None), to.since(from)));
        let by_program = thread.into_iter().flat_map(move |id| programs.programs_between(id, from, to));
        unknown.into_iter().chain(by_program.map(move |(program, time)| ((kind, Some(program)), time)))
    }

    fn kind_of(&self, activity: &Activity) -> PathActivity {
        match activity.kind {
            ActivityKind::Running => PathActivity::Running,
            ActivityKind::Ready => PathActivity::Ready,
            ActivityKind::Held(_) => PathActivity::Held,
            ActivityKind::KernelWork => PathActivity::KernelWork,
            ActivityKind::Unknown => PathActivity::Unknown,
            ActivityKind::Waiting(wait) => match self.causes[wait.index()] {
                Cause::KernelLock => PathActivity::KernelLock,
                Cause::UserLock => PathActivity::UserLock,
                Cause::Disk => PathActivity::Disk,
                Cause::Device => PathActivity::Device,
                Cause::Rcu => PathActivity::Rcu,
                Cause::Uninterruptible => PathActivity::Uninterruptible,
                Cause::Peer => PathActivity::Peer,
                Cause::Timer => PathActivity::Timer,
                Cause::Thread(_) | Cause::Endless | Cause::Unknown => PathActivity::Unknown,
            },
        }
    }

    /// Upper bound on the saved time if a part took no time: the elapsed time less a lower bound on
    /// the elapsed time without it. Such bounds are the longest chain of dependent activities,
    /// without waits for CPUs and locks, and the remaining work divided by the CPUs.
    ///
    /// A thread that sleeps while others work may look again and again whether they have finished:
    /// only the part of a sleep counts in which nothing else runs, is ready, or waits for a device
    /// or another program.
    fn gain_bound(
        &self,
        graph: &ActivityGraph<'_>,
        programs: &Programs,
        still: &StillTimes,
        part: PartKey,
    ) -> Nanos {
        let remaining = |activity: &Activity| -> Nanos {
            self.parts_of(programs, activity).filter(|(key, _)| *key != part).map(|(_, time)| time).sum()
        };
        let chain = graph.longest_chain(LockOrder::Free, |activity| match activity.kind {
            ActivityKind::Ready | ActivityKind::Held(_) => Nanos::ZERO,
            ActivityKind::Waiting(wait) if self.causes[wait.index()] == Cause::Timer => {
                remaining(activity).min(still.between(activity.from, activity.to))
            }
            _ => remaining(activity),
        });
        let elapsed = self.timeline.elapsed();
        elapsed.since(chain.max(self.work_per_cpu(remaining)))
    }

    /// Sum of the costs of all running times on allotted CPUs, divided by the number of these CPUs.
    fn work_per_cpu(&self, cost: impl Fn(&Activity) -> Nanos) -> Nanos {
        let mut work = Nanos::ZERO;
        for (id, thread) in self.timeline.tree() {
            let allotted = &self.timeline.allotted;
            let is_counted =
                |s: &&Segment| matches!(s.state, State::Running { cpu } if allotted.contains(cpu));
            for segment in thread.segments.iter().filter(is_counted) {
                let (from, to) = (segment.from, segment.to);
                work += cost(&Activity { from, to, thread: Some(id), kind: ActivityKind::Running });
            }
        }
        Nanos(work.0 / (self.timeline.allotted.len() as u64).max(1))
    }

    /// Length of the longest chain of dependent activities without waits for CPUs, for devices and
    /// for other programs. `useful` is the share of each thread's CPU time that is no spinning.
    pub(super) fn ideal_time(&self, useful: &[f64]) -> Nanos {
        let graph = ActivityGraph::new(self.timeline, self.causes);
        graph.longest_chain(LockOrder::Recorded, |activity| match (activity.kind, activity.thread) {
            (ActivityKind::Running, Some(thread)) => {
                Nanos::from_secs_f64(activity.length().as_secs_f64() * useful[thread.index()])
            }
            (ActivityKind::Waiting(wait), _) if self.causes[wait.index()] == Cause::Timer => {
                activity.length()
            }
            (ActivityKind::Unknown, _) => activity.length(),
            _ => Nanos::ZERO,
        })
    }
}
