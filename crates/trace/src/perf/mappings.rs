//! Files that the command's processes map as code: the kernel's own records of its `mmap` calls.
//! `/proc/PID/maps` would come too late: most processes that start another program have ended
//! before a reader has opened it.
//!
//! The records and the build identifiers in them come from the kernel, which reads them while it
//! maps the file. This module records, and locates the files of other mount namespaces while their
//! processes live; it must not read the files or name functions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::OwnedFd;

use morecores_study::trace::{Event, EventKind, Mapping, Module, Tid};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_symbols::{MappedFiles, locate_in_other_namespace};
use perf_event_open_sys::bindings as sys;
use rustix::io::Errno;

use super::PerfError;
use super::counter::Records;
use super::reader::Channel;
use super::record::Record;

/// Data bytes of a CPU's buffer. A record takes some 120 bytes, and a process that starts a program
/// makes four of them: 250 starts between two readings, which are at most 100 ms apart.
const BUFFER_BYTES: usize = 128 << 10;

/// Largest number of located files. Each is an open file until the functions have names. A choice:
/// a quarter of the usual limit of a process, 1,024.
const MAX_LOCATED: usize = 256;

/// Reader of the mappings of all CPUs.
#[derive(Debug)]
pub(crate) struct MappingReader {
    channels: Vec<Channel>,
    modules: Modules,
    /// Mappings that were read and not yet taken, in the order of time.
    waiting: HashMap<CpuId, VecDeque<(Nanos, Mapping)>>,
    /// Mappings of the last reading.
    fresh: Vec<(Nanos, Mapping)>,
}

/// All modules, located files by the number of their module, and the number of mappings that were
/// lost.
#[derive(Debug, Default)]
pub(crate) struct ReadMappings {
    pub(crate) modules: Vec<Module>,
    pub(crate) located: HashMap<u32, OwnedFd>,
    pub(crate) lost: u64,
}

impl MappingReader {
    /// Starts to record the mappings on each online CPU of `cpus`.
    pub(crate) fn start(cpus: &CpuSet) -> Result<Self, PerfError> {
        let mut channels = Vec::new();
        for cpu in cpus.iter() {
            match Channel::open(cpu, Records::Mappings, BUFFER_BYTES) {
                // The CPU is offline.
                Err(PerfError::Open { error: Errno::NODEV, .. }) => {}
                opened => channels.push(opened?),
            }
        }
        channels.iter().try_for_each(|channel| channel.counter.enable())?;
        Ok(Self { channels, modules: Modules::default(), waiting: HashMap::new(), fresh: Vec::new() })
    }

    /// Reads the present records, and keeps those of the processes for which `is_traced` holds.
    /// Returns the new mappings of all CPUs.
    pub(crate) fn read(&mut self, is_traced: impl Fn(Tid) -> bool) -> &[(Nanos, Mapping)] {
        self.fresh.clear();
        for channel in &mut self.channels {
            let waiting = self.waiting.entry(channel.counter.cpu()).or_default();
            let head = channel.buffer.head();
            let mut keep = |bytes: &[u8]| {
                if let Some((at, mapping)) = decode_mapping(bytes, &is_traced, &mut self.modules) {
                    waiting.push_back((at, mapping));
                    self.fresh.push((at, mapping));
                }
            };
            while channel.buffer.take(head, &mut keep) {}
        }
        &self.fresh
    }

    /// Files of the mappings so far.
    pub(crate) fn files(&self) -> MappedFiles<'_> {
        self.modules.files()
    }

    /// Inserts the mappings of a CPU up to the time of the last of its `events` before the first
    /// later event.
    pub(crate) fn insert_into(&mut self, cpu: CpuId, events: &mut Vec<Event>) {
        let Some(last) = events.last().map(|event| event.at) else { return };
        let Some(waiting) = self.waiting.get_mut(&cpu) else { return };
        let mut place = 0;
        let due = waiting.iter().take_while(|(at, _)| *at <= last).count();
        for (at, mapping) in waiting.drain(..due) {
            place += events[place..].iter().take_while(|event| event.at <= at).count();
            events.insert(place, mapping_event(at, cpu, mapping));
        }
    }

    /// Mappings of a CPU after its last events.
    pub(crate) fn take_rest(&mut self, cpu: CpuId) -> Vec<Event> {
        let rest = self.waiting.remove(&cpu).unwrap_or_default();
        rest.into_iter().map(|(at, mapping)| mapping_event(at, cpu, mapping)).collect()
    }

    /// Ends the recording.
    pub(crate) fn finish(self) -> ReadMappings {
        let lost = self.channels.iter().filter_map(|channel| channel.counter.read_lost_records().ok()?).sum();
        let (modules, located) = self.modules.into_parts();
        ReadMappings { modules, located, lost }
    }
}

fn mapping_event(at: Nanos, cpu: CpuId, mapping: Mapping) -> Event {
    Event { at, cpu, kind: EventKind::Mapping(mapping) }
}

/// Decodes a record of a mapping by a traced process: pid, tid, address, length, offset, build
/// identifier or inode, protection, flags, path.
pub(super) fn decode_mapping(
    bytes: &[u8],
    is_traced: impl Fn(Tid) -> bool,
    modules: &mut Modules,
) -> Option<(Nanos, Mapping)> {
    let Record { kind, flags, mut body, at, .. } = Record::parse(bytes)?;
    if kind != sys::PERF_RECORD_MMAP2 {
        return None;
    }
    let (process, _) = (body.tid()?, body.tid()?);
    if !is_traced(process) {
        return None;
    }
    let (start, length, offset) = (body.u64()?, body.u64()?, body.u64()?);
    let [build_id_length, _, _, _, identity @ ..] = body.bytes::<24>()?;
    let has_build_id = flags & sys::PERF_RECORD_MISC_MMAP_BUILD_ID != 0;
    let build_id = identity.get(..usize::from(build_id_length)).filter(|_| has_build_id);
    let (_protection, _flags) = (body.u32()?, body.u32()?);
    let module = modules.number(
        process,
        Module {
            path: String::from_utf8_lossy(body.text()).into_owned(),
            build_id: build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
        },
    );
    Some((at, Mapping { process, start, length, offset, module }))
}

/// Modules, numbered in the order of their first mapping.
#[derive(Debug, Default)]
pub(super) struct Modules {
    list: Vec<Module>,
    numbers: HashMap<Module, u32>,
    /// Files of other mount namespaces.
    located: HashMap<u32, OwnedFd>,
    /// Modules of which each process until now had ended before its namespace was known.
    unlocated: HashSet<u32>,
}

impl Modules {
    /// All files so far.
    pub(super) fn files(&self) -> MappedFiles<'_> {
        MappedFiles { modules: &self.list, located: &self.located }
    }

    /// All files by their number, and the located files of other mount namespaces.
    pub(super) fn into_parts(self) -> (Vec<Module>, HashMap<u32, OwnedFd>) {
        (self.list, self.located)
    }

    /// Number of a module that this process has mapped.
    fn number(&mut self, process: Tid, module: Module) -> u32 {
        let number = match self.numbers.get(&module) {
            Some(number) => *number,
            None => {
                let number = self.list.len() as u32;
                self.list.push(module.clone());
                self.numbers.insert(module.clone(), number);
                if module.has_path() {
                    self.unlocated.insert(number);
                }
                number
            }
        };
        if self.located.len() < MAX_LOCATED
            && self.unlocated.contains(&number)
            && let Ok(file) = locate_in_other_namespace(process, &module.path)
        {
            self.unlocated.remove(&number);
            self.located.extend(file.map(|file| (number, file)));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 20] = [0xab; 20];

    /// A record of a mapping at `start`, as the kernel writes it.
    fn record(process: u32, start: u64, path: &str, has_build_id: bool, at: u64) -> Vec<u8> {
        let mut body = [process, process].map(u32::to_ne_bytes).concat();
        body.extend([start, 0x1000, 0x2000].map(u64::to_ne_bytes).concat());
        body.extend([20, 0, 0, 0]);
        body.extend(ID);
        body.extend([5, 2].map(u32::to_ne_bytes).concat());
        body.extend(path.bytes());
        // A zero, and up to a multiple of eight bytes.
        body.resize(body.len() / 8 * 8 + 8, 0);
        let flags = if has_build_id { sys::PERF_RECORD_MISC_MMAP_BUILD_ID as u16 } else { 0 };
        let length = (8 + body.len() + 16) as u16;
        let header = [flags.to_ne_bytes(), length.to_ne_bytes()].concat();
        let id = [[process, process].map(u32::to_ne_bytes).concat(), at.to_ne_bytes().to_vec()].concat();
        [sys::PERF_RECORD_MMAP2.to_ne_bytes().to_vec(), header, body, id].concat()
    }

    #[test]
    fn records_give_mappings_of_traced_processes() {
        let mut modules = Modules::default();
        let mut decoded = |bytes: &[u8]| decode_mapping(bytes, |process| process == Tid(7), &mut modules);
        let libc = record(7, 0x7000, "/lib/libc.so.6", true, 90);
        let expected = Mapping { process: Tid(7), start: 0x7000, length: 0x1000, offset: 0x2000, module: 0 };
        assert_eq!(decoded(&libc), Some((Nanos(90), expected)));
        assert_eq!(decoded(&record(8, 0x7000, "/lib/libc.so.6", true, 91)), None);
        let other = decoded(&record(7, 0x9000, "//anon", false, 92)).expect("traced");
        assert_eq!((other.0, other.1.module), (Nanos(92), 1));
        assert_eq!(decoded(&libc).map(|(_, mapping)| mapping.module), Some(0));
        for length in 0..libc.len() {
            let cut = decoded(&libc[..length]);
            assert!(cut.is_none_or(|(_, mapping)| mapping.process == Tid(7)), "{length}");
        }
        let named = |path: &str, build_id| Module { path: path.to_owned(), build_id };
        assert_eq!(
            modules.list[..2],
            [named("/lib/libc.so.6", Some("ab".repeat(20))), named("//anon", None)]
        );
    }

    #[test]
    fn mappings_precede_the_first_later_event() {
        let cpu = CpuId(3);
        let mapping = |start| Mapping { process: Tid(7), start, length: 1, offset: 0, module: 0 };
        let waiting = [(5, 1), (20, 2), (20, 3), (90, 4)].map(|(at, start)| (Nanos(at), mapping(start)));
        let mut reader = MappingReader {
            channels: Vec::new(),
            modules: Modules::default(),
            waiting: [(cpu, VecDeque::from(waiting))].into(),
            fresh: Vec::new(),
        };
        let lost = |at| Event { at: Nanos(at), cpu, kind: EventKind::Lost { events: 1 } };
        let mut events = vec![lost(10), lost(20), lost(30)];
        reader.insert_into(CpuId(0), &mut events);
        reader.insert_into(cpu, &mut events);
        let start = |event: &Event| match event.kind {
            EventKind::Mapping(mapping) => mapping.start,
            _ => 0,
        };
        assert_eq!(events.iter().map(start).collect::<Vec<_>>(), [1, 0, 0, 2, 3, 0]);
        let rest = reader.take_rest(cpu);
        assert_eq!(rest.iter().map(|event| (event.at, start(event))).collect::<Vec<_>>(), [(Nanos(90), 4)]);
    }
}
