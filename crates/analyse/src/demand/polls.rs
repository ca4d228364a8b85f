//! Threads that look every so often whether others are done: a trace shows sleeps, and how many of them there are depends on how
//! long the others take.

use std::collections::{HashMap, HashSet};

use morecores_record::Nanos;

use super::script::Sheets;
use crate::replay::Step;
use crate::trace::{Cause, FutexId, ThreadId, Timeline, Wait, WaitId, futex};

/// So many sleeps in a row are no chance.
const ENOUGH: usize = 4;

/// A look takes no longer than this share of the time until the next one.
const LOOK: f64 = 0.1;

/// Sleeps between looks are alike: within this factor of the one before.
const ALIKE: f64 = 1.5;

/// Sleeps in a row that a thread made while it waited for others.
pub(super) struct Poll {
    pub(super) thread: ThreadId,
    /// The first of them, and the last.
    pub(super) from: Nanos,
    last: (Nanos, Nanos),
}

/// All of them, and which waits they consist of.
pub(super) fn polls(timeline: &Timeline, causes: &[Cause]) -> (Vec<Poll>, HashMap<WaitId, usize>) {
    let mut of: HashMap<ThreadId, Vec<WaitId>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        if timeline.thread(wait.thread).in_tree {
            of.entry(wait.thread).or_default().push(id);
        }
    }
    let (mut polls, mut covered) = (Vec::new(), HashMap::new());
    let mut threads: Vec<_> = of.into_iter().collect();
    threads.sort_unstable_by_key(|(thread, _)| *thread);
    for (thread, mut waits) in threads {
        let wait = |id: WaitId| &timeline.waits[id.index()];
        waits.sort_unstable_by_key(|id| wait(*id).from);
        let goes_on = |a: &WaitId, b: &WaitId| {
            causes[a.index()] == Cause::Timer
                && causes[b.index()] == Cause::Timer
                && follows(wait(*a), wait(*b))
        };
        for row in waits.chunk_by(goes_on).filter(|row| row.len() >= ENOUGH) {
            let (first, last) = (wait(row[0]), wait(row[row.len() - 1]));
            covered.extend(row.iter().map(|id| (*id, polls.len())));
            polls.push(Poll { thread, from: first.from, last: (last.from, last.to) });
        }
    }
    (polls, covered)
}

/// Timed waits for something that others do that ran out and were begun again at once: what ended the last of them ended all.
pub(super) fn renewed(timeline: &Timeline, causes: &[Cause]) -> HashSet<WaitId> {
    let mut last: HashMap<ThreadId, WaitId> = HashMap::new();
    let mut renewed = HashSet::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        let Some(before) = last.insert(wait.thread, id) else { continue };
        let at = |wait: &Wait| futex(timeline, wait).map(condition);
        let ran_out = timeline.wait(before);
        if causes[before.index()] == Cause::Timer
            && at(ran_out).is_some()
            && at(ran_out) == at(wait)
            && looks(ran_out, wait)
        {
            renewed.insert(before);
        }
    }
    renewed
}

/// What a futex belongs to: the two words that one condition variable waits at by turns (`__g_signals` of glibc's
/// `pthread_cond_t`) are the halves of an aligned eight bytes.
pub(super) const fn condition((process, address): FutexId) -> FutexId {
    (process, address & !7)
}

/// Whether there is nothing but a look between two waits.
fn looks(a: &Wait, b: &Wait) -> bool {
    b.from.since(a.to).as_secs_f64() <= LOOK * a.to.since(a.from).as_secs_f64()
}

/// Whether two sleeps are of one kind, with nothing but a look in between.
fn follows(a: &Wait, b: &Wait) -> bool {
    let [before, after] = [a, b].map(|wait| wait.to.since(wait.from).as_secs_f64());
    // The last one may be cut short by what is waited for.
    a.call == b.call && after <= ALIKE * before && looks(a, b)
}

impl Poll {
    /// Waits for those who stopped working between the last look but one and the last, and then for as long as the last look came
    /// late; where there were none, it was a sleep after all. Whether it was a poll.
    pub(super) fn write(
        &self,
        timeline: &Timeline,
        place: &HashMap<ThreadId, u32>,
        sheets: &mut Sheets,
    ) -> bool {
        let Some(&waiter) = place.get(&self.thread) else { return false };
        let (looked, saw) = self.last;
        let mut latest = None;
        for (id, _) in timeline.tree().filter(|(id, _)| *id != self.thread) {
            let Some(&watched) = place.get(&id) else { continue };
            let Some(stopped) = sheets.last_work(watched, self.from, saw) else { continue };
            let worked = sheets.work(watched, self.from, saw);
            let at_work = worked.as_secs_f64() >= LOOK * saw.since(self.from).as_secs_f64();
            if looked < stopped && stopped < saw && at_work {
                sheets.edge((waiter, self.from), (watched, stopped));
                latest = latest.max(Some(stopped));
            }
        }
        let Some(latest) = latest else { return false };
        sheets.step(waiter, self.from, Step::Sleep(saw.since(latest)));
        true
    }
}
