//! Tokens: bytes in pipes, jobserver slots, ended children. Any thread may take them, whichever
//! thread put them. Only an exact trace shows them, because a token that is already there is taken
//! without a wait.

use std::collections::{HashMap, HashSet};

use morecores_study::Nanos;
use morecores_study::trace::{Object, Tid};
use syscalls::Sysno;

use super::program_builder::ProgramBuilder;
use crate::replay::Step;
use morecores_explain::trace::{CallRecord, ThreadId, Timeline, WaitId};

/// Tokens found in the trace. Their waits need no other explanation.
#[derive(Default)]
pub(super) struct Tokens {
    channels: u32,
    /// Waits inside the calls that took tokens.
    pub(super) covered_waits: HashSet<WaitId>,
    /// Start of each take, by the thread's place, in order of time.
    pub(super) takes: HashMap<u32, Vec<Nanos>>,
    /// Pipes that several threads read and no reader writes: any free reader takes the data. Each
    /// entry has its channel and, for each reader, the start of its first read.
    pub(super) shared_pipes: Vec<(u32, Vec<(u32, Nanos)>)>,
}

impl Tokens {
    /// Initial tokens of all channels, including later ones: every channel starts empty.
    pub(super) fn initial_tokens(&self) -> Vec<u64> {
        vec![0; self.channels as usize]
    }

    /// Adds a channel and returns its number.
    pub(super) fn add_channel(&mut self) -> u32 {
        self.channels += 1;
        self.channels - 1
    }
}

/// Finds tokens and adds the puts and takes of all threads.
pub(super) fn find_tokens(
    timeline: &Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
) -> Tokens {
    let mut tokens = Tokens::default();
    let mut taking_calls = Vec::new();
    add_pipe_tokens(timeline, thread_numbers, builder, &mut tokens, &mut taking_calls);
    add_child_tokens(timeline, thread_numbers, builder, &mut tokens, &mut taking_calls);
    let mut waits: HashMap<ThreadId, Vec<WaitId>> = HashMap::new();
    for (id, wait) in (0..).map(WaitId).zip(&timeline.waits) {
        waits.entry(wait.thread).or_default().push(id);
    }
    for call in taking_calls {
        let thread_waits = waits.get(&call.thread).map(Vec::as_slice).unwrap_or_default();
        let first = thread_waits.partition_point(|id| timeline.wait(*id).from < call.from);
        let inside = thread_waits[first..].iter().take_while(|id| timeline.wait(**id).from < call.to);
        tokens.covered_waits.extend(inside);
        if let Some(number) = thread_numbers.get(&call.thread) {
            tokens.takes.entry(*number).or_default().push(call.from);
        }
    }
    tokens.takes.values_mut().for_each(|takes| takes.sort_unstable());
    tokens
}

/// Whether the call takes bytes out.
fn is_read(call: &CallRecord) -> bool {
    [Sysno::read, Sysno::readv].iter().any(|number| number.id() == i32::from(call.number))
}

fn is_write(call: &CallRecord) -> bool {
    [Sysno::write, Sysno::writev].iter().any(|number| number.id() == i32::from(call.number))
}

/// Finds pipes and files that act like pipes: written and read by different threads, with never
/// more bytes read than written. A file that one thread writes and another reads once is such a
/// dependency too.
fn add_pipe_tokens<'t>(
    timeline: &'t Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
    tokens: &mut Tokens,
    taking_calls: &mut Vec<&'t CallRecord>,
) {
    let mut by_inode: HashMap<u64, Vec<&CallRecord>> = HashMap::new();
    for call in &timeline.calls {
        if let Object::Inode(inode) = call.object
            && call.result > 0
            && (is_read(call) || is_write(call))
            && thread_numbers.contains_key(&call.thread)
        {
            by_inode.entry(inode).or_default().push(call);
        }
    }
    let mut inodes: Vec<_> = by_inode.into_iter().collect();
    inodes.sort_unstable_by_key(|(inode, _)| *inode);
    for calls in inodes.into_iter().flat_map(|(_, calls)| split_by_file(calls)) {
        if !is_pipe(&calls) {
            continue;
        }
        let channel = tokens.add_channel();
        let mut readers: Vec<(u32, Nanos)> = Vec::new();
        for call in calls.iter().filter(|call| is_read(call)) {
            let reader = thread_numbers[&call.thread];
            match readers.iter_mut().find(|(known, _)| *known == reader) {
                Some((_, first)) => *first = call.from.min(*first),
                None => readers.push((reader, call.from)),
            }
        }
        let by_a_reader =
            |call: &CallRecord| readers.iter().any(|(reader, _)| *reader == thread_numbers[&call.thread]);
        if readers.len() > 1 && !calls.iter().any(|call| is_write(call) && by_a_reader(call)) {
            tokens.shared_pipes.push((channel, readers));
        }
        for call in calls {
            let count = call.result as u64;
            // A reader can read the data before the write call returns.
            let step = if is_read(call) {
                taking_calls.push(call);
                Step::Take { channel, tokens: count }
            } else {
                Step::Put { channel, tokens: count }
            };
            builder.add_step(thread_numbers[&call.thread], call.from, step);
        }
    }
}

/// Calls on one inode number, divided by the files that used it; the kernel reuses the number of a
/// deleted file. A new file starts at a write by a new writer after all written bytes were read. If
/// a thread both writes and reads, as jobserver clients do, all calls belong to one pipe.
fn split_by_file(mut calls: Vec<&CallRecord>) -> Vec<Vec<&CallRecord>> {
    let threads_with = |predicate: fn(&CallRecord) -> bool| -> HashSet<ThreadId> {
        calls.iter().filter(|call| predicate(call)).map(|call| call.thread).collect()
    };
    if threads_with(is_read).intersection(&threads_with(is_write)).next().is_some() {
        return vec![calls];
    }
    // Writes sort by their start and reads by their end: a write starts before its data can be
    // read, and a read ends after the write started.
    calls.sort_by_key(|call| if is_read(call) { call.to } else { call.from });
    let mut files: Vec<Vec<&CallRecord>> = Vec::new();
    let (mut bytes, mut writers) = (0, HashSet::new());
    for call in calls {
        let is_write_call = !is_read(call);
        if bytes <= 0 && is_write_call && !writers.contains(&call.thread) || files.is_empty() {
            files.push(Vec::new());
            (bytes, writers) = (0, HashSet::new());
        }
        if is_write_call {
            writers.insert(call.thread);
        }
        bytes += if is_write_call { call.result } else { -call.result };
        files.last_mut().into_iter().for_each(|file| file.push(call));
    }
    files
}

fn is_pipe(calls: &[&CallRecord]) -> bool {
    let writers: HashSet<_> = calls.iter().filter(|call| is_write(call)).map(|call| call.thread).collect();
    let read_by_another =
        calls.iter().any(|call| is_read(call) && writers.iter().any(|writer| *writer != call.thread));
    // Bytes exist from the start of a write at the earliest, and are gone by the end of a read at
    // the latest.
    let mut changes: Vec<(Nanos, i64)> = calls
        .iter()
        .map(|call| if is_read(call) { (call.to, -call.result) } else { (call.from, call.result) })
        .collect();
    changes.sort_unstable_by_key(|(at, change)| (*at, -change));
    let mut bytes = 0;
    read_by_another
        && changes.iter().all(|(_, change)| {
            bytes += change;
            bytes >= 0
        })
}

/// Adds tokens for ended children: a process that waits for any child takes the first one that
/// ends.
fn add_child_tokens<'t>(
    timeline: &'t Timeline,
    thread_numbers: &HashMap<ThreadId, u32>,
    builder: &mut ProgramBuilder,
    tokens: &mut Tokens,
    taking_calls: &mut Vec<&'t CallRecord>,
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
        let Some(&parent) = thread_numbers.get(&call.thread) else { continue };
        if call.result <= 0 || i32::from(call.number) != Sysno::wait4.id() {
            continue;
        }
        let created_before_call =
            |id: &&ThreadId| timeline.thread(**id).created.is_none_or(|created| created < call.to);
        let same_number = by_number.get(&child).map(Vec::as_slice).unwrap_or_default();
        let Some(&child) = same_number.iter().rev().find(created_before_call) else { continue };
        // A process notifies its parent before it leaves its CPU for the last time.
        let ended = timeline.thread(child).ended.map_or(call.to, |ended| ended.min(call.to));
        let reaper = timeline.thread(call.thread).leader.unwrap_or(call.thread);
        let channel = *channels.entry(reaper).or_insert_with(|| tokens.add_channel());
        builder.add_step(thread_numbers[&child], ended, Step::Put { channel, tokens: 1 });
        builder.add_step(parent, call.from, Step::Take { channel, tokens: 1 });
        taking_calls.push(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(thread: u32, read: bool, from: u64, bytes: i64) -> CallRecord {
        let number = if read { Sysno::read } else { Sysno::write };
        CallRecord {
            thread: ThreadId(thread),
            from: Nanos(from),
            to: Nanos(from + 1),
            number: number.id() as u16,
            result: bytes,
            object: Object::Inode(7),
        }
    }

    #[test]
    fn reused_inode_number_is_another_file() {
        // One compiler writes and its assembler reads; then another pair uses the same number.
        let calls = [
            call(1, false, 0, 100),
            call(1, false, 10, 50),
            call(2, true, 20, 150),
            call(3, false, 30, 80),
            call(4, true, 40, 80),
        ];
        let found = split_by_file(calls.iter().collect());
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn a_jobserver_is_one_pipe_even_if_it_is_sometimes_empty() {
        let calls = [
            call(1, false, 0, 1),
            call(2, true, 10, 1),
            call(2, false, 20, 1),
            call(3, true, 30, 1),
            call(3, false, 40, 1),
        ];
        assert_eq!(split_by_file(calls.iter().collect()).len(), 1);
    }
}
