//! User stacks of the events: address spaces, unwinding, and the numbers of the frames.
//!
//! This module turns copies of stack memory into stacks as soon as their events are decoded, before
//! a file can be replaced. It must not read the buffers.

use std::collections::HashMap;

use morecores_study::trace::{AddressSpaces, CodeAddress, Event, EventKind, StackFrame, Tid, UserStack};
use morecores_symbols::{MappedFiles, Stack, Unwinder};

use crate::wire::StackRecord;

/// Largest number of frames of a trace: 200 MB in the table below. Stacks with further frames end
/// at the known ones.
const MOST_FRAMES: usize = 4 << 20;

/// Copy of a stack: registers, and the memory from the stack pointer on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackCopy {
    pub(super) record: StackRecord,
    /// Offset of the first byte in the memory of the chunk.
    pub(super) start: usize,
}

impl StackCopy {
    /// Eight bytes at an address of the stack; none outside the copied pages.
    fn read(&self, memory: &[u8], address: u64) -> Option<u64> {
        let distance = address.checked_sub(self.record.registers.sp)?;
        let offset = usize::try_from(distance).ok()?;
        let range = self.start.checked_add(offset)?..self.start.checked_add(offset)?.checked_add(8)?;
        let last = address.checked_add(7)?;
        let is_copied = |address: u64| {
            (0..self.record.pages)
                .any(|page| self.record.page(page).contains(&address) && self.record.copied >> page & 1 == 1)
        };
        if !is_copied(address) || !is_copied(last) {
            return None;
        }
        Some(u64::from_ne_bytes(memory.get(range)?.try_into().ok()?))
    }
}

/// State of the stacks of a trace.
#[derive(Debug, Default)]
pub(super) struct UserStacks {
    spaces: AddressSpaces,
    unwinder: Unwinder,
    frames: HashMap<(Option<u32>, CodeAddress), u32>,
}

impl UserStacks {
    /// Applies changes of the address spaces, in the order of time.
    pub(super) fn apply(&mut self, changes: &[EventKind]) {
        changes.iter().for_each(|change| self.spaces.apply(change));
    }

    /// Completes the stacks among the events, which correspond to `copies` in this order, and
    /// inserts the frames that are new before the stack that has them.
    pub(super) fn unwind(
        &mut self,
        events: &mut Vec<Event>,
        copies: &[StackCopy],
        memory: &[u8],
        files: &MappedFiles<'_>,
    ) {
        if copies.is_empty() {
            return;
        }
        let mut copies = copies.iter();
        let before = std::mem::take(events);
        events.reserve(before.len());
        for mut event in before {
            if let EventKind::UserStack(stack) = &mut event.kind
                && let Some(copy) = copies.next()
            {
                let Stack { frames, end } = self.unwind_copy(copy, stack.tid, memory, files);
                let mut caller = None;
                for code in frames.iter().rev() {
                    let (number, is_new) = self.frame_number(caller, *code);
                    let Some(number) = number else { break };
                    if is_new {
                        let kind = EventKind::Frame(StackFrame { number, caller, code: *code });
                        events.push(Event { at: event.at, cpu: event.cpu, kind });
                    }
                    caller = Some(number);
                }
                *stack = UserStack { frame: caller, end, ..*stack };
            }
            events.push(event);
        }
    }

    fn unwind_copy(&mut self, copy: &StackCopy, tid: Tid, memory: &[u8], files: &MappedFiles<'_>) -> Stack {
        let spaces = &self.spaces;
        self.unwinder.unwind(
            copy.record.registers,
            files,
            |address| spaces.locate(tid, address),
            |address| copy.read(memory, address),
        )
    }

    /// Number of a frame, and whether it is new; no number if there are too many frames.
    fn frame_number(&mut self, caller: Option<u32>, code: CodeAddress) -> (Option<u32>, bool) {
        let next = self.frames.len();
        if let Some(number) = self.frames.get(&(caller, code)) {
            return (Some(*number), false);
        }
        if next >= MOST_FRAMES {
            return (None, false);
        }
        self.frames.insert((caller, code), next as u32);
        (Some(next as u32), true)
    }
}

#[cfg(test)]
mod tests {
    use morecores_study::Nanos;
    use morecores_symbols::UserRegisters;

    use super::*;

    #[test]
    fn memory_that_was_not_copied_cannot_be_read() {
        let sp = 0x7000_0ff0_u64;
        let record = StackRecord {
            tid: Tid(7),
            registers: UserRegisters { ip: 1, sp, bp: 2 },
            took: Nanos::ZERO,
            end: 0x7000_2010,
            position: 0,
            pages: 3,
            copied: 0b101,
        };
        let copy = StackCopy { record, start: 8 };
        // Eight bytes of another stack come first; each word of this one has its number.
        let words = (sp..0x7000_2010).step_by(8).zip(0_u64..);
        let memory: Vec<u8> =
            std::iter::once(u64::MAX).chain(words.map(|(_, word)| word)).flat_map(u64::to_ne_bytes).collect();
        let read = |address| copy.read(&memory, address);
        assert_eq!((read(sp), read(sp + 8)), (Some(0), Some(1)));
        // The second page is missing, and so is a word that reaches into it.
        assert_eq!((read(sp + 12), read(0x7000_1000), read(0x7000_1ff8)), (None, None, None));
        assert_eq!((read(0x7000_2000), read(0x7000_2008)), (Some(514), Some(515)));
        assert_eq!([sp - 8, 0x7000_200c, 0x7000_2010, u64::MAX, 0].map(read), [None; 5]);
    }

    #[test]
    fn stacks_share_the_frames_of_their_callers() {
        let mut stacks = UserStacks::default();
        let code = |offset| CodeAddress { module: 0, offset };
        assert_eq!(stacks.frame_number(None, code(1)), (Some(0), true));
        assert_eq!(stacks.frame_number(Some(0), code(2)), (Some(1), true));
        assert_eq!(stacks.frame_number(Some(0), code(2)), (Some(1), false));
        assert_eq!(stacks.frame_number(None, code(2)), (Some(2), true));
    }
}
