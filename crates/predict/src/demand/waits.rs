//! Conversion of each traced wait: to nothing, to a dependency, to service by a device, or to a
//! fixed sleep.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::Call;
use syscalls::Sysno;

use super::device::{Service, channels};
use super::polls::{Calls, condition, polls, renewed};
use super::script::Sheets;
use super::sections::{Section, SectionLock, Sections, sections};
use super::tokens::Tokens;
use crate::replay::Step;
use morecores_explain::trace::{
    Cause, FutexId, FutexUse, ThreadId, Timeline, Wait, WaitId, causes, futex, futex_uses,
};

/// Longest time from the notification of a reader to its read: some tens of microseconds, and more
/// if it lost its CPU.
const SOON: Nanos = Nanos::from_millis(1);

/// Converts all waits, except those that [`Tokens`] covers. Returns the locks that are held across
/// some waits.
///
/// With `free`, a thread that waits at a queue continues with the first arrival, whichever thread
/// caused the wake-up in the traced run.
pub(super) fn waits(
    timeline: &Timeline,
    place: &HashMap<ThreadId, u32>,
    free: bool,
    tokens: &mut Tokens,
    sheets: &mut Sheets,
) -> Vec<SectionLock> {
    let causes = causes(timeline);
    let Sections { locks, of: sections } = sections(timeline, &causes);
    let futexes = futex_uses(timeline);
    let calls = Calls::of(timeline);
    let renewed = renewed(timeline, &causes, &calls);
    let (polls, of_poll) = polls(timeline, &causes, &calls, &renewed);
    let were_polls: Vec<bool> = polls.iter().map(|poll| poll.write(timeline, place, sheets)).collect();
    let mailboxes = mailboxes(timeline, &causes);
    let mut queues = HashMap::new();
    let mut disk = None;
    for ((id, wait), cause) in (0..).map(WaitId).zip(&timeline.waits).zip(causes.iter().copied()) {
        let Some(&waiter) = place.get(&wait.thread) else { continue };
        if renewed.contains(&id) || of_poll.get(&id).is_some_and(|poll| were_polls[*poll]) {
            continue;
        }
        if tokens.covered.contains(&id) || leads_to_a_take(wait, waiter, tokens) {
            continue;
        }
        let length = wait.to.since(wait.from);
        match cause {
            // The machine adds these waits, or they never end.
            Cause::KernelLock | Cause::UserLock | Cause::Endless => {}
            Cause::Disk => {
                under(sections.get(&id), waiter, sheets);
                let (device, service) = disk.get_or_insert_with(|| {
                    let channels = channels(&of_disk(timeline, &causes));
                    (sheets.device(channels), Service::new(channels))
                });
                let time = service.of(wait.from, wait.to);
                sheets.step(waiter, wait.from, Step::Serve { device: *device, time });
            }
            Cause::Timer
            | Cause::Peer
            | Cause::Device
            | Cause::Rcu
            | Cause::Uninterruptible
            | Cause::Unknown => {
                under(sections.get(&id), waiter, sheets);
                sheets.step(waiter, wait.from, Step::Sleep(length));
            }
            Cause::Thread(waker) => {
                let (Some(&waker), Some(wake)) = (place.get(&waker), wait.wake) else { continue };
                let queue = futex(timeline, wait).filter(|futex| {
                    free && futexes.get(futex) == Some(&FutexUse::Queue)
                        || mailboxes.contains(&condition(*futex))
                });
                match queue {
                    Some(futex) => {
                        let channel = *queues.entry(condition(futex)).or_insert_with(|| tokens.channel());
                        sheets.step(waker, wake.at, Step::Put { channel, tokens: 1 });
                        sheets.step(waiter, wait.from, Step::Take { channel, tokens: 1 });
                    }
                    None => sheets.edge((waiter, wait.from), (waker, wake.at)),
                }
            }
        }
    }
    locks
}

/// Waits of the process tree for the disk.
fn of_disk(timeline: &Timeline, causes: &[Cause]) -> Vec<(Nanos, Nanos)> {
    let waits = timeline.waits.iter().zip(causes).filter(|(_, cause)| **cause == Cause::Disk);
    waits
        .filter(|(wait, _)| timeline.thread(wait.thread).in_tree)
        .map(|(wait, _)| (wait.from, wait.to))
        .collect()
}

/// Holds a lock across a wait that is under it.
fn under(section: Option<&Section>, waiter: u32, sheets: &mut Sheets) {
    if let Some(Section { lock, from, to }) = section {
        sheets.keep(waiter, *lock, *from, *to);
    }
}

/// Futexes with one waiting thread and several waking threads. The waiter continues with the first
/// arrival, and chance decides the waking thread.
fn mailboxes(timeline: &Timeline, causes: &[Cause]) -> HashSet<FutexId> {
    let mut known: HashMap<FutexId, (ThreadId, HashSet<ThreadId>, bool)> = HashMap::new();
    for (wait, cause) in timeline.waits.iter().zip(causes) {
        if let (Some(futex), Cause::Thread(waker)) = (futex(timeline, wait), cause) {
            let (owner, wakers, shared) =
                known.entry(condition(futex)).or_insert((wait.thread, HashSet::new(), false));
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
fn leads_to_a_take(wait: &Wait, waiter: u32, tokens: &Tokens) -> bool {
    const ANY_OF: [&str; 6] = ["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait"];
    let Call::Number(number) = wait.call else { return false };
    Sysno::new(usize::from(number)).is_some_and(|call| ANY_OF.contains(&call.name()))
        && tokens.takes.get(&waiter).is_some_and(|takes| {
            let next = takes.partition_point(|at| *at < wait.to);
            takes.get(next).is_some_and(|at| at.since(wait.to) <= SOON)
        })
}
