//! The thread that carries events from the buffers to the stream during the run.
//!
//! The thread polls. The programs never wake it, since a wake-up per event would cost more than all
//! other work. Its sleep time follows from the fill rate of the buffers. During the run it only
//! copies, which is a tenth of the work of encoding. It encodes after the run, or earlier if the
//! copies have filled the memory reserved for them.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use morecores_study::trace::{Event, EventKind, EventSink, Tid};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_symbols::MappedFiles;
use procfs::Current as _;

use super::ring::Buffers;
use super::stack_copy::StackCopy;
use super::tid_query::TidQuery;
use crate::TraceError;
use crate::perf::{MappingReader, ReadMappings};
use crate::user_stacks::UserStacks;
use crate::wire::{Decoder, PROBES, Slot, StackRecord, slot_count, space_change};

/// Slots copied, and events handed on, at a time: 256 KiB and some 600 KiB, which fit in the
/// second-level cache.
const BATCH_SLOTS: usize = 8_192;
/// Events of one CPU that are handed on together, 176 KiB. A wake-up brings some 200 events of a
/// build, and frames of that size take a tenth more room in the file.
const HANDED_EVENTS: usize = 2_048;
/// Largest memory for copies, or a share of the free memory if that share is smaller.
const MAX_BACKLOG_BYTES: u64 = 512 << 20;
const FREE_MEMORY_DIVISOR: u64 = 8;
/// Shortest sleep: below it, waking costs more than the saved buffer space.
const MIN_SLEEP: Duration = Duration::from_millis(4);
/// Longest sleep: a burst of a million events a second fills no buffer in this time.
const MAX_SLEEP: Duration = Duration::from_millis(100);
/// Target fill level of the buffers at a wake-up.
const TARGET_FILL: f64 = 1.0 / 8.0;

/// Result of the reader.
#[derive(Debug)]
pub(crate) struct ReaderSummary {
    pub(crate) events: u64,
    /// The reader's own thread number, as it occurs in the events.
    pub(crate) tid: Tid,
    /// Records without room in the buffer, for each CPU.
    pub(crate) dropped: Vec<(CpuId, u64)>,
    /// Number of records by kind, as counted by [`PROBES`].
    pub(crate) counts: [u64; PROBES.len()],
    /// Files that the command's processes mapped as code.
    pub(crate) mappings: ReadMappings,
    pub(crate) stacks: StackSummary,
}

/// Number of the user stacks, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackSummary {
    pub(crate) copied: u64,
    /// Time that the copies took.
    pub(crate) took: Nanos,
    /// Stacks without room in the buffers.
    pub(crate) dropped: u64,
}

/// The running reader thread.
#[derive(Debug)]
pub(crate) struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<ReaderSummary>>,
}

impl Reader {
    /// Starts to read the buffers of `cpus` into `sink`, with the mappings if they are recorded.
    pub(crate) fn start(
        buffers: Buffers,
        mappings: Option<MappingReader>,
        cpus: CpuSet,
        allotted: &CpuSet,
        tid_query: TidQuery,
        sink: EventSink,
    ) -> Result<Self, TraceError> {
        let stop = Arc::new(AtomicBool::new(false));
        let other_cpus = cpus.difference(allotted);
        let reader_stop = Arc::clone(&stop);
        let read = move || {
            pin_to_cpus(&other_cpus);
            raise_priority();
            let cpus: Vec<CpuId> = cpus.iter().collect();
            ReaderState {
                buffers,
                mappings,
                decoders: cpus.iter().map(|cpu| Decoder::new(*cpu)).collect(),
                lost: vec![0; cpus.len()],
                unreported: vec![0; cpus.len()],
                backlog: VecDeque::new(),
                backlog_limit: (free_memory() / FREE_MEMORY_DIVISOR).min(MAX_BACKLOG_BYTES) as usize,
                backlog_bytes: 0,
                stacks: UserStacks::default(),
                stack_summary: StackSummary::default(),
                sink,
                events: Vec::with_capacity(BATCH_SLOTS),
                gathered: vec![Vec::new(); cpus.len()],
                cpus,
                count: 0,
            }
            .run_until(&reader_stop, &tid_query)
        };
        let thread = thread::Builder::new().name("morecores-trace".to_owned()).spawn(read);
        Ok(Self { stop, thread: thread.map_err(TraceError::io("start the reading thread"))? })
    }

    /// Reads the remaining records and ends.
    pub(crate) fn finish(self) -> Result<ReaderSummary, TraceError> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let summary =
            self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the reading thread panicked")));
        summary.map_err(TraceError::io("write the events"))
    }
}

/// Keeps this thread off the measured CPUs, if there are others.
fn pin_to_cpus(other_cpus: &CpuSet) {
    let mut mask = rustix::thread::CpuSet::new();
    for cpu in other_cpus.iter().filter(|cpu| (cpu.0 as usize) < rustix::thread::CpuSet::MAX_CPU) {
        mask.set(cpu.0 as usize);
    }
    if !other_cpus.is_empty() {
        // If a cpuset refuses this, the reader's time is part of the run and is recorded as such.
        let _ = rustix::thread::sched_setaffinity(None, &mask);
    }
}

/// Gives this thread a higher priority than other ready threads. Among four hundred ready threads,
/// its turn would come long after the buffers are full. It works for a thousandth of the time.
fn raise_priority() {
    // If this is refused, buffers may overflow, and the losses are counted.
    let _ = rustix::process::setpriority_process(None, -20);
}

/// Work that is read and not yet done.
enum Backlog {
    /// Changes of the address spaces, in the order of time. They precede the chunks that were
    /// copied at the same time.
    Changes(Vec<EventKind>),
    Chunk(Chunk),
}

/// Slots that are copied and not yet decoded.
struct Chunk {
    /// CPU of the slots: an index of `cpus`.
    index: usize,
    slots: Vec<Slot>,
    /// Copies of the stacks among the slots.
    stacks: Vec<StackCopy>,
    /// Memory of these stacks.
    memory: Vec<u8>,
    /// Records of this CPU that were lost after these slots and before the next chunk's slots.
    lost: u64,
}

impl Chunk {
    /// Bytes of the slots and stacks.
    fn bytes(&self) -> usize {
        size_of_val(&self.slots[..]) + self.memory.len()
    }
}

struct ReaderState {
    buffers: Buffers,
    mappings: Option<MappingReader>,
    cpus: Vec<CpuId>,
    decoders: Vec<Decoder>,
    /// Drops reported by chunks, for each CPU.
    lost: Vec<u64>,
    /// Drops after the last events handed on, for each CPU; the next event gives the end of the
    /// gap.
    unreported: Vec<u64>,
    /// Oldest work first.
    backlog: VecDeque<Backlog>,
    /// Bytes that the backlog may hold.
    backlog_limit: usize,
    /// Bytes of slots and stacks that the backlog holds.
    backlog_bytes: usize,
    stacks: UserStacks,
    stack_summary: StackSummary,
    sink: EventSink,
    /// Event buffer, kept between chunks to avoid allocation.
    events: Vec<Event>,
    /// Events that are not yet handed on, for each CPU.
    gathered: Vec<Vec<Event>>,
    count: u64,
}

impl ReaderState {
    fn run_until(mut self, stop: &AtomicBool, tid_query: &TidQuery) -> io::Result<ReaderSummary> {
        let mut sleep_time = MIN_SLEEP;
        loop {
            let last = stop.load(Ordering::Acquire);
            let fill = self.cpus.iter().map(|cpu| self.fill(*cpu)).fold(0.0, f64::max);
            let place = self.backlog.len();
            let mut changes = self.copy_buffers();
            // The mappings are read last, so that those before each copied event are known.
            if let Some(mappings) = &mut self.mappings {
                let new = mappings.read(|process| self.buffers.is_in_tree(process));
                changes.extend(new.iter().map(|(at, mapping)| (*at, EventKind::Mapping(*mapping))));
            }
            if !changes.is_empty() {
                changes.sort_by_key(|(at, _)| *at);
                let changes = changes.into_iter().map(|(_, change)| change).collect();
                self.backlog.insert(place, Backlog::Changes(changes));
            }
            while self.backlog_bytes > self.backlog_limit {
                self.deliver_next()?;
            }
            if last {
                break;
            }
            sleep_time = next_sleep_time(sleep_time, fill);
            thread::park_timeout(sleep_time);
        }
        while !self.backlog.is_empty() {
            self.deliver_next()?;
        }
        self.gather_remaining_mappings()?;
        self.gather_remaining_losses()?;
        for index in 0..self.cpus.len() {
            self.hand_on(index)?;
        }
        let tid = tid_query.calling_thread()?;
        let dropped = self.cpus.iter().map(|cpu| (*cpu, self.buffers.dropped(cpu.0))).collect();
        let mut counts = [0; PROBES.len()];
        for decoder in &self.decoders {
            for (sum, count) in counts.iter_mut().zip(decoder.counts()) {
                *sum += count;
            }
        }
        let stacks = self.stack_summary;
        let mappings = self.mappings.map(MappingReader::finish).unwrap_or_default();
        Ok(ReaderSummary { events: self.count, tid, dropped, counts, mappings, stacks })
    }

    /// Share of a CPU's fuller buffer that is full.
    fn fill(&self, cpu: CpuId) -> f64 {
        let slots = self.buffers.unread_slots(cpu.0) as f64 / self.buffers.capacity() as f64;
        slots.max(self.buffers.stack_fill(cpu.0))
    }

    /// Adds the mappings after the last event of a CPU.
    fn gather_remaining_mappings(&mut self) -> io::Result<()> {
        let Some(mappings) = &mut self.mappings else { return Ok(()) };
        let rest: Vec<_> = self.cpus.iter().map(|cpu| mappings.take_rest(*cpu)).collect();
        rest.into_iter().enumerate().try_for_each(|(index, mut events)| self.gather(index, &mut events))
    }

    /// Adds the losses after the last event of a CPU.
    fn gather_remaining_losses(&mut self) -> io::Result<()> {
        for index in 0..self.cpus.len() {
            let events = std::mem::take(&mut self.unreported[index]);
            if events > 0 {
                let at = self.decoders[index].last();
                let kind = EventKind::Lost { events };
                self.gather(index, &mut vec![Event { at, cpu: self.cpus[index], kind }])?;
            }
        }
        Ok(())
    }

    /// Adds events of a CPU behind its earlier ones, and hands them on if they are many.
    fn gather(&mut self, index: usize, events: &mut Vec<Event>) -> io::Result<()> {
        self.count += events.len() as u64;
        self.gathered[index].append(events);
        if self.gathered[index].len() < HANDED_EVENTS { Ok(()) } else { self.hand_on(index) }
    }

    /// Gives the gathered events of a CPU to the sink.
    fn hand_on(&mut self, index: usize) -> io::Result<()> {
        let events = &mut self.gathered[index];
        if !events.is_empty() {
            (self.sink)(self.cpus[index], events)?;
            events.clear();
        }
        Ok(())
    }

    /// Copies the present records of all CPUs, and returns the changes of address spaces among
    /// them.
    fn copy_buffers(&mut self) -> Vec<(Nanos, EventKind)> {
        let mut changes = Vec::new();
        for (index, cpu) in self.cpus.iter().enumerate() {
            // Records are lost only while the buffer is full, and it stays full until the reader
            // frees a slot. Losses up to now therefore follow directly on the last written record.
            // The drop count is read before the write position: if the buffer becomes full in
            // between, its losses are kept for the next time.
            let dropped = self.buffers.dropped(cpu.0);
            let end = self.buffers.written(cpu.0);
            loop {
                let mut slots = Vec::new();
                let waiting = self.buffers.unread_slots(cpu.0) as usize;
                slots.reserve_exact(waiting.min(BATCH_SLOTS) + 2);
                let more = self.buffers.drain(cpu.0, end, BATCH_SLOTS, &mut slots);
                let (mut stacks, mut memory) = (Vec::new(), Vec::new());
                let mut rest = &slots[..];
                while let Some(first) = rest.first() {
                    let (record, after) = rest.split_at(slot_count(first.kind).min(rest.len()));
                    if let Some(record) = StackRecord::parse(record) {
                        let start = memory.len();
                        self.buffers.copy_stack(cpu.0, &record, &mut memory);
                        stacks.push(StackCopy { record, start });
                    }
                    changes.extend(space_change(record));
                    rest = after;
                }
                let lost = if more { 0 } else { dropped - std::mem::replace(&mut self.lost[index], dropped) };
                // A stack without room in the buffer has no pages, and no position either.
                let with_pages = stacks.iter().map(|stack| &stack.record).filter(|record| record.pages > 0);
                if let Some(read) = with_pages.map(|record| record.position + u64::from(record.pages)).max() {
                    self.buffers.free_stack_pages(cpu.0, read);
                }
                if !slots.is_empty() || lost > 0 {
                    let chunk = Chunk { index, slots, stacks, memory, lost };
                    self.backlog_bytes += chunk.bytes();
                    self.backlog.push_back(Backlog::Chunk(chunk));
                }
                if !more {
                    break;
                }
            }
        }
        changes
    }

    /// Does the oldest work of the backlog.
    fn deliver_next(&mut self) -> io::Result<()> {
        match self.backlog.pop_front() {
            Some(Backlog::Chunk(chunk)) => self.deliver_chunk(chunk),
            Some(Backlog::Changes(changes)) => {
                self.stacks.apply(&changes);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Decodes a chunk and gathers its events.
    fn deliver_chunk(&mut self, chunk: Chunk) -> io::Result<()> {
        self.backlog_bytes -= chunk.bytes();
        let Chunk { index, slots, stacks, memory, lost } = chunk;
        let cpu = self.cpus[index];
        let mut events = std::mem::take(&mut self.events);
        self.decoders[index].decode(&slots, &mut events);
        for StackCopy { record, .. } in &stacks {
            let without_room = record.pages == 0;
            self.stack_summary.dropped += u64::from(without_room);
            self.stack_summary.copied += u64::from(!without_room);
            self.stack_summary.took.0 += record.took.0;
        }
        let none = HashMap::new();
        let without_files = MappedFiles { modules: &[], located: &none };
        let files = self.mappings.as_ref().map_or(without_files, MappingReader::files);
        self.stacks.unwind(&mut events, &stacks, &memory, &files);
        if let Some(mappings) = &mut self.mappings {
            mappings.insert_into(cpu, &mut events);
        }
        if self.unreported[index] > 0
            && let Some(at) = events.first().map(|event| event.at)
        {
            let lost = std::mem::take(&mut self.unreported[index]);
            events.insert(0, Event { at, cpu, kind: EventKind::Lost { events: lost } });
        }
        self.unreported[index] += lost;
        let result = self.gather(index, &mut events);
        self.events = events;
        result
    }
}

/// Memory that is available without swapping, in bytes; zero if it cannot be read.
fn free_memory() -> u64 {
    procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available).unwrap_or(0)
}

/// Next sleep time, after a sleep of `sleep_time` in which the fullest buffer filled to this share.
fn next_sleep_time(sleep_time: Duration, fill: f64) -> Duration {
    let factor = TARGET_FILL / fill.max(1e-6);
    // The sleep grows only step by step, since the burst may have ended just now.
    sleep_time.mul_f64(factor.clamp(0.05, 2.0)).clamp(MIN_SLEEP, MAX_SLEEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn losses_are_reported_between_the_events_around_them() {
        // Four batches of kind 9, a sample, at 100, 101, ….
        const BITS: u32 = 15;
        let record = |position| Slot { time: 100 + position, tid: 1, kind: 9, ..Slot::default() };
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&told);
        let mut reading = ReaderState {
            buffers: Buffers::full(BITS, record, 5).expect("a file"),
            mappings: None,
            cpus: vec![CpuId(0)],
            decoders: vec![Decoder::new(CpuId(0))],
            lost: vec![0],
            unreported: vec![0],
            backlog: VecDeque::new(),
            backlog_limit: usize::MAX,
            backlog_bytes: 0,
            stacks: UserStacks::default(),
            stack_summary: StackSummary::default(),
            sink: Box::new(move |_, events| {
                kept.lock().expect("one thread").extend_from_slice(events);
                Ok(())
            }),
            events: Vec::new(),
            gathered: vec![Vec::new()],
            count: 0,
        };
        let given = |reading: &mut ReaderState| {
            while !reading.backlog.is_empty() {
                reading.deliver_next().expect("kept");
            }
            reading.hand_on(0).expect("kept");
            std::mem::take(&mut *told.lock().expect("one thread"))
        };
        reading.copy_buffers();
        let lost = |work: &Backlog| match work {
            Backlog::Chunk(chunk) => chunk.lost,
            Backlog::Changes(_) => 0,
        };
        assert_eq!(reading.backlog.iter().map(lost).collect::<Vec<_>>(), [0, 0, 0, 5]);
        assert!(given(&mut reading).iter().all(|event| matches!(event.kind, EventKind::Sample(_))));
        // The first event after the gap gives the end of the gap.
        let chunk =
            Chunk { index: 0, slots: vec![record(1 << 20)], stacks: Vec::new(), memory: Vec::new(), lost: 2 };
        reading.backlog_bytes += chunk.bytes();
        reading.backlog.push_back(Backlog::Chunk(chunk));
        let after = given(&mut reading);
        assert_eq!((after.len(), &after[0].kind), (2, &EventKind::Lost { events: 5 }));
        assert_eq!((after[0].at, after[1].at), (Nanos(100 + (1 << 20)), Nanos(100 + (1 << 20))));
        // No event follows the last gap.
        reading.gather_remaining_losses().expect("kept");
        let last = Event { at: after[1].at, cpu: CpuId(0), kind: EventKind::Lost { events: 2 } };
        assert_eq!(given(&mut reading), [last]);
        assert_eq!(reading.count, (1 << BITS) + 3);
    }

    #[test]
    fn sleeps_follow_the_rate() {
        assert_eq!(next_sleep_time(MIN_SLEEP, 0.25), MIN_SLEEP);
        assert_eq!(next_sleep_time(Duration::from_millis(40), 0.125), Duration::from_millis(40));
        assert_eq!(next_sleep_time(Duration::from_millis(40), 0.0), Duration::from_millis(80));
        assert_eq!(next_sleep_time(MAX_SLEEP, 0.0), MAX_SLEEP);
        assert!(next_sleep_time(MAX_SLEEP, 1.0) < Duration::from_millis(15));
    }
}
