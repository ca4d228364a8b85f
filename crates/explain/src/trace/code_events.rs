//! Code that a trace found: where its samples, stacks and futexes lie in files. This module reads
//! no file and knows no function.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use morecores_study::trace::{
    AddressSpaces, CodeAddress, Event, EventKind, KnownThread, LockUse, Mapping, Module, Object, SampleMode,
    Tid,
};

/// Events that tell which code a trace found: in which functions its samples lie, and in which
/// variables the futexes of its waits. They are collected while the trace is recorded.
#[derive(Clone, Debug, Default)]
pub struct CodeEvents {
    events: Vec<Event>,
    /// Addresses of samples in the kernel.
    kernel: BTreeSet<u64>,
    /// Threads and addresses among the events. A thread that finds the same address again adds
    /// nothing.
    seen: HashSet<(Tid, u64)>,
}

/// Addresses in the modules of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundCode {
    /// Offsets of instructions in the file of each module, by the module's number.
    pub instructions: BTreeMap<u32, BTreeSet<u64>>,
    /// Instructions of each process in memory for generated code, by their addresses.
    pub generated: BTreeMap<Tid, BTreeMap<u64, CodeAddress>>,
    /// Addresses of instructions in the kernel.
    pub kernel: BTreeSet<u64>,
    /// Calls that took the locks, in the order of the given uses.
    pub lock_calls: Vec<Option<CodeAddress>>,
    /// Futexes and locks in the data of a process, with the code that may belong to the same
    /// module: the last mapping before the address.
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
                EventKind::Mapping(_) | EventKind::Fork(_) | EventKind::Exec(_) | EventKind::Frame(_) => true,
                EventKind::Sample(sample) => match sample.mode {
                    SampleMode::User => self.seen.insert((sample.tid, sample.address)),
                    SampleMode::Kernel if !matches!(sample.tid, Tid::IDLE | Tid::UNSEEN) => {
                        self.kernel.insert(sample.address);
                        false
                    }
                    _ => false,
                },
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

    /// Locates all addresses, with those of `uses`, each as its process was at the last hold.
    /// `known` are the threads from before the trace, and `modules` those of its mappings.
    pub fn locate(mut self, known: &[KnownThread], modules: &[Module], uses: &[LockUse]) -> FoundCode {
        let is_generated = |number: u32| modules.get(number as usize).is_some_and(Module::is_generated);
        self.events.sort_by_key(|event| event.at);
        let mut spaces = AddressSpaces::new(known);
        let mut found = FoundCode { kernel: self.kernel, ..FoundCode::default() };
        let mut futexes: BTreeMap<(Tid, u64), Mapping> = BTreeMap::new();
        let mut generators: BTreeSet<Tid> = BTreeSet::new();
        let mut generated_frames: BTreeSet<CodeAddress> = BTreeSet::new();
        for event in &self.events {
            spaces.apply(&event.kind);
            match &event.kind {
                EventKind::Mapping(mapping) if is_generated(mapping.module) => {
                    generators.insert(mapping.process);
                }
                EventKind::Frame(frame) if is_generated(frame.code.module) => {
                    generated_frames.insert(frame.code);
                }
                EventKind::Sample(sample) => {
                    let Some(code) = spaces.locate(sample.tid, sample.address) else { continue };
                    if is_generated(code.module) {
                        let process = found.generated.entry(spaces.process(sample.tid)).or_default();
                        process.insert(sample.address, code);
                    } else {
                        found.instructions.entry(code.module).or_default().insert(code.offset);
                    }
                }
                EventKind::Frame(frame) => {
                    found.instructions.entry(frame.code.module).or_default().insert(frame.code.offset);
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
        found.lock_calls = uses.iter().map(|_| None).collect();
        for (index, call, lock) in locate_uses(&self.events, known, uses) {
            if let Some(call) = call.filter(|call| !is_generated(call.module)) {
                found.instructions.entry(call.module).or_default().insert(call.offset);
            }
            if let Some(lock) = lock {
                futexes.insert((lock.process, uses[index].address), lock);
            }
            found.lock_calls[index] = call;
        }
        // A frame names no process. The kernel's offset in anonymous memory is the address.
        for (process, code) in
            generators.iter().flat_map(|tid| generated_frames.iter().map(|code| (*tid, *code)))
        {
            if spaces.locate(process, code.offset) == Some(code) {
                found.generated.entry(process).or_default().insert(code.offset, code);
            }
        }
        found.futexes =
            futexes.into_iter().map(|((_, address), code)| FoundFutex { address, code }).collect();
        found
    }
}

/// Index of each use, with the place of its call, and the mapping before its lock. The events
/// must be in the order of time.
fn locate_uses(
    events: &[Event],
    known: &[KnownThread],
    uses: &[LockUse],
) -> Vec<(usize, Option<CodeAddress>, Option<Mapping>)> {
    let mut by_end: Vec<usize> = (0..uses.len()).collect();
    by_end.sort_by_key(|index| uses[*index].last_ns);
    let mut spaces = AddressSpaces::new(known);
    let mut events = events.iter().peekable();
    let locate = |index| {
        let LockUse { process, address, caller, last_ns, .. } = &uses[index];
        while let Some(event) = events.next_if(|event| event.at <= *last_ns) {
            spaces.apply(&event.kind);
        }
        // The call is the instruction before the return address.
        let call = spaces.locate(*process, caller.saturating_sub(1));
        // A child's mapping may be that of its parent.
        let lock = spaces.last_mapping(*process, *address);
        (index, call, lock.map(|code| Mapping { process: *process, ..*code }))
    };
    by_end.into_iter().map(locate).collect()
}

#[cfg(test)]
mod tests {
    use morecores_study::trace::{LockMode, Sample, StackFrame};
    use morecores_study::{CpuId, Nanos};

    use super::*;

    fn mapping(process: u32, start: u64, length: u64, offset: u64, module: u32) -> EventKind {
        EventKind::Mapping(Mapping { process: Tid(process), start, length, offset, module })
    }

    #[test]
    fn samples_are_located_by_the_time_of_all_cpus() {
        let at = |at, cpu, kind| Event { at: Nanos(at), cpu: CpuId(cpu), kind };
        let sample = |address, mode| EventKind::Sample(Sample { tid: Tid(1), mode, address, spins: false });
        let mut sampled = CodeEvents::default();
        let user = SampleMode::User;
        sampled.add(&[at(20, 1, sample(0x1010, user)), at(30, 1, sample(0x1010, user))]);
        let idle = Sample { tid: Tid::IDLE, mode: SampleMode::Kernel, address: 0x1030, spins: false };
        sampled.add(&[at(25, 1, sample(0x1020, SampleMode::Kernel)), at(26, 1, EventKind::Sample(idle))]);
        // The mapping was made on another CPU, before the sample.
        sampled.add(&[at(10, 0, mapping(1, 0x1000, 0x1000, 0x400, 3))]);
        assert_eq!(sampled.events.len(), 2);
        let awaits = EventKind::Awaits { tid: Tid(1), object: Object::Futex(0x3008) };
        sampled.add(&[at(40, 0, awaits)]);
        sampled.add(&[at(50, 0, mapping(1, 0x5000, 0x1000, 0x5000, 1)), at(60, 0, sample(0x5010, user))]);
        let frame = |number, offset| {
            EventKind::Frame(StackFrame { number, code: CodeAddress { module: 1, offset }, caller: None })
        };
        // The second one is in no mapping of the process.
        sampled.add(&[at(70, 0, frame(0, 0x5020)), at(80, 0, frame(1, 0x7020))]);
        let modules = ["/bin/a", "//anon", "/bin/b", "/bin/c"];
        let modules = modules.map(|path| Module { path: path.to_owned(), build_id: None });
        let found = sampled.locate(&[], &modules, &[]);
        let generated = [0x5010, 0x5020].map(|offset| (offset, CodeAddress { module: 1, offset }));
        assert_eq!(found.generated, [(Tid(1), generated.into())].into());
        assert_eq!(found.instructions, [(3, [0x410].into())].into());
        assert_eq!(found.kernel, [0x1020].into());
        let code = Mapping { process: Tid(1), start: 0x1000, length: 0x1000, offset: 0x400, module: 3 };
        assert_eq!(found.futexes, [FoundFutex { address: 0x3008, code }]);
    }
    #[test]
    fn calls_that_took_a_lock_are_located_as_the_process_was_then() {
        let at = |at, kind| Event { at: Nanos(at), cpu: CpuId(0), kind };
        let mut events = CodeEvents::default();
        events.add(&[at(10, mapping(1, 0x1000, 0x1000, 0, 0)), at(30, mapping(1, 0x1000, 0x1000, 0, 1))]);
        let lock = |last, caller| LockUse {
            process: Tid(1),
            address: 0x3000,
            mode: LockMode::Mutex,
            caller,
            code: None,
            count: 1,
            held_ns: Nanos(1),
            longest_ns: Nanos(1),
            last_ns: Nanos(last),
        };
        let uses = [lock(40, 0x1011), lock(15, 0x1011), lock(41, 0x9000)];
        let modules = ["/bin/sh", "/bin/a"].map(|path| Module { path: path.to_owned(), build_id: None });
        let found = events.locate(&[], &modules, &uses);
        let call = |module| Some(CodeAddress { module, offset: 0x10 });
        assert_eq!(found.lock_calls, [call(1), call(0), None]);
        assert_eq!(found.instructions, [(0, [0x10].into()), (1, [0x10].into())].into());
        assert_eq!(found.futexes.len(), 1, "the lock is behind the code of the process");
    }
}
