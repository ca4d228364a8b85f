//! Threads that look every so often whether others are done: a trace shows sleeps, and how many of them there are depends on how
//! long the others take.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;

use super::script::Sheets;
use crate::replay::Step;
use morecores_explain::trace::{
    Cause, FutexId, Source, State, Thread, ThreadId, Timeline, Wait, WaitId, futex,
};

/// So many sleeps in a row are no chance.
const ENOUGH: usize = 4;

/// A look takes no longer than this share of the time until the next one.
const LOOK: f64 = 0.1;

/// Sleeps between looks are alike: none is longer than the one before by more than this factor.
const ALIKE: f64 = 1.5;

/// Sleeps in a row that a thread made while it waited for others.
pub(super) struct Poll {
    thread: ThreadId,
    /// When the first of them began.
    from: Nanos,
    /// When the last of them began, and ended.
    last: (Nanos, Nanos),
    /// How long it slept from one look to the next, on average: but for the last time, which may have been cut short.
    every: Nanos,
}

/// All of them, and which waits they consist of.
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

/// Timed waits for something that others do that ran out and were begun again at once, until one was ended by others: what ended that
/// one ended all.
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

/// What a futex belongs to: the two words that one condition variable waits at by turns (`__g_signals` of glibc's
/// `pthread_cond_t`) are the halves of an aligned eight bytes.
pub(super) const fn condition((process, address): FutexId) -> FutexId {
    (process, address & !7)
}

/// When each thread woke somebody.
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

/// Whether there is nothing but a look between two waits of a thread, however long it waited for its CPU. Who wakes somebody
/// meanwhile does so when the time has come, and its sleeps are what they are.
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

/// Whether two sleeps are of one kind, with nothing but a look in between.
fn follows(timeline: &Timeline, calls: &Calls, a: &Wait, b: &Wait) -> bool {
    let [before, after] = [a, b].map(|wait| wait.to.since(wait.from).as_secs_f64());
    // The last one may be cut short by what is waited for.
    a.call == b.call && after <= ALIKE * before && looks(timeline, calls, a, b)
}

/// Whether a thread waits for something at an instant, or is no more.
fn is_waiting(thread: &Thread, at: Nanos) -> bool {
    let now = thread.segments.get(thread.segments.partition_point(|segment| segment.to <= at));
    now.is_none_or(|segment| segment.from > at || matches!(segment.state, State::Blocked(_)))
}

impl Poll {
    /// Waits for those who stopped working between the last look but one and the last, and then for the next look; where there were
    /// none, it was a sleep after all. Whether it was a poll.
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
