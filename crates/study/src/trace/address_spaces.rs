//! Code at the addresses of the processes: which file a process had mapped at an address, and where
//! in the file the address lies. This module reads no file and knows no function.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::code::{CodeAddress, Mapping};
use super::event::{EventKind, Tid};
use super::header::KnownThread;

/// Code that each process had mapped, as far as the events until now show it.
///
/// A new program's mappings come before the event of its start, so that the start removes nothing.
/// Old mappings do no harm: the new program lies elsewhere, or its mappings replace them.
#[derive(Clone, Debug, Default)]
pub struct AddressSpaces {
    /// Process of each thread that is no first thread of its process.
    processes: HashMap<Tid, Tid>,
    /// Mappings of each process, by their first address.
    spaces: HashMap<Tid, Arc<BTreeMap<u64, Mapping>>>,
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
                insert_mapping(Arc::make_mut(self.spaces.entry(mapping.process).or_default()), *mapping);
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
    pub fn last_mapping(&self, tid: Tid, address: u64) -> Option<&Mapping> {
        let space = self.spaces.get(&self.process(tid))?;
        space.range(..=address).next_back().map(|(_, mapping)| mapping)
    }

    /// Process of a thread.
    pub fn process(&self, tid: Tid) -> Tid {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Accounts, Comm, Exec, Fork};

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
}
