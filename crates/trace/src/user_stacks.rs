//! User stacks of the events of either source: address spaces, unwinding, and the numbers of the
//! frames.
//!
//! This module turns copies of stack memory into stacks as soon as their events are decoded, before
//! a file can be replaced. It must not read the buffers.

use std::collections::HashMap;

use morecores_study::trace::{AddressSpaces, CodeAddress, Event, EventKind, StackFrame, Tid, UserStack};
use morecores_symbols::{MappedFiles, Stack, Unwinder, UserRegisters};

/// Largest number of frames of a trace: 200 MB in the table below. Stacks with further frames end
/// at the known ones.
const MOST_FRAMES: usize = 4 << 20;

/// Copy of a thread's registers and of its stack memory.
pub(crate) trait CopiedStack {
    /// Registers from which the stack is unwound.
    fn registers(&self) -> UserRegisters;

    /// Eight bytes at an address of the stack; none where the memory was not copied. `memory` is
    /// that of all copies of a batch.
    fn read(&self, memory: &[u8], address: u64) -> Option<u64>;
}

/// State of the stacks of a trace.
#[derive(Debug, Default)]
pub(crate) struct UserStacks {
    spaces: AddressSpaces,
    unwinder: Unwinder,
    frames: HashMap<(Option<u32>, CodeAddress), u32>,
}

impl UserStacks {
    /// Applies changes of the address spaces, in the order of time.
    pub(crate) fn apply(&mut self, changes: &[EventKind]) {
        changes.iter().for_each(|change| self.spaces.apply(change));
    }

    /// Completes the stacks among the events, which correspond to `copies` in this order, and
    /// inserts the frames that are new before the stack that has them.
    pub(crate) fn unwind(
        &mut self,
        events: &mut Vec<Event>,
        copies: &[impl CopiedStack],
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

    fn unwind_copy(
        &mut self,
        copy: &impl CopiedStack,
        tid: Tid,
        memory: &[u8],
        files: &MappedFiles<'_>,
    ) -> Stack {
        let spaces = &self.spaces;
        self.unwinder.unwind(
            copy.registers(),
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
    use super::*;

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
