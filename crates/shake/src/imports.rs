//! Functions that a file calls in others: the names behind its calls. Pure: bytes in, names out.

use std::collections::BTreeMap;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind};

/// Section with machine code.
pub(crate) struct CodeSection<'a> {
    pub(crate) address: u64,
    /// Offset in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

impl CodeSection<'_> {
    /// Offset in the file of the byte at an address.
    pub(crate) fn offset_at(&self, address: u64) -> u64 {
        address - self.address + self.offset
    }
}

/// Code of a file, and the pointers through which it calls imported functions.
pub(crate) struct Imports<'a> {
    sections: Vec<CodeSection<'a>>,
    /// Name of the function by the address of its pointer.
    names: BTreeMap<u64, &'a str>,
}

impl<'a> Imports<'a> {
    /// Reads the sections and the dynamic relocations of a file.
    pub(crate) fn read(file: &object::File<'a>) -> Self {
        let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = sections.filter_map(|section| {
            let (offset, _) = section.file_range()?;
            Some(CodeSection { address: section.address(), offset, bytes: section.data().ok()? })
        });
        let sections = sections.collect();
        let Some((symbols, relocations)) = file.dynamic_symbol_table().zip(file.dynamic_relocations()) else {
            return Self { sections, names: BTreeMap::new() };
        };
        let named = relocations.filter_map(|(address, relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            Some((address, symbols.symbol_by_index(index).ok()?.name().ok()?))
        });
        Self { sections, names: named.collect() }
    }

    pub(crate) fn sections(&self) -> &[CodeSection<'a>] {
        &self.sections
    }

    /// Name of the imported function that a call reaches: through its pointer, or through an entry
    /// of the procedure linkage table.
    pub(crate) fn called_function(&self, call: &Instruction) -> Option<&'a str> {
        if call.op_count() == 0 {
            return None;
        }
        match call.op0_kind() {
            OpKind::Memory if call.is_ip_rel_memory_operand() => {
                self.names.get(&call.ip_rel_memory_address()).copied()
            }
            OpKind::NearBranch64 => self.linked_function(call.near_branch_target()),
            _ => None,
        }
    }

    /// Name of the function behind an entry of the procedure linkage table.
    fn linked_function(&self, entry: u64) -> Option<&'a str> {
        let bytes = self.sections.iter().find_map(|section| {
            let start = entry.checked_sub(section.address)?;
            section.bytes.get(usize::try_from(start).ok()?..)
        })?;
        let jump = Decoder::with_ip(64, bytes, entry, DecoderOptions::NONE)
            .into_iter()
            .find(|instruction| instruction.code() != Code::Endbr64)?;
        let is_entry = jump.flow_control() == FlowControl::IndirectBranch && jump.is_ip_rel_memory_operand();
        self.names.get(&jump.ip_rel_memory_address()).copied().filter(|_| is_entry)
    }
}
