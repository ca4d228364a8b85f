//! Tokens: bytes in pipes, jobserver slots, ended children. Any thread may take them, whichever
//! thread put them. Only an exact trace shows them, because a token that is already there is taken
//! without a wait.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{Object, Tid};
use syscalls::Sysno;

use super::script::Sheets;
use crate::replay::Step;
use morecores_explain::trace::{CallMade, ThreadId, Timeline, WaitId};

/// Tokens found in the trace. Their waits need no other explanation.
#[derive(Default)]
pub(super) struct Tokens {
    channels: u32,
    /// Waits inside the calls that took tokens.
    pub(super) covered: HashSet<WaitId>,
    /// Start of each take, by the thread's place, in order of time.
    pub(super) takes: HashMap<u32, Vec<Nanos>>,
    /// Pipes that several threads read and no reader writes: any free reader takes the data. Each
    /// entry has its channel and, for each reader, the start of its first read.
    pub(super) counters: Vec<(u32, Vec<(u32, Nanos)>)>,
}

impl Tokens {
    /// Initial tokens of all channels, including later ones: every channel starts empty.
    pub(super) fn channels(&self) -> Vec<u64> {
        vec![0; self.channels as usize]
    }

    /// Adds a channel and returns its number.
    pub(super) fn channel(&mut self) -> u32 {
        self.channels += 1;
        self.channels - 1
    }
}

/// Finds tokens and adds the puts and takes of all threads.
pub(super) fn tokens(timeline: &Timeline, place: &HashMap<ThreadId, u32>, sheets: &mut Sheets) -> Tokens {
    let mut tokens = Tokens::default();
    let mut taken = Vec::new();
    bytes(timeline, place, sheets, &mut tokens, &mut taken);
    children(timeline, place, sheets, &mut tokens, &mut taken);
    let mut waits: HashMap<ThreadId, Vec<WaitId>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        waits.entry(wait.thread).or_default().push(id);
    }
    for call in taken {
        let of_thread = waits.get(&call.thread).map(Vec::as_slice).unwrap_or_default();
        let first = of_thread.partition_point(|id| timeline.wait(*id).from < call.since);
        let inside = of_thread[first..].iter().take_while(|id| timeline.wait(**id).from < call.at);
        tokens.covered.extend(inside);
        if let Some(place) = place.get(&call.thread) {
            tokens.takes.entry(*place).or_default().push(call.since);
        }
    }
    tokens.takes.values_mut().for_each(|takes| takes.sort_unstable());
    tokens
}

/// Whether the call takes bytes out.
fn reads(call: &CallMade) -> bool {
    [Sysno::read, Sysno::readv].iter().any(|number| number.id() == i32::from(call.number))
}

fn writes(call: &CallMade) -> bool {
    [Sysno::write, Sysno::writev].iter().any(|number| number.id() == i32::from(call.number))
}

/// Finds pipes and files that act like pipes: written and read by different threads, with never
/// more bytes read than written. A file that one thread writes and another reads once is such a
/// dependency too.
fn bytes<'t>(
    timeline: &'t Timeline,
    place: &HashMap<ThreadId, u32>,
    sheets: &mut Sheets,
    tokens: &mut Tokens,
    taken: &mut Vec<&'t CallMade>,
) {
    let mut by_inode: HashMap<u64, Vec<&CallMade>> = HashMap::new();
    for call in &timeline.calls {
        if let Object::Inode(inode) = call.object
            && call.result > 0
            && (reads(call) || writes(call))
            && place.contains_key(&call.thread)
        {
            by_inode.entry(inode).or_default().push(call);
        }
    }
    let mut inodes: Vec<_> = by_inode.into_iter().collect();
    inodes.sort_unstable_by_key(|(inode, _)| *inode);
    for calls in inodes.into_iter().flat_map(|(_, calls)| lives(calls)) {
        if !is_a_pipe(&calls) {
            continue;
        }
        let channel = tokens.channel();
        let mut readers: Vec<(u32, Nanos)> = Vec::new();
        for call in calls.iter().filter(|call| reads(call)) {
            let reader = place[&call.thread];
            match readers.iter_mut().find(|(known, _)| *known == reader) {
                Some((_, first)) => *first = call.since.min(*first),
                None => readers.push((reader, call.since)),
            }
        }
        let by_a_reader = |call: &CallMade| readers.iter().any(|(reader, _)| *reader == place[&call.thread]);
        if readers.len() > 1 && !calls.iter().any(|call| writes(call) && by_a_reader(call)) {
            tokens.counters.push((channel, readers));
        }
        for call in calls {
            let count = call.result as u64;
            // A reader can read the data before the write call returns.
            let step = if reads(call) {
                taken.push(call);
                Step::Take { channel, tokens: count }
            } else {
                Step::Put { channel, tokens: count }
            };
            sheets.step(place[&call.thread], call.since, step);
        }
    }
}

/// Calls on one inode number, divided by the files that used it; the kernel reuses the number of a
/// deleted file. A new file starts at a write by a new writer after all written bytes were read. If
/// a thread both writes and reads, as jobserver clients do, all calls belong to one pipe.
fn lives(mut calls: Vec<&CallMade>) -> Vec<Vec<&CallMade>> {
    let who = |of: fn(&CallMade) -> bool| -> HashSet<ThreadId> {
        calls.iter().filter(|call| of(call)).map(|call| call.thread).collect()
    };
    if who(reads).intersection(&who(writes)).next().is_some() {
        return vec![calls];
    }
    // Writes sort by their start and reads by their end: a write starts before its data can be
    // read, and a read ends after the write started.
    calls.sort_by_key(|call| if reads(call) { call.at } else { call.since });
    let mut lives: Vec<Vec<&CallMade>> = Vec::new();
    let (mut level, mut writers) = (0, HashSet::new());
    for call in calls {
        let wrote = !reads(call);
        if level <= 0 && wrote && !writers.contains(&call.thread) || lives.is_empty() {
            lives.push(Vec::new());
            (level, writers) = (0, HashSet::new());
        }
        if wrote {
            writers.insert(call.thread);
        }
        level += if wrote { call.result } else { -call.result };
        lives.last_mut().into_iter().for_each(|life| life.push(call));
    }
    lives
}

fn is_a_pipe(calls: &[&CallMade]) -> bool {
    let writers: HashSet<_> = calls.iter().filter(|call| writes(call)).map(|call| call.thread).collect();
    let handed_over =
        calls.iter().any(|call| reads(call) && writers.iter().any(|writer| *writer != call.thread));
    // Bytes exist from the start of a write at the earliest, and are gone by the end of a read at
    // the latest.
    let mut levels: Vec<(Nanos, i64)> = calls
        .iter()
        .map(|call| if reads(call) { (call.at, -call.result) } else { (call.since, call.result) })
        .collect();
    levels.sort_unstable_by_key(|(at, change)| (*at, -change));
    let mut level = 0;
    handed_over
        && levels.iter().all(|(_, change)| {
            level += change;
            level >= 0
        })
}

/// Adds tokens for ended children: a process that waits for any child takes the first one that
/// ends.
fn children<'t>(
    timeline: &'t Timeline,
    place: &HashMap<ThreadId, u32>,
    sheets: &mut Sheets,
    tokens: &mut Tokens,
    taken: &mut Vec<&'t CallMade>,
) {
    // Processes by number. A number can be reused, and is then reaped again.
    let mut by_number: HashMap<Tid, Vec<ThreadId>> = HashMap::new();
    for (id, thread) in timeline.tree() {
        if thread.leader == Some(id) {
            by_number.entry(thread.tid).or_default().push(id);
        }
    }
    let mut channels: HashMap<ThreadId, u32> = HashMap::new();
    for call in &timeline.calls {
        let Object::Process(child) = call.object else { continue };
        let Some(&parent) = place.get(&call.thread) else { continue };
        if call.result <= 0 || i32::from(call.number) != Sysno::wait4.id() {
            continue;
        }
        let born_by_then = |id: &&ThreadId| timeline.thread(**id).born.is_none_or(|born| born < call.at);
        let same_number = by_number.get(&child).map(Vec::as_slice).unwrap_or_default();
        let Some(&child) = same_number.iter().rev().find(born_by_then) else { continue };
        // A process notifies its parent before it leaves its CPU for the last time.
        let ended = timeline.thread(child).ended.map_or(call.at, |ended| ended.min(call.at));
        let reaper = timeline.thread(call.thread).leader.unwrap_or(call.thread);
        let channel = *channels.entry(reaper).or_insert_with(|| tokens.channel());
        sheets.step(place[&child], ended, Step::Put { channel, tokens: 1 });
        sheets.step(parent, call.since, Step::Take { channel, tokens: 1 });
        taken.push(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u32, read: bool, from: u64, bytes: i64) -> CallMade {
        let number = if read { Sysno::read } else { Sysno::write };
        CallMade {
            thread: ThreadId(thread),
            since: Nanos(from),
            at: Nanos(from + 1),
            number: number.id() as u16,
            result: bytes,
            object: Object::Inode(7),
        }
    }

    #[test]
    fn a_number_that_is_used_again_is_another_file() {
        // One compiler writes and its assembler reads; then another pair uses the same number.
        let calls = [
            call(1, false, 0, 100),
            call(1, false, 10, 50),
            call(2, true, 20, 150),
            call(3, false, 30, 80),
            call(4, true, 40, 80),
        ];
        let found = lives(calls.iter().collect());
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn a_jobserver_is_one_pipe_though_it_is_empty_at_times() {
        let calls = [
            call(1, false, 0, 1),
            call(2, true, 10, 1),
            call(2, false, 20, 1),
            call(3, true, 30, 1),
            call(3, false, 40, 1),
        ];
        assert_eq!(lives(calls.iter().collect()).len(), 1);
    }
}
