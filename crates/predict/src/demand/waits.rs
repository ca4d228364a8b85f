//! Conversion of each traced wait: to nothing, to a dependency, to service by a device, or to a
//! fixed sleep.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::Call;
use syscalls::Sysno;

use super::device::{ChannelQueue, estimate_channels};
use super::polls::{WakeInstants, find_polls, renewed_waits};
use super::program_builder::ProgramBuilder;
use super::sections::{Section, SectionLock, Sections, find_sections};
use super::tokens::Tokens;
use crate::replay::Step;
use morecores_explain::trace::{
    Cause, FutexId, FutexUse, ThreadId, Timeline, Wait, WaitId, awaited_futex, causes, condition_id,
    futex_uses,
};

/// Longest time from the notification of a reader to its read: some tens of microseconds, and more
/// if it lost its CPU.
const MAX_READ_DELAY: Nanos = Nanos::from_millis(1);

/// Converts all waits, except those that [`Tokens`] covers. Returns the locks that are held across
/// some waits.
///
/// With `free_queues`, a thread that waits at a queue continues with the first arrival, whichever
/// thread caused the wake-up in the traced run.
pub(super) fn convert_waits(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    free_queues: bool,
    tokens: &mut Tokens,
    builder: &mut ProgramBuilder,
) -> Vec<SectionLock> {
    let causes = causes(timeline);
    let Sections { locks, by_wait: sections } = find_sections(timeline, &causes);
    let futexes = futex_uses(timeline);
    let wakes = WakeInstants::from_timeline(timeline);
    let renewed = renewed_waits(timeline, &causes, &wakes);
    let (polls, poll_of_wait) = find_polls(timeline, &causes, &wakes, &renewed);
    let is_poll: Vec<bool> =
        polls.iter().map(|poll| poll.add_to(timeline, thread_numbers, builder)).collect();
    let mailboxes = mailboxes(timeline, &causes);
    let mut queues = HashMap::new();
    let mut disk = None;
    for ((id, wait), cause) in (0..).map(WaitId).zip(&timeline.waits).zip(causes.iter().copied()) {
        let Some(&waiter) = thread_numbers.get(&wait.thread) else { continue };
        if renewed.contains(&id) || poll_of_wait.get(&id).is_some_and(|poll| is_poll[*poll]) {
            continue;
        }
        if tokens.covered_waits.contains(&id) || precedes_take(wait, waiter, tokens) {
            continue;
        }
        let length = wait.to.since(wait.from);
        match cause {
            // The machine adds these waits, or they never end.
            Cause::KernelLock | Cause::UserLock | Cause::Endless => {}
            Cause::Disk => {
                add_section_hold(sections.get(&id), waiter, builder);
                let (device, service) = disk.get_or_insert_with(|| {
                    let channels = estimate_channels(&disk_waits(timeline, &causes));
                    (builder.add_device(channels), ChannelQueue::new(channels))
                });
                let time = service.service_time(wait.from, wait.to);
                builder.add_step(waiter, wait.from, Step::UseDevice { device: *device, time });
            }
            Cause::Timer
            | Cause::Peer
            | Cause::Device
            | Cause::Rcu
            | Cause::Uninterruptible
            | Cause::Unknown => {
                add_section_hold(sections.get(&id), waiter, builder);
                builder.add_step(waiter, wait.from, Step::Sleep(length));
            }
            Cause::Thread(waker) => {
                let (Some(&waker), Some(wake)) = (thread_numbers.get(&waker), wait.wake) else { continue };
                let queue = awaited_futex(timeline, wait).filter(|futex| {
                    free_queues && futexes.get(futex) == Some(&FutexUse::Queue)
                        || mailboxes.contains(&condition_id(*futex))
                });
                match queue {
                    Some(futex) => {
                        let channel =
                            *queues.entry(condition_id(futex)).or_insert_with(|| tokens.add_channel());
                        builder.add_step(waker, wake.at, Step::Put { channel, tokens: 1 });
                        builder.add_step(waiter, wait.from, Step::Take { channel, tokens: 1 });
                    }
                    None => builder.add_dependency((waiter, wait.from), (waker, wake.at)),
                }
            }
        }
    }
    locks
}

/// Waits of the process tree for the disk.
fn disk_waits(timeline: &Timeline, causes: &[Cause]) -> Vec<(Nanos, Nanos)> {
    let waits = timeline.waits.iter().zip(causes).filter(|(_, cause)| **cause == Cause::Disk);
    waits
        .filter(|(wait, _)| timeline.thread(wait.thread).in_tree)
        .map(|(wait, _)| (wait.from, wait.to))
        .collect()
}

/// Holds a lock across a wait that is under it.
fn add_section_hold(section: Option<&Section>, waiter: u32, builder: &mut ProgramBuilder) {
    if let Some(Section { lock, from, to }) = section {
        builder.add_hold(waiter, *lock, *from, *to);
    }
}

/// Futexes with one waiting thread and several waking threads. The waiter continues with the first
/// arrival, and chance decides the waking thread.
fn mailboxes(timeline: &Timeline, causes: &[Cause]) -> HashSet<FutexId> {
    let mut known: HashMap<FutexId, (ThreadId, HashSet<ThreadId>, bool)> = HashMap::new();
    for (wait, cause) in timeline.waits.iter().zip(causes) {
        if let (Some(futex), Cause::Thread(waker)) = (awaited_futex(timeline, wait), cause) {
            let (owner, wakers, shared) =
                known.entry(condition_id(futex)).or_insert((wait.thread, HashSet::new(), false));
            wakers.insert(*waker);
            *shared |= *owner != wait.thread;
        }
    }
    known
        .into_iter()
        .filter(|(_, (_, wakers, shared))| !shared && wakers.len() > 1)
        .map(|(futex, _)| futex)
        .collect()
}

/// Whether the wait was for any of several objects, and a token was taken right after it.
fn precedes_take(wait: &Wait, waiter: u32, tokens: &Tokens) -> bool {
    const ANY_OF: [&str; 6] = ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait"];
    let Call::Number(number) = wait.call else { return false };
    Sysno::new(usize::from(number)).is_some_and(|call| ANY_OF.contains(&call.name()))
        && tokens.takes.get(&waiter).is_some_and(|takes| {
            let next = takes.partition_point(|at| *at < wait.to);
            takes.get(next).is_some_and(|at| at.since(wait.to) <= MAX_READ_DELAY)
        })
}
