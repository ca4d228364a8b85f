//! Code of the command during a recording: the files that its processes map, and the stacks of its
//! samples. This module decides which records matter for it; it must not read the buffers.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use morecores_study::Nanos;
use morecores_study::trace::{Event, EventKind, Module};
use perf_event_open_sys::bindings as sys;

use super::decode::{Caller, Decoder, fork_event};
use super::mappings::{Modules, decode_mapping};
use super::record::kind_of;
use super::samples::{SampleRecord, StackCopy};
use crate::user_stacks::UserStacks;

/// Events of one CPU, with the stacks that are not yet unwound.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    copies: Vec<StackCopy>,
    /// Memory of all copies.
    memory: Vec<u8>,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.copies.clear();
        self.memory.clear();
    }
}

/// Files and address spaces of the command's processes.
#[derive(Debug)]
pub(super) struct CommandCode {
    caller: Caller,
    modules: Modules,
    stacks: UserStacks,
    /// Changes of the address spaces that are not yet applied.
    changes: Vec<(Nanos, EventKind)>,
}

impl CommandCode {
    /// No code yet. The processes of `caller` do not belong to the command.
    pub(super) fn new(caller: Caller) -> Self {
        Self { caller, modules: Modules::default(), stacks: UserStacks::default(), changes: Vec::new() }
    }

    /// Notes the change of the address spaces that a record shows, if it shows one.
    pub(super) fn note_change(&mut self, record: &[u8]) {
        let own = self.caller.process;
        let change = match kind_of(record) {
            Some(sys::PERF_RECORD_MMAP2) => {
                decode_mapping(record, |process| process != own, &mut self.modules)
                    .map(|(at, mapping)| (at, EventKind::Mapping(mapping)))
            }
            Some(sys::PERF_RECORD_FORK) => fork_event(record).map(|(at, fork)| (at, EventKind::Fork(fork))),
            _ => None,
        };
        self.changes.extend(change);
    }

    /// Applies the noted changes, in the order of time.
    pub(super) fn apply_changes(&mut self) {
        self.changes.sort_by_key(|(at, _)| *at);
        let changes: Vec<EventKind> = self.changes.drain(..).map(|(_, change)| change).collect();
        self.stacks.apply(&changes);
    }

    /// Adds the events of a record to a batch.
    pub(super) fn decode(&mut self, decoder: &mut Decoder, record: &[u8], batch: &mut Batch) {
        match kind_of(record) {
            Some(sys::PERF_RECORD_SAMPLE) => {
                let sample = SampleRecord::parse(record);
                let stack = sample.and_then(|sample| decoder.decode_sample(&sample, &mut batch.events));
                batch.copies.extend(stack.map(|stack| StackCopy::append(&stack, &mut batch.memory)));
            }
            Some(sys::PERF_RECORD_MMAP2) => {
                let own = self.caller.process;
                if let Some((at, mapping)) =
                    decode_mapping(record, |process| process != own, &mut self.modules)
                {
                    decoder.add_mapping(at, mapping, &mut batch.events);
                }
            }
            _ => decoder.decode(record, &mut batch.events),
        }
    }

    /// Unwinds the stacks of a batch, and adds their frames to its events.
    pub(super) fn unwind(&mut self, batch: &mut Batch) {
        self.stacks.unwind(&mut batch.events, &batch.copies, &batch.memory, &self.modules.files());
        batch.copies.clear();
    }

    /// All files by their number, and the located files of other mount namespaces.
    pub(super) fn into_files(self) -> (Vec<Module>, HashMap<u32, OwnedFd>) {
        self.modules.into_parts()
    }
}
