//! Threads that poll for the progress of others. A trace shows sleeps, and their number depends on
//! the duration of the others' work.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::Call;

use super::program_builder::ProgramBuilder;
use crate::replay::Step;
use morecores_explain::trace::{
    Cause, Source, State, Thread, ThreadId, Timeline, Wait, WaitId, awaited_futex, condition_id,
};

/// Number of consecutive sleeps that is no coincidence.
const MIN_SLEEPS: usize = 4;

/// Longest check between two sleeps, as a share of the sleep.
const MAX_CHECK_SHARE: f64 = 0.1;

/// Largest ratio of a sleep's length to the length of the sleep before it.
const MAX_SLEEP_GROWTH: f64 = 1.5;

/// Consecutive sleeps of a thread that waits for others.
pub(super) struct Poll {
    thread: ThreadId,
    /// Start of the first sleep.
    from: Nanos,
    /// Start and end of the last sleep.
    last: (Nanos, Nanos),
    /// Mean sleep between two checks, without the last sleep, which may have been cut short.
    interval: Nanos,
}

/// All polls, and the poll of each covered wait.
pub(super) fn find_polls(
    timeline: &Timeline,
    causes: &[Cause],
    wakes: &WakeInstants,
    renewed: &HashSet<WaitId>,
) -> (Vec<Poll>, HashMap<WaitId, usize>) {
    let mut waits_by_thread: HashMap<ThreadId, Vec<WaitId>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        if timeline.thread(wait.thread).in_tree {
            waits_by_thread.entry(wait.thread).or_default().push(id);
        }
    }
    let (mut polls, mut poll_of_wait) = (Vec::new(), HashMap::new());
    let mut threads: Vec<_> = waits_by_thread.into_iter().collect();
    threads.sort_unstable_by_key(|(thread, _)| *thread);
    for (thread, waits) in threads {
        let wait = |id: WaitId| &timeline.waits[id.index()];
        let is_next_sleep_of_poll = |a: &WaitId, b: &WaitId| {
            causes[a.index()] == Cause::Timer
                && causes[b.index()] == Cause::Timer
                && is_similar_sleep(timeline, wakes, wait(*a), wait(*b))
        };
        let is_ended_by_others =
            |sleeps: &&[WaitId]| sleeps.last().is_some_and(|last| renewed.contains(last));
        for sleeps in waits
            .chunk_by(is_next_sleep_of_poll)
            .filter(|sleeps| sleeps.len() >= MIN_SLEEPS && !is_ended_by_others(sleeps))
        {
            let (first, last) = (wait(sleeps[0]), wait(sleeps[sleeps.len() - 1]));
            poll_of_wait.extend(sleeps.iter().map(|id| (*id, polls.len())));
            let slept: Nanos = sleeps[..sleeps.len() - 1]
                .iter()
                .map(|id| wait(*id))
                .map(|wait| wait.to.since(wait.from))
                .sum();
            let interval = Nanos(slept.0 / (sleeps.len() as u64 - 1));
            polls.push(Poll { thread, from: first.from, last: (last.from, last.to), interval });
        }
    }
    (polls, poll_of_wait)
}

/// Timed waits for other threads that timed out and were renewed at once, until other threads ended
/// the last one. The event that ended the last wait ends all of them.
pub(super) fn renewed_waits(timeline: &Timeline, causes: &[Cause], wakes: &WakeInstants) -> HashSet<WaitId> {
    let mut next: HashMap<ThreadId, WaitId> = HashMap::new();
    let mut renewed = HashSet::new();
    for id in (0..timeline.waits.len() as u32).rev().map(WaitId) {
        let wait = timeline.wait(id);
        let Some(after) = next.insert(wait.thread, id) else { continue };
        let others_end = matches!(causes[after.index()], Cause::Thread(_)) || renewed.contains(&after);
        if causes[id.index()] == Cause::Timer
            && others_end
            && is_same_wait(timeline, wait, timeline.wait(after))
            && is_short_check(timeline, wakes, wait, timeline.wait(after))
        {
            renewed.insert(id);
        }
    }
    renewed
}

/// Whether two waits of a thread are for the same object: for one futex, or in one system call if
/// it has no futex, such as a sleep or a wait for files.
fn is_same_wait(timeline: &Timeline, a: &Wait, b: &Wait) -> bool {
    let [of_a, of_b] = [a, b].map(|wait| awaited_futex(timeline, wait).map(condition_id));
    of_a == of_b && (of_a.is_some() || matches!(a.call, Call::Number(_)) && a.call == b.call)
}

/// Instants at which each thread woke another.
pub(super) struct WakeInstants(HashMap<ThreadId, Vec<Nanos>>);

impl WakeInstants {
    pub(super) fn from_timeline(timeline: &Timeline) -> Self {
        let mut wakes: HashMap<ThreadId, Vec<Nanos>> = HashMap::new();
        for wake in timeline.waits.iter().filter_map(|wait| wait.wake) {
            if let Source::Thread(by) = wake.by {
                wakes.entry(by).or_default().push(wake.at);
            }
        }
        wakes.values_mut().for_each(|wakes| wakes.sort_unstable());
        Self(wakes)
    }

    fn woke_between(&self, thread: ThreadId, from: Nanos, to: Nanos) -> bool {
        self.0.get(&thread).is_some_and(|wakes| {
            wakes.get(wakes.partition_point(|at| *at < from)).is_some_and(|at| *at <= to)
        })
    }
}

/// Whether only a short check lies between two waits of a thread, however long the thread waited
/// for its CPU. A thread that wakes another in between acts on a schedule, so its sleeps are real
/// sleeps.
fn is_short_check(timeline: &Timeline, wakes: &WakeInstants, a: &Wait, b: &Wait) -> bool {
    let segments = &timeline.thread(a.thread).segments;
    let first = segments.partition_point(|segment| segment.to <= a.to);
    let between = segments[first..].iter().take_while(|segment| segment.from < b.from);
    let ran: Nanos = between
        .filter(|segment| matches!(segment.state, State::Running { .. }))
        .map(|segment| segment.length())
        .sum();
    let quick = ran.as_secs_f64() <= MAX_CHECK_SHARE * a.to.since(a.from).as_secs_f64();
    quick && !wakes.woke_between(a.thread, a.to, b.from)
}

/// Whether two sleeps are alike, with only a short check between them.
fn is_similar_sleep(timeline: &Timeline, wakes: &WakeInstants, a: &Wait, b: &Wait) -> bool {
    let [before, after] = [a, b].map(|wait| wait.to.since(wait.from).as_secs_f64());
    // The awaited event may cut the last sleep short.
    a.call == b.call && after <= MAX_SLEEP_GROWTH * before && is_short_check(timeline, wakes, a, b)
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
    pub(super) fn add_to(
        &self,
        timeline: &Timeline,
        thread_numbers: &HashMap<ThreadId, u32>,
        builder: &mut ProgramBuilder,
    ) -> bool {
        let Some(&waiter) = thread_numbers.get(&self.thread) else { return false };
        let (last_sleep_start, last_sleep_end) = self.last;
        let mut is_poll = false;
        for (id, thread) in timeline.tree().filter(|(id, _)| *id != self.thread) {
            let Some(&watched) = thread_numbers.get(&id) else { continue };
            let Some(stopped) = builder.last_cpu_instant(watched, self.from, last_sleep_end) else {
                continue;
            };
            if stopped <= last_sleep_start || !is_waiting(thread, last_sleep_end) {
                continue;
            }
            let worked = builder.cpu_time(watched, self.from, last_sleep_end);
            if worked.as_secs_f64() >= MAX_CHECK_SHARE * last_sleep_end.since(self.from).as_secs_f64() {
                builder.add_dependency((waiter, last_sleep_start), (watched, stopped));
                is_poll = true;
            }
        }
        if is_poll {
            builder.add_step(waiter, self.from, Step::StartPolling);
            builder.add_step(waiter, last_sleep_start, Step::NextPoll(self.interval));
        }
        is_poll
    }
}
