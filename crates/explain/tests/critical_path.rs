//! The critical path of constructed and of recorded runs, against a generator that knows the path
//! and against a second, simple implementation.

mod recorded;
mod schedule_trace;

use std::collections::BTreeMap;

use morecores_explain::trace::{
    Activity, ActivityGraph, ActivityKind, Cause, LockOrder, State, ThreadId, Timeline, critical_path,
    idle_causes,
};
use morecores_study::Nanos;
use morecores_study::trace::{Interrupt, Tid, Waker};
use proptest::prelude::*;
use schedule_trace::{FUTEX, ROOT, ScheduleTrace, at};

/// Kind of an activity, for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Running,
    Ready,
    Waiting,
    KernelWork,
    Unknown,
}

/// Piece of a path: thread number, beginning and end.
type Piece = (u32, Kind, Nanos, Nanos);

fn kind_of(activity: &Activity) -> Kind {
    match activity.kind {
        ActivityKind::Running => Kind::Running,
        ActivityKind::Ready | ActivityKind::Held(_) => Kind::Ready,
        ActivityKind::Waiting(_) => Kind::Waiting,
        ActivityKind::KernelWork => Kind::KernelWork,
        ActivityKind::Unknown => Kind::Unknown,
    }
}

/// Joins adjacent pieces of one thread and kind.
fn join_pieces(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for (tid, kind, from, to) in pieces {
        match joined.last_mut() {
            Some(last) if (last.0, last.1, last.3) == (tid, kind, from) => last.3 = to,
            _ => joined.push((tid, kind, from, to)),
        }
    }
    joined
}

fn found_path(timeline: &Timeline) -> Vec<Piece> {
    let path = critical_path(timeline, &idle_causes(timeline));
    let tid = |activity: &Activity| activity.thread.map_or(0, |id| timeline.thread(id).tid.0);
    join_pieces(path.iter().map(|activity| (tid(activity), kind_of(activity), activity.from, activity.to)))
}

/// Path without gap or overlap from the beginning to the end.
fn assert_covers_window(timeline: &Timeline, path: &[Activity]) {
    let mut now = timeline.began;
    for activity in path {
        assert_eq!(activity.from, now);
        assert!(activity.to > activity.from);
        now = activity.to;
    }
    assert_eq!(now, timeline.ended);
    assert_eq!(path.iter().map(Activity::length).sum::<Nanos>(), timeline.elapsed());
}

// Constructed runs.

/// Thread of a constructed run, on a CPU of its own.
struct BuiltThread {
    tid: u32,
    /// Present time of the thread, in milliseconds.
    now: u32,
    /// Beginning of its present run.
    since: u32,
    /// Pieces that led to the present moment: the path if the run ended here.
    chain: Vec<(u32, Kind, u32, u32)>,
    ended: bool,
}

/// Run that is built action by action. It knows for each thread how it came to its present moment.
struct BuiltRun {
    script: ScheduleTrace,
    threads: Vec<BuiltThread>,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    /// A thread works.
    Work { thread: usize, ms: u32 },
    /// A thread waits until another has worked and wakes it.
    WaitFor { thread: usize, waker: usize, ms: u32 },
    /// A thread waits for a timer or a device.
    WaitOutside { thread: usize, ms: u32, device: bool },
    /// A thread makes another.
    Create { thread: usize },
}

const MAX_THREADS: usize = 6;

impl BuiltRun {
    fn new() -> Self {
        let root = BuiltThread { tid: ROOT, now: 0, since: 0, chain: Vec::new(), ended: false };
        Self { script: ScheduleTrace::new(MAX_THREADS as u32, 1.0), threads: vec![root] }
    }

    fn work(&mut self, thread: usize, ms: u32) {
        let thread = &mut self.threads[thread];
        thread.chain.push((thread.tid, Kind::Running, thread.now, thread.now + ms));
        thread.now += ms;
    }

    /// Ends the present run of a thread, which sleeps until `wake`.
    fn sleep_until(&mut self, thread: usize, wake: u32) {
        let (cpu, built) = (thread as u32, &mut self.threads[thread]);
        self.script.run(cpu, built.tid, f64::from(built.since), f64::from(built.now)).sleeps(FUTEX);
        (built.now, built.since) = (wake, wake);
    }

    fn apply(&mut self, action: Action) {
        let place = |index: usize, threads: &[BuiltThread]| index % threads.len();
        match action {
            Action::Work { thread, ms } => {
                let thread = place(thread, &self.threads);
                self.work(thread, ms);
            }
            Action::WaitFor { thread, waker, ms } => {
                let (thread, waker) = (place(thread, &self.threads), place(waker, &self.threads));
                if thread == waker {
                    return;
                }
                self.work(thread, 1);
                self.work(waker, ms);
                let wake = self.threads[waker].now;
                if wake > self.threads[thread].now {
                    self.script.wake_by_thread(
                        f64::from(wake),
                        self.threads[waker].tid,
                        self.threads[thread].tid,
                    );
                    self.sleep_until(thread, wake);
                    self.threads[thread].chain = self.threads[waker].chain.clone();
                }
            }
            Action::WaitOutside { thread, ms, device } => {
                let thread = place(thread, &self.threads);
                self.work(thread, 1);
                let BuiltThread { tid, now, .. } = self.threads[thread];
                let interrupt = if device { Interrupt::Device(7) } else { Interrupt::Timer };
                self.script.wake(f64::from(now + ms), Waker::Interrupt(interrupt), tid);
                self.sleep_until(thread, now + ms);
                self.threads[thread].chain.push((tid, Kind::Waiting, now, now + ms));
                self.work(thread, 1);
            }
            Action::Create { thread } if self.threads.len() < MAX_THREADS => {
                let thread = place(thread, &self.threads);
                self.work(thread, 1);
                let BuiltThread { tid: parent, now, ref chain, .. } = self.threads[thread];
                let (tid, chain) = (ROOT + self.threads.len() as u32, chain.clone());
                self.script.thread(f64::from(now), parent, tid);
                self.threads.push(BuiltThread { tid, now, since: now, chain, ended: false });
                let created = self.threads.len() - 1;
                self.work(created, 1);
            }
            Action::Create { .. } => {}
        }
    }

    /// Lets the first thread wait for all others, one after the other, and ends the run. Returns
    /// the timeline and the path.
    fn finish(mut self) -> (Timeline, Vec<Piece>) {
        for other in 1..self.threads.len() {
            self.work(0, 1);
            self.work(other, 1);
            let end = self.threads[other].now;
            if end > self.threads[0].now {
                self.script.wake_by_thread(f64::from(end), self.threads[other].tid, ROOT);
                self.sleep_until(0, end);
                self.threads[0].chain = self.threads[other].chain.clone();
                self.work(0, 1);
            }
            let built = &mut self.threads[other];
            built.ended = true;
            self.script.run(other as u32, built.tid, f64::from(built.since), f64::from(end)).dies();
        }
        self.work(0, 1);
        let BuiltThread { since, now, .. } = self.threads[0];
        self.script.run(0, ROOT, f64::from(since), f64::from(now)).dies();
        self.script.header.ended_ns = at(f64::from(now));
        let pieces = self.threads[0].chain.iter();
        let path = join_pieces(
            pieces.map(|(tid, kind, from, to)| (*tid, *kind, at(f64::from(*from)), at(f64::from(*to)))),
        );
        (self.script.timeline(), path)
    }
}

fn action() -> impl Strategy<Value = Action> {
    let index = || 0..MAX_THREADS;
    prop_oneof![
        (index(), 1..20_u32).prop_map(|(thread, ms)| Action::Work { thread, ms }),
        (index(), index(), 1..20_u32).prop_map(|(thread, waker, ms)| Action::WaitFor { thread, waker, ms }),
        (index(), 1..20_u32, any::<bool>()).prop_map(|(thread, ms, device)| Action::WaitOutside {
            thread,
            ms,
            device
        }),
        index().prop_map(|thread| Action::Create { thread }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Chains, diamonds, pools and pipes in any mixture: the path is the one by which the last
    /// thread came to the end.
    #[test]
    fn the_path_of_a_constructed_run_is_found(actions in prop::collection::vec(action(), 1..60)) {
        let mut run = BuiltRun::new();
        actions.into_iter().for_each(|action| run.apply(action));
        let (timeline, expected) = run.finish();
        prop_assert_eq!(found_path(&timeline), expected);
    }
}

/// Two threads that wait for one CPU: the wait for the CPU is on the path.
#[test]
fn a_wait_for_a_cpu_is_on_the_path() {
    let mut script = ScheduleTrace::new(1, 10.0);
    script.run(0, ROOT, 0.0, 2.0).sleeps(FUTEX);
    script.thread(1.0, ROOT, 101);
    script.thread(1.0, ROOT, 102);
    script.run(0, 101, 2.0, 5.0).dies();
    script.run(0, 102, 5.0, 9.0).dies();
    script.wake_by_thread(9.0, 102, ROOT);
    script.run(0, ROOT, 9.0, 10.0).dies();
    let piece = |tid, kind, from, to| (tid, kind, at(from), at(to));
    assert_eq!(
        found_path(&script.timeline()),
        [
            piece(ROOT, Kind::Running, 0.0, 1.0),
            piece(102, Kind::Ready, 1.0, 5.0),
            piece(102, Kind::Running, 5.0, 9.0),
            piece(ROOT, Kind::Running, 9.0, 10.0),
        ]
    );
}

// Recorded runs.

/// Path by a search through all segments in each step, with rules written a second time.
fn path_by_search(timeline: &Timeline, causes: &[Cause]) -> BTreeMap<(u32, Kind), Nanos> {
    struct Span {
        thread: ThreadId,
        from: Nanos,
        to: Nanos,
        state: State,
    }
    let mut spans = Vec::new();
    for (id, thread) in timeline.tree() {
        spans.extend(thread.segments.iter().map(|s| Span {
            thread: id,
            from: s.from,
            to: s.to,
            state: s.state,
        }));
    }
    let latest = |thread: ThreadId, before: Nanos, only_running: bool| {
        let found = spans.iter().filter(|s| s.thread == thread && s.from < before);
        found.filter(|s| !only_running || matches!(s.state, State::Running { .. })).max_by_key(|s| s.from)
    };
    let mut sums: BTreeMap<(u32, Kind), Nanos> = BTreeMap::new();
    let mut now = timeline.ended;
    let root = timeline.root.expect("a command");
    let process = |id: ThreadId| timeline.thread(id).leader.unwrap_or(id);
    let of_process = |s: &&Span| process(s.thread) == process(root);
    let mut thread =
        spans.iter().filter(of_process).max_by_key(|s| (s.to, s.thread == root)).map(|s| s.thread);
    while let Some(id) = thread {
        let mut add = |owner: ThreadId, kind: Kind, from: Nanos, to: Nanos| {
            if from < to {
                *sums.entry((owner.0, kind)).or_default() += to.since(from);
            }
        };
        let Some(span) = latest(id, now, false) else {
            let parent = timeline.thread(id).parent.filter(|parent| timeline.thread(*parent).in_tree);
            let run = parent.and_then(|parent| latest(parent, now, true));
            if let Some(run) = run {
                add(run.thread, Kind::KernelWork, run.to, now);
                now = now.min(run.to);
            }
            thread = run.map(|run| run.thread);
            continue;
        };
        add(id, Kind::Unknown, span.to, now);
        now = now.min(span.to);
        let kind = match span.state {
            State::Running { .. } => Kind::Running,
            State::Runnable | State::Held(_) => Kind::Ready,
            State::Blocked(wait) => {
                let record = timeline.wait(wait);
                let other = match causes[wait.index()] {
                    Cause::Thread(other) => Some(other),
                    Cause::UserLock | Cause::KernelLock => record.wake.and_then(|wake| wake.origin.thread()),
                    _ => None,
                };
                let other =
                    other.filter(|other| *other != id && record.ended && timeline.thread(*other).in_tree);
                if let Some(run) = other.and_then(|other| latest(other, span.to, true)) {
                    add(run.thread, Kind::KernelWork, run.to, now);
                    now = now.min(run.to);
                    thread = Some(run.thread);
                    continue;
                }
                Kind::Waiting
            }
        };
        add(id, kind, span.from, now);
        now = span.from;
    }
    sums
}

fn path_sums(path: &[Activity]) -> BTreeMap<(u32, Kind), Nanos> {
    let mut sums = BTreeMap::new();
    for activity in path {
        if let Some(thread) = activity.thread {
            *sums.entry((thread.0, kind_of(activity))).or_default() += activity.length();
        }
    }
    sums
}

/// Number of segments up to which the quadratic search takes seconds at most.
const MAX_SEARCHED: usize = 20_000;

#[test]
fn recorded_runs_have_the_path_of_a_second_implementation() {
    let (mut runs, mut searched) = (0, 0);
    recorded::for_each_trace(|name, header, trace| {
        let timeline = &trace.timeline;
        if header.facts.source == morecores_study::trace::TraceSource::Perf {
            return;
        }
        let causes = idle_causes(timeline);
        let path = critical_path(timeline, &causes);
        assert_covers_window(timeline, &path);
        let graph = ActivityGraph::new(timeline, &causes);
        let longest = graph.longest_chain(LockOrder::Recorded, Activity::length);
        assert_eq!(longest, timeline.elapsed(), "{name}: the longest chain is the elapsed time");
        runs += 1;
        if timeline.tree().map(|(_, thread)| thread.segments.len()).sum::<usize>() <= MAX_SEARCHED {
            assert_eq!(path_sums(&path), path_by_search(timeline, &causes), "{name}");
            searched += 1;
        }
    });
    assert!(runs >= 20 && searched >= 20, "{searched} of {runs} runs were searched");
}

/// Without any cost the longest chain is zero, and a part's cost alone is at most its time.
#[test]
fn the_longest_chain_counts_only_costs() {
    let mut script = ScheduleTrace::new(2, 10.0);
    script.run(0, ROOT, 0.0, 2.0).sleeps(FUTEX);
    script.thread(1.0, ROOT, 101);
    script.run(1, 101, 1.0, 9.0).dies();
    script.wake_by_thread(9.0, 101, ROOT);
    script.run(0, ROOT, 9.0, 10.0).dies();
    let timeline = script.timeline();
    let causes = idle_causes(&timeline);
    let graph = ActivityGraph::new(&timeline, &causes);
    assert_eq!(graph.longest_chain(LockOrder::Recorded, |_| Nanos::ZERO), Nanos::ZERO);
    let child = timeline.tree().find(|(_, thread)| thread.tid == Tid(101)).map(|(id, _)| id);
    let without_child = graph.longest_chain(LockOrder::Recorded, |activity| {
        if activity.thread == child { Nanos::ZERO } else { activity.length() }
    });
    // The first thread's own 3 ms of work remain.
    assert_eq!(without_child, Nanos::from_millis(3));
}

/// A wait for a kernel lock that no thread of the tree ended takes no time in any order of locks.
#[test]
fn in_free_order_no_lock_wait_takes_time() {
    let mut script = ScheduleTrace::new(1, 10.0);
    script.run(0, ROOT, 0.0, 2.0).sleeps(FUTEX);
    script.contention(8.0, ROOT, 6.0);
    script.wake(8.0, Waker::Interrupt(Interrupt::Timer), ROOT);
    script.run(0, ROOT, 8.0, 10.0).dies();
    let timeline = script.timeline();
    let causes = idle_causes(&timeline);
    assert_eq!(causes, [Cause::KernelLock]);
    let graph = ActivityGraph::new(&timeline, &causes);
    let [free, recorded] =
        [LockOrder::Free, LockOrder::Recorded].map(|order| graph.longest_chain(order, Activity::length));
    assert_eq!((free, recorded), (Nanos::from_millis(4), Nanos::from_millis(10)));
}
