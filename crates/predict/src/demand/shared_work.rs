//! Threads that share their work. The assignment of jobs to threads is an accident of the traced
//! run and differs on other CPUs.
//!
//! If processes take jobs from a pipe, the trace shows the start of each job. If threads take jobs
//! from a queue or divide a loop, the trace does not show it. Two signs remain: all of the threads
//! end at the same time after uneven work, or each was woken from a queue that all waited at. The
//! creating thread may be a member. This module finds the members; the program builder divides the
//! work.

use std::collections::{BTreeMap, HashMap, HashSet};

use morecores_study::Nanos;

use super::program_builder::{PieceBoundary, ProgramBuilder};
use super::tokens::Tokens;
use morecores_explain::trace::{
    Cause, FutexId, FutexUse, Source, State, ThreadId, Timeline, awaited_futex, causes, futex_uses,
};

/// Largest distance between the members' ends, as a share of the episode.
const MAX_END_SPREAD: f64 = 0.25;

/// Largest distance between the ends when the work came from a queue, because the last jobs may be
/// long.
const MAX_END_SPREAD_FROM_QUEUE: f64 = 0.3;

/// Ratio of the largest work of a member to the mean from which the work is uneven. With even work
/// the assignment does not matter.
const MIN_UNEVENNESS: f64 = 1.2;

/// Limits on the number of pieces per member when the trace does not show the pieces: a queue has
/// some jobs for each worker.
const MIN_PIECES: f64 = 2.0;
const MAX_PIECES: f64 = 20.0;

/// Work of the creating thread, as a share of the episode, below which it only hands out work.
const MAX_PARENT_WORK: f64 = 0.5;

/// Work of the creating thread, as a share of the members' mean work, from which it is a member.
const MIN_PARENT_PART: f64 = 0.5;

/// Shortest episode that is analysed; a shorter one carries no information.
const MIN_EPISODE: Nanos = Nanos::from_millis(2);

/// Marks the work of processes that take their jobs from a pipe as shared.
pub(super) fn share_pipe_jobs(timeline: &Timeline, tokens: &Tokens, builder: &mut ProgramBuilder) {
    for (channel, readers) in &tokens.shared_pipes {
        let work = builder.add_shared_work(PieceBoundary::AtTake(*channel));
        for (reader, first) in readers {
            if let Some(end) = builder.last_cpu_instant(*reader, *first, timeline.ended) {
                builder.share_work(work, *reader, *first, end);
            }
        }
    }
}

/// Finds threads that share their work and marks that work as shared.
pub(super) fn share_sibling_work(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
) {
    let causes = causes(timeline);
    let uses = futex_uses(timeline);
    let queues = WorkQueues::from_timeline(timeline, thread_numbers, &uses);
    for siblings in sibling_groups(timeline) {
        if !siblings_do_not_hand_over(timeline, &causes, &uses, &siblings) {
            continue;
        }
        let starts_by_parent = starts_by_parent(timeline, &siblings);
        for episode in work_episodes(timeline, &causes, &siblings) {
            share_episode(timeline, thread_numbers, &siblings, &starts_by_parent, episode, &queues, builder);
        }
    }
}

/// Groups of threads with the same creating thread.
fn sibling_groups(timeline: &Timeline) -> Vec<Vec<ThreadId>> {
    let mut by_parent: BTreeMap<ThreadId, Vec<ThreadId>> = BTreeMap::new();
    for (id, thread) in timeline.tree() {
        if let Some(parent) = thread.parent.filter(|_| thread.leader != Some(id)) {
            by_parent.entry(parent).or_default().push(id);
        }
    }
    by_parent.into_values().collect()
}

/// Whether no sibling hands work to another. Siblings may wake each other only from a futex that
/// most of them wait at, and never from a queue.
fn siblings_do_not_hand_over(
    timeline: &Timeline,
    causes: &[Cause],
    uses: &HashMap<FutexId, FutexUse>,
    siblings: &[ThreadId],
) -> bool {
    let members: HashSet<ThreadId> = siblings.iter().copied().collect();
    let mut waiters: HashMap<(ThreadId, u64), HashSet<ThreadId>> = HashMap::new();
    let mut by_members = HashSet::new();
    for (wait, cause) in timeline.waits.iter().zip(causes).filter(|(wait, _)| members.contains(&wait.thread))
    {
        if *cause == Cause::UserLock {
            continue;
        }
        let Some(futex) = awaited_futex(timeline, wait) else { continue };
        waiters.entry(futex).or_default().insert(wait.thread);
        if let Some(Source::Thread(by)) = wait.wake.map(|wake| wake.by)
            && members.contains(&by)
        {
            by_members.insert(futex);
        }
    }
    by_members.iter().all(|futex| {
        uses.get(futex) != Some(&FutexUse::Queue)
            && waiters.get(futex).is_some_and(|threads| 2 * threads.len() > siblings.len())
    })
}

/// Episodes: spans with at least one sibling at work, between instants without any.
fn work_episodes(timeline: &Timeline, causes: &[Cause], siblings: &[ThreadId]) -> Vec<(Nanos, Nanos)> {
    let mut changes: Vec<(Nanos, i32)> = Vec::new();
    for id in siblings {
        for segment in &timeline.thread(*id).segments {
            // A thread that waits for a lock or a device counts as at work; a thread that waits for
            // another thread does not.
            let idle = match segment.state {
                State::Blocked(wait) => matches!(causes[wait.index()], Cause::Thread(_)),
                State::Running { .. } | State::Runnable | State::Held(_) => false,
            };
            if !idle && segment.to > segment.from {
                changes.extend([(segment.from, 1), (segment.to, -1)]);
            }
        }
    }
    // At one instant, starts come before ends, so adjacent segments do not split an episode.
    changes.sort_unstable_by_key(|(at, change)| (*at, -change));
    let (mut episodes, mut at_work, mut began) = (Vec::new(), 0, Nanos::ZERO);
    for (at, change) in changes {
        if at_work == 0 {
            began = at;
        }
        at_work += change;
        if at_work == 0 && at.since(began) >= MIN_EPISODE {
            episodes.push((began, at));
        }
    }
    episodes
}

/// Marks the work of one episode as shared if it looks shared.
fn share_episode(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    siblings: &[ThreadId],
    starts_by_parent: &[Nanos],
    (from, to): (Nanos, Nanos),
    queues: &WorkQueues,
    builder: &mut ProgramBuilder,
) {
    let member_work = |member: u32, begin: Nanos| {
        let end = builder.last_cpu_instant(member, begin, to)?;
        Some((member, begin, end, builder.cpu_time(member, begin, end)))
    };
    let mut active: Vec<(u32, Nanos, Nanos, Nanos)> = siblings
        .iter()
        .filter_map(|id| {
            let thread = timeline.thread(*id);
            let begin = thread.segments.iter().find(|segment| segment.to > from)?.from.max(from);
            member_work(*thread_numbers.get(id)?, begin)
        })
        .collect();
    let parent = timeline.thread(siblings[0]).parent.and_then(|id| Some((id, *thread_numbers.get(&id)?)));
    let members: Vec<u32> = active.iter().map(|(member, ..)| *member).collect();
    let from_wake_ups = queues.most_were_woken(&members, from, to);
    // The creating thread may be a member after it has started the others.
    let parent_part = parent.filter(|_| !from_wake_ups).and_then(|(_, number)| {
        let last = starts_by_parent[..starts_by_parent.partition_point(|at| *at < to)].last();
        let part = member_work(number, last.copied().unwrap_or(from).max(from))?;
        let least = MIN_PARENT_PART * active.iter().map(|(.., work)| work.as_secs_f64()).sum::<f64>()
            / active.len().max(1) as f64;
        (part.3.as_secs_f64() >= least).then_some(part)
    });
    active.extend(parent_part);
    if active.len() < 2 {
        return;
    }
    let work: Nanos = active.iter().map(|(.., work)| *work).sum();
    let most = active.iter().map(|(.., work)| *work).max().unwrap_or(Nanos::ZERO);
    let mean = work.as_secs_f64() / active.len() as f64;
    let ends = || active.iter().map(|(_, _, end, _)| *end);
    let end_spread = ends().max().unwrap_or(to).since(ends().min().unwrap_or(from));
    let end_spread = end_spread.as_secs_f64() / to.since(from).as_secs_f64();
    let parents_work = parent.map(|(_, parent)| builder.cpu_time(parent, from, to));
    let parent_waits =
        parents_work.is_none_or(|work| work.as_secs_f64() < MAX_PARENT_WORK * to.since(from).as_secs_f64());
    let from_queue = from_wake_ups || parent_waits && queues.most_returned_to_one(&members, to);
    let max_spread = if from_queue { MAX_END_SPREAD_FROM_QUEUE } else { MAX_END_SPREAD };
    if end_spread > max_spread || most.as_secs_f64() < MIN_UNEVENNESS * mean {
        return;
    }
    // Members of a team work instead of waiting. Threads that wait for messages during the episode
    // are no team, although they end together too.
    let waits = || {
        active.iter().map(|(member, begin, end, _)| queues.count_waits(*member, *begin, *end)).sum::<usize>()
    };
    if parent_part.is_some() && waits() > active.len() {
        return;
    }
    // Work after the first member's end is the remainder of one job per other member. On average
    // this remainder is as long as a whole job, because a long job is more likely to be the running
    // one.
    let first_end = ends().min().unwrap_or(to);
    let left: Nanos =
        active.iter().map(|(member, _, end, _)| builder.cpu_time(*member, first_end, *end)).sum();
    let job = Nanos(left.0 / (active.len() as u64 - 1));
    let job = job.clamp(equal_part(mean, MAX_PIECES), equal_part(mean, MIN_PIECES));
    let work = builder.add_shared_work(PieceBoundary::MeanWork(job));
    for (member, begin, end, _) in &active {
        builder.share_work(work, *member, *begin, *end);
    }
    if let Some((parent, _, end, _)) = parent_part {
        for (member, _, member_end, _) in active.iter().filter(|(member, ..)| *member != parent) {
            builder.add_dependency((parent, end), (*member, *member_end));
        }
        return;
    }
    // A thread that waits for the last member waits for all members.
    let last_wait = timeline.waits.iter().find(|wait| {
        let is_sibling = |source: Source| source.thread().is_some_and(|by| siblings.contains(&by));
        Some(wait.thread) == parent.map(|(id, _)| id)
            && wait.from < to
            && wait.to + MIN_EPISODE >= to
            && wait.wake.is_some_and(|wake| is_sibling(wake.by))
    });
    if let Some((wait, parent)) = last_wait.and_then(|wait| Some((wait, *thread_numbers.get(&wait.thread)?)))
    {
        for (member, _, end, _) in &active {
            builder.add_dependency((parent, wait.from), (*member, *end));
        }
    }
}

/// Instants at which the creating thread created or woke a member, in order of time.
fn starts_by_parent(timeline: &Timeline, siblings: &[ThreadId]) -> Vec<Nanos> {
    let members: HashSet<ThreadId> = siblings.iter().copied().collect();
    let parent = siblings.first().and_then(|id| timeline.thread(*id).parent);
    let created = siblings.iter().filter_map(|id| timeline.thread(*id).created);
    let woken = timeline.waits.iter().filter(|wait| members.contains(&wait.thread));
    let woken = woken.filter_map(|wait| wait.wake).filter(|wake| wake.by.thread() == parent);
    let mut at: Vec<Nanos> = created.chain(woken.map(|wake| wake.at)).collect();
    at.sort_unstable();
    at
}

/// Duration of one of `parts` equal parts of `whole` seconds.
fn equal_part(whole: f64, parts: f64) -> Nanos {
    Nanos::from_secs_f64(whole / parts).max(Nanos(1))
}

/// Work queues that threads wait at.
struct WorkQueues {
    /// Wake-ups from a queue: instant and thread. Each wakes one thread for work that any waiter
    /// could do.
    wake_ups: Vec<(Nanos, u32)>,
    /// Waits of each thread, except for locks: start and futex.
    waits: HashMap<u32, Vec<(Nanos, FutexId)>>,
}

impl WorkQueues {
    fn from_timeline(
        timeline: &Timeline,
        thread_numbers: &HashMap<ThreadId, u32>,
        uses: &HashMap<FutexId, FutexUse>,
    ) -> Self {
        let (mut wake_ups, mut waits) = (Vec::new(), HashMap::<u32, Vec<_>>::new());
        for wait in &timeline.waits {
            let (Some(&thread), Some(futex)) =
                (thread_numbers.get(&wait.thread), awaited_futex(timeline, wait))
            else {
                continue;
            };
            match uses.get(&futex) {
                Some(FutexUse::Lock) => continue,
                Some(FutexUse::Queue) if wait.ended => wake_ups.push((wait.to, thread)),
                _ => {}
            }
            waits.entry(thread).or_default().push((wait.from, futex));
        }
        wake_ups.sort_unstable();
        Self { wake_ups, waits }
    }

    /// Whether most members were woken from a queue between two instants.
    fn most_were_woken(&self, members: &[u32], from: Nanos, to: Nanos) -> bool {
        let first = self.wake_ups.partition_point(|(at, _)| *at < from);
        let inside = self.wake_ups[first..].iter().take_while(|(at, _)| *at <= to);
        let woken: HashSet<u32> = inside.map(|(_, thread)| *thread).collect();
        2 * members.iter().filter(|member| woken.contains(member)).count() > members.len()
    }

    /// Number of waits of a thread that began between two instants.
    fn count_waits(&self, member: u32, from: Nanos, to: Nanos) -> usize {
        let before = |at: Nanos, waits: &[(Nanos, FutexId)]| waits.partition_point(|(from, _)| *from < at);
        self.waits.get(&member).map_or(0, |waits| before(to, waits) - before(from, waits))
    }

    /// Whether most members made their last wait before an instant at one futex.
    fn most_returned_to_one(&self, members: &[u32], at: Nanos) -> bool {
        let mut futexes: HashMap<FutexId, usize> = HashMap::new();
        for waits in members.iter().filter_map(|member| self.waits.get(member)) {
            let before = waits.partition_point(|(from, _)| *from <= at);
            if let Some((_, futex)) = before.checked_sub(1).and_then(|last| waits.get(last)) {
                *futexes.entry(*futex).or_default() += 1;
            }
        }
        futexes.values().any(|count| 2 * count > members.len())
    }
}
