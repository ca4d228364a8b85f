//! Copies of stack memory by the BPF programs, in pages of which some may be missing.

use morecores_symbols::UserRegisters;

use crate::user_stacks::CopiedStack;
use crate::wire::StackRecord;

/// Copy of a stack: registers, and the memory from the stack pointer on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackCopy {
    pub(super) record: StackRecord,
    /// Offset of the first byte in the memory of the chunk.
    pub(super) start: usize,
}

impl CopiedStack for StackCopy {
    fn registers(&self) -> UserRegisters {
        self.record.registers
    }

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

#[cfg(test)]
mod tests {
    use morecores_study::Nanos;
    use morecores_study::trace::Tid;

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
}
