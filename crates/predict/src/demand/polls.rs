//! Threads that poll for the progress of others. A trace shows sleeps, and their number depends on
//! the duration of the others' work.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;

use super::script::Sheets;
use crate::replay::Step;
use morecores_explain::trace::{
    Cause, FutexId, Source, State, Thread, ThreadId, Timeline, Wait, WaitId, futex,
};

/// Number of consecutive sleeps that is no coincidence.
const ENOUGH: usize = 4;

/// Longest check between two sleeps, as a share of the sleep.
const LOOK: f64 = 0.1;

/// Largest ratio of a sleep's length to the length of the sleep before it.
const ALIKE: f64 = 1.5;

/// Consecutive sleeps of a thread that waits for others.
pub(super) struct Poll {
    thread: ThreadId,
    /// Start of the first sleep.
    from: Nanos,
    /// Start and end of the last sleep.
    last: (Nanos, Nanos),
    /// Mean sleep between two checks, without the last sleep, which may have been cut short.
    every: Nanos,
}

/// All polls, and the poll of each covered wait.
pub(super) fn polls(
    timeline: &Timeline,
    causes: &[Cause],
    calls: &Calls,
    renewed: &HashSet<WaitId>,
) -> (Vec<Poll>, HashMap<WaitId, usize>) {
    let mut of: HashMap<ThreadId, Vec<WaitId>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        if timeline.thread(wait.thread).in_tree {
            of.entry(wait.thread).or_default().push(id);
        }
    }
    let (mut polls, mut covered) = (Vec::new(), HashMap::new());
    let mut threads: Vec<_> = of.into_iter().collect();
    threads.sort_unstable_by_key(|(thread, _)| *thread);
    for (thread, waits) in threads {
        let wait = |id: WaitId| &timeline.waits[id.index()];
        let goes_on = |a: &WaitId, b: &WaitId| {
            causes[a.index()] == Cause::Timer
                && causes[b.index()] == Cause::Timer
                && follows(timeline, calls, wait(*a), wait(*b))
        };
        let others_end_it = |row: &&[WaitId]| row.last().is_some_and(|last| renewed.contains(last));
        for row in waits.chunk_by(goes_on).filter(|row| row.len() >= ENOUGH && !others_end_it(row)) {
            let (first, last) = (wait(row[0]), wait(row[row.len() - 1]));
            covered.extend(row.iter().map(|id| (*id, polls.len())));
            let slept: Nanos =
                row[..row.len() - 1].iter().map(|id| wait(*id)).map(|wait| wait.to.since(wait.from)).sum();
            let every = Nanos(slept.0 / (row.len() as u64 - 1));
            polls.push(Poll { thread, from: first.from, last: (last.from, last.to), every });
        }
    }
    (polls, covered)
}

/// Timed waits for other threads that timed out and were renewed at once, until other threads ended
/// the last one. The event that ended the last wait ends all of them.
pub(super) fn renewed(timeline: &Timeline, causes: &[Cause], calls: &Calls) -> HashSet<WaitId> {
    let mut next: HashMap<ThreadId, WaitId> = HashMap::new();
    let mut renewed = HashSet::new();
    for id in (0..timeline.waits.len() as u32).rev().map(WaitId) {
        let wait = timeline.wait(id);
        let Some(after) = next.insert(wait.thread, id) else { continue };
        let at = |wait: &Wait| futex(timeline, wait).map(condition);
        let others = matches!(causes[after.index()], Cause::Thread(_)) || renewed.contains(&after);
        let again = at(wait).is_some() && at(wait) == at(timeline.wait(after));
        if causes[id.index()] == Cause::Timer
            && others
            && again
            && looks(timeline, calls, wait, timeline.wait(after))
        {
            renewed.insert(id);
        }
    }
    renewed
}

/// Identity of the object behind a futex. A condition variable alternates between two futex words
/// (`__g_signals` of glibc's `pthread_cond_t`), which are the halves of an aligned eight-byte unit.
pub(super) const fn condition((process, address): FutexId) -> FutexId {
    (process, address & !7)
}

/// Instants at which each thread woke another.
pub(super) struct Calls(HashMap<ThreadId, Vec<Nanos>>);

impl Calls {
    pub(super) fn of(timeline: &Timeline) -> Self {
        let mut calls: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
        for wake in timeline.waits.iter().filter_map(|wait| wait.wake) {
            if let Source::Thread(by) = wake.by {
                calls.entry(by).or_default().push(wake.at);
            }
        }
        calls.values_mut().for_each(|calls| calls.sort_unstable());
        Self(calls)
    }

    fn between(&self, thread: ThreadId, from: Nanos, to: Nanos) -> bool {
        self.0.get(&thread).is_some_and(|calls| {
            calls.get(calls.partition_point(|at| *at < from)).is_some_and(|at| *at <= to)
        })
    }
}

/// Whether only a short check lies between two waits of a thread, however long the thread waited
/// for its CPU. A thread that wakes another in between acts on a schedule, so its sleeps are real
/// sleeps.
fn looks(timeline: &Timeline, calls: &Calls, a: &Wait, b: &Wait) -> bool {
    let segments = &timeline.thread(a.thread).segments;
    let first = segments.partition_point(|segment| segment.to <= a.to);
    let between = segments[first..].iter().take_while(|segment| segment.from < b.from);
    let ran: Nanos = between
        .filter(|segment| matches!(segment.state, State::Running { .. }))
        .map(|segment| segment.length())
        .sum();
    let quick = ran.as_secs_f64() <= LOOK * a.to.since(a.from).as_secs_f64();
    quick && !calls.between(a.thread, a.to, b.from)
}

/// Whether two sleeps are alike, with only a short check between them.
fn follows(timeline: &Timeline, calls: &Calls, a: &Wait, b: &Wait) -> bool {
    let [before, after] = [a, b].map(|wait| wait.to.since(wait.from).as_secs_f64());
    // The awaited event may cut the last sleep short.
    a.call == b.call && after <= ALIKE * before && looks(timeline, calls, a, b)
}

/// Whether a thread is blocked or has ended at an instant.
fn is_waiting(thread: &Thread, at: Nanos) -> bool {
    let now = thread.segments.get(thread.segments.partition_point(|segment| segment.to <= at));
    now.is_none_or(|segment| segment.from > at || matches!(segment.state, State::Blocked(_)))
}

impl Poll {
    /// Adds a wait for each thread that stopped working between the last two checks, followed by a
    /// wait for the next check. Returns `false` if no such thread exists, because the sleeps are
    /// then real sleeps.
    pub(super) fn write(
        &self,
        timeline: &Timeline,
        place: &HashMap<ThreadId, u32>,
        sheets: &mut Sheets,
    ) -> bool {
        let Some(&waiter) = place.get(&self.thread) else { return false };
        let (looked, saw) = self.last;
        let mut is_poll = false;
        for (id, thread) in timeline.tree().filter(|(id, _)| *id != self.thread) {
            let Some(&watched) = place.get(&id) else { continue };
            let Some(stopped) = sheets.last_work(watched, self.from, saw) else { continue };
            if stopped <= looked || !is_waiting(thread, saw) {
                continue;
            }
            let worked = sheets.work(watched, self.from, saw);
            if worked.as_secs_f64() >= LOOK * saw.since(self.from).as_secs_f64() {
                sheets.edge((waiter, looked), (watched, stopped));
                is_poll = true;
            }
        }
        if is_poll {
            sheets.step(waiter, self.from, Step::Watch);
            sheets.step(waiter, looked, Step::Look(self.every));
        }
        is_poll
    }
}
