//! Code of a file, and the names of the functions behind its calls. Pure: bytes in, names out.

use std::collections::BTreeMap;
use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationTarget, SectionKind, SymbolKind,
};

use crate::go_program;

/// Section with machine code, or a function in it.
pub(crate) struct CodeSection<'a> {
    pub(crate) address: u64,
    /// Offset in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
}

impl CodeSection<'_> {
    /// Part of the section at these addresses, if they lie in it.
    fn part(&self, addresses: &Range<u64>) -> Option<Self> {
        let start = addresses.start.checked_sub(self.address)?;
        let end = addresses.end.checked_sub(self.address)?;
        let bytes = self.bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)?;
        Some(Self { address: addresses.start, offset: self.offset + start, bytes })
    }

    /// Offset in the file of the byte at an address.
    pub(crate) fn offset_at(&self, address: u64) -> u64 {
        address - self.address + self.offset
    }
}

/// Code of a file, and the functions that it calls.
pub(crate) struct Imports<'a> {
    /// All code; of a Go program its own functions.
    sections: Vec<CodeSection<'a>>,
    /// Name of an imported function by the address of its pointer.
    names: BTreeMap<u64, &'a str>,
    /// Name of a function of the file by its address.
    functions: BTreeMap<u64, &'a str>,
}

impl<'a> Imports<'a> {
    /// Reads the sections, the symbols and the dynamic relocations of a file.
    pub(crate) fn read(file: &object::File<'a>) -> Self {
        let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = sections.filter_map(|section| {
            let (offset, _) = section.file_range()?;
            Some(CodeSection { address: section.address(), offset, bytes: section.data().ok()? })
        });
        let mut sections: Vec<CodeSection<'a>> = sections.collect();
        if let Some(own) = go_program::own_functions(file) {
            let part = |function: &Range<u64>| sections.iter().find_map(|section| section.part(function));
            sections = own.iter().filter_map(part).collect();
        }
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let functions = functions.filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)));
        let functions = functions.collect();
        let Some((symbols, relocations)) = file.dynamic_symbol_table().zip(file.dynamic_relocations()) else {
            return Self { sections, names: BTreeMap::new(), functions };
        };
        let named = relocations.filter_map(|(address, relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            Some((address, symbols.symbol_by_index(index).ok()?.name().ok()?))
        });
        Self { sections, names: named.collect(), functions }
    }

    pub(crate) fn sections(&self) -> &[CodeSection<'a>] {
        &self.sections
    }

    /// Name of the function that a call reaches: directly, through its pointer, or through an entry
    /// of the procedure linkage table.
    pub(crate) fn called_function(&self, call: &Instruction) -> Option<&'a str> {
        if call.op_count() == 0 {
            return None;
        }
        match call.op0_kind() {
            OpKind::Memory if call.is_ip_rel_memory_operand() => {
                self.names.get(&call.ip_rel_memory_address()).copied()
            }
            OpKind::NearBranch64 => {
                let target = call.near_branch_target();
                self.functions.get(&target).copied().or_else(|| self.linked_function(target))
            }
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
