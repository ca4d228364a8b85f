//! Code at the addresses of the processes: which file a process had mapped at an address, and where
//! in the file the address lies. This module reads no file and knows no function.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use morecores_study::trace::{Event, EventKind, KnownThread, Mapping, Object, SampleMode, Tid};

/// Place of an instruction in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeAddress {
    /// Index of the file in [`TraceFacts::modules`](morecores_study::trace::TraceFacts::modules).
    pub module: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
}

/// Code that each process had mapped, as far as the events until now show it.
///
/// A new program's mappings come before the event of its start, so that the start removes nothing.
/// Old mappings do no harm: the new program lies elsewhere, or its mappings replace them.
#[derive(Clone, Debug, Default)]
pub struct AddressSpaces {
    /// Process of each thread that is no first thread of its process.
    processes: HashMap<Tid, Tid>,
    /// Mappings of each process, by their first address.
    spaces: HashMap<Tid, Rc<BTreeMap<u64, Mapping>>>,
}

impl AddressSpaces {
    /// Address spaces when the trace began; all are empty.
    pub fn new(known: &[KnownThread]) -> Self {
        let processes = known.iter().map(|thread| (thread.tid, thread.process)).collect();
        Self { processes, spaces: HashMap::new() }
    }

    /// Applies one event, in the order of time. Most kinds change nothing.
    pub fn apply(&mut self, event: &EventKind) {
        match event {
            EventKind::Mapping(mapping) => {
                insert_mapping(Rc::make_mut(self.spaces.entry(mapping.process).or_default()), *mapping);
            }
            EventKind::Fork(fork) if fork.process == fork.child => {
                self.processes.remove(&fork.child);
                match self.spaces.get(&self.process(fork.parent)).cloned() {
                    Some(space) => self.spaces.insert(fork.child, space),
                    None => self.spaces.remove(&fork.child),
                };
            }
            EventKind::Fork(fork) => {
                self.processes.insert(fork.child, fork.process);
            }
            EventKind::Exec(exec) if exec.was != exec.tid => {
                self.processes.remove(&exec.was);
            }
            _ => {}
        }
    }

    /// Code at an address of a thread's process; `None` if no known mapping contains it.
    pub fn locate(&self, tid: Tid, address: u64) -> Option<CodeAddress> {
        let mapping = self.last_mapping(tid, address)?;
        (address < mapping.end()).then(|| CodeAddress {
            module: mapping.module,
            // The numbers of a damaged trace may be of any size.
            offset: mapping.offset.saturating_add(address - mapping.start),
        })
    }

    /// Last mapping of a thread's process that begins at or before an address.
    fn last_mapping(&self, tid: Tid, address: u64) -> Option<&Mapping> {
        let space = self.spaces.get(&self.process(tid))?;
        space.range(..=address).next_back().map(|(_, mapping)| mapping)
    }

    fn process(&self, tid: Tid) -> Tid {
        self.processes.get(&tid).copied().unwrap_or(tid)
    }
}

/// Adds a mapping, which replaces the parts of others at its addresses.
fn insert_mapping(space: &mut BTreeMap<u64, Mapping>, new: Mapping) {
    let before_end = space.range(..new.end()).rev();
    let overlapping: Vec<Mapping> =
        before_end.take_while(|(_, old)| old.end() > new.start).map(|(_, old)| *old).collect();
    for old in overlapping {
        space.remove(&old.start);
        if old.start < new.start {
            space.insert(old.start, Mapping { length: new.start - old.start, ..old });
        }
        if old.end() > new.end() {
            let (start, skipped) = (new.end(), new.end() - old.start);
            let (length, offset) = (old.length - skipped, old.offset.saturating_add(skipped));
            space.insert(start, Mapping { start, length, offset, ..old });
        }
    }
    space.insert(new.start, new);
}

/// Events that tell which code a trace found: in which functions its samples lie, and in which
/// variables the futexes of its waits. They are collected while the trace is recorded.
#[derive(Clone, Debug, Default)]
pub struct CodeEvents {
    events: Vec<Event>,
    /// Threads and addresses among them. A thread that finds the same address again adds nothing.
    seen: HashSet<(Tid, u64)>,
}

/// Addresses in the modules of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCode {
    /// Offsets of instructions in each module, by the module's number.
    pub instructions: BTreeMap<u32, BTreeSet<u64>>,
    /// Futexes in the data of a process, with the code that may belong to the same module: the last
    /// mapping before the address.
    pub futexes: Vec<FoundFutex>,
}

/// Futex that may be a variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundFutex {
    /// Address of the futex.
    pub address: u64,
    /// Mapping of code before the address, in the futex's process.
    pub code: Mapping,
}

impl CodeEvents {
    /// Adds the events of one CPU, in the order of recording.
    pub fn add(&mut self, events: &[Event]) {
        for event in events {
            let is_needed = match &event.kind {
                EventKind::Mapping(_) | EventKind::Fork(_) | EventKind::Exec(_) => true,
                EventKind::Sample(sample) => {
                    sample.mode == SampleMode::User && self.seen.insert((sample.tid, sample.address))
                }
                EventKind::Awaits { tid, object: Object::Futex(address) } => {
                    self.seen.insert((*tid, *address))
                }
                _ => false,
            };
            if is_needed {
                self.events.push(event.clone());
            }
        }
    }

    /// Locates all addresses. `known` are the threads from before the trace.
    pub fn locate(mut self, known: &[KnownThread]) -> FoundCode {
        self.events.sort_by_key(|event| event.at);
        let mut spaces = AddressSpaces::new(known);
        let mut found = FoundCode::default();
        let mut futexes: BTreeMap<(Tid, u64), Mapping> = BTreeMap::new();
        for event in &self.events {
            spaces.apply(&event.kind);
            match &event.kind {
                EventKind::Sample(sample) => {
                    if let Some(code) = spaces.locate(sample.tid, sample.address) {
                        found.instructions.entry(code.module).or_default().insert(code.offset);
                    }
                }
                EventKind::Awaits { tid, object: Object::Futex(address) } => {
                    // A child's mapping may be that of its parent.
                    let process = spaces.process(*tid);
                    if let Some(code) = spaces.last_mapping(process, *address) {
                        futexes.insert((process, *address), Mapping { process, ..*code });
                    }
                }
                _ => {}
            }
        }
        found.futexes =
            futexes.into_iter().map(|((_, address), code)| FoundFutex { address, code }).collect();
        found
    }
}

#[cfg(test)]
mod tests {
    use morecores_study::trace::{Accounts, Comm, Exec, Fork, Sample};
    use morecores_study::{CpuId, Nanos};

    use super::*;

    fn mapping(process: u32, start: u64, length: u64, offset: u64, module: u32) -> EventKind {
        EventKind::Mapping(Mapping { process: Tid(process), start, length, offset, module })
    }

    fn code(module: u32, offset: u64) -> Option<CodeAddress> {
        Some(CodeAddress { module, offset })
    }

    #[test]
    fn later_mappings_replace_the_parts_that_they_cover() {
        let mut spaces = AddressSpaces::default();
        spaces.apply(&mapping(1, 0x1000, 0x4000, 0x100, 0));
        spaces.apply(&mapping(1, 0x2000, 0x1000, 0, 1));
        let at = |address| spaces.locate(Tid(1), address);
        assert_eq!((at(0xfff), at(0x1000), at(0x1fff)), (None, code(0, 0x100), code(0, 0x10ff)));
        assert_eq!((at(0x2000), at(0x2fff)), (code(1, 0), code(1, 0xfff)));
        assert_eq!((at(0x3000), at(0x4fff), at(0x5000)), (code(0, 0x2100), code(0, 0x40ff), None));
        spaces.apply(&mapping(1, 0, 0x10000, 0, 2));
        assert_eq!(spaces.locate(Tid(1), 0x2800), code(2, 0x2800));
    }

    #[test]
    fn damaged_numbers_do_no_harm() {
        let mut spaces = AddressSpaces::default();
        for (start, length) in [(0, u64::MAX), (u64::MAX, u64::MAX), (1 << 63, 0), (7, 1 << 63)] {
            spaces.apply(&mapping(1, start, length, u64::MAX, 0));
            spaces.apply(&mapping(1, start / 2, length / 4, u64::MAX - 1, 1));
        }
        for address in [0, 7, 1 << 40, 1 << 63, u64::MAX] {
            assert!(spaces.locate(Tid(1), address).is_none_or(|code| code.offset >= u64::MAX - 1));
        }
    }

    #[test]
    fn children_inherit_and_threads_share() {
        let mut spaces = AddressSpaces::default();
        let fork = |parent, child, process| {
            EventKind::Fork(Fork { parent: Tid(parent), child: Tid(child), process: Tid(process) })
        };
        spaces.apply(&mapping(1, 0x1000, 0x1000, 0, 0));
        spaces.apply(&fork(1, 2, 1));
        spaces.apply(&fork(2, 3, 3));
        // The parent's later mappings are its own; a thread's are those of its process.
        spaces.apply(&mapping(1, 0x8000, 0x1000, 0, 1));
        assert_eq!(spaces.locate(Tid(2), 0x8000), code(1, 0));
        assert_eq!((spaces.locate(Tid(3), 0x1008), spaces.locate(Tid(3), 0x8000)), (code(0, 8), None));
        // The second thread runs another program and takes its process's number.
        let (name, accounts) = (Comm::new("new"), Accounts::default());
        spaces.apply(&mapping(1, 0x1000, 0x1000, 0, 2));
        spaces.apply(&EventKind::Exec(Exec { tid: Tid(1), was: Tid(2), name, accounts }));
        assert_eq!((spaces.locate(Tid(1), 0x1000), spaces.locate(Tid(2), 0x1000)), (code(2, 0), None));
        // A reused number does not inherit the mappings of its previous process.
        spaces.apply(&fork(9, 3, 3));
        assert_eq!(spaces.locate(Tid(3), 0x1008), None);
    }

    #[test]
    fn samples_are_located_by_the_time_of_all_cpus() {
        let at = |at, cpu, kind| Event { at: Nanos(at), cpu: CpuId(cpu), kind };
        let sample = |address, mode| EventKind::Sample(Sample { tid: Tid(1), mode, address, spins: false });
        let mut sampled = CodeEvents::default();
        let user = SampleMode::User;
        sampled.add(&[at(20, 1, sample(0x1010, user)), at(30, 1, sample(0x1010, user))]);
        sampled.add(&[at(25, 1, sample(0x1020, SampleMode::Kernel))]);
        // The mapping was made on another CPU, before the sample.
        sampled.add(&[at(10, 0, mapping(1, 0x1000, 0x1000, 0x400, 3))]);
        assert_eq!(sampled.events.len(), 2);
        let awaits = EventKind::Awaits { tid: Tid(1), object: Object::Futex(0x3008) };
        sampled.add(&[at(40, 0, awaits)]);
        let found = sampled.locate(&[]);
        assert_eq!(found.instructions, [(3, [0x410].into())].into());
        let code = Mapping { process: Tid(1), start: 0x1000, length: 0x1000, offset: 0x400, module: 3 };
        assert_eq!(found.futexes, [FoundFutex { address: 0x3008, code }]);
    }
}
