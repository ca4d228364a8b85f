//! Structure of an ELF file: segments, build identifier, and the extents of its functions by the
//! unwind table. This module knows no symbol.

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::elf::{PF_W, PF_X};
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment, ReadCache, SegmentFlags};

/// Bytes in which a program's first instructions call its first function: some 20 in glibc's and
/// musl's dynamic linkers.
const ENTRY_BYTES: u64 = 32;

/// Loadable part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    /// Offset in the file.
    offset: u64,
    /// Bytes in the file.
    length: u64,
    /// Address of the first byte, as in the file's symbols.
    address: u64,
    /// Bytes in memory.
    memory: u64,
    writable: bool,
    executable: bool,
}

/// Structure of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElfFile {
    /// Build identifier in hexadecimal, if the file has one.
    pub(crate) build_id: Option<String>,
    /// True if each compressed section fits in memory by the size that it claims. The reader of
    /// symbols allocates this size, and a failure would abort the process.
    pub(crate) fits_in_memory: bool,
    /// Whether the file has a full symbol table (`.symtab`).
    pub(crate) has_symbol_table: bool,
    segments: Vec<Segment>,
    /// Address of the first instruction of a program.
    entry: u64,
    /// Extents of the functions, by address and without overlap.
    functions: Vec<Range<u64>>,
}

/// Sections from which a stack is unwound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnwindTables {
    /// `.eh_frame`.
    pub(crate) frames: Option<TableSection>,
    /// `.eh_frame_hdr`, the index of `.eh_frame`.
    pub(crate) index: Option<TableSection>,
}

/// Section of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableSection {
    /// Address of the first byte, as in the file's symbols.
    pub(crate) address: u64,
    pub(crate) data: Vec<u8>,
}

impl UnwindTables {
    /// Reads the sections of a file; a damaged section counts as absent.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let cache = ReadCache::new(File::open(path).map_err(|error| error.to_string())?);
        let object = object::File::parse(&cache).map_err(|error| error.to_string())?;
        let section = |name| {
            let section = object.section_by_name(name)?;
            Some(TableSection { address: section.address(), data: section.data().ok()?.to_vec() })
        };
        Ok(Self { frames: section(".eh_frame"), index: section(".eh_frame_hdr") })
    }
}

impl ElfFile {
    /// Reads the structure of a file. The error says what is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        // To open a pipe would wait for its writer, and to open a device may change its state.
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).map_err(|error| error.to_string())?;
        let build_id = object.build_id().map_err(|error| error.to_string())?;
        let segments = object.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            let flags = match segment.flags() {
                SegmentFlags::Elf { p_flags, .. } => p_flags.0,
                _ => 0,
            };
            Segment {
                offset,
                length,
                address: segment.address(),
                memory: segment.size(),
                writable: flags & PF_W.0 != 0,
                executable: flags & PF_X.0 != 0,
            }
        });
        Ok(Self {
            build_id: build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
            fits_in_memory: fits_in_memory(&object),
            has_symbol_table: object.symbol_table().is_some(),
            segments: segments.collect(),
            entry: object.entry(),
            functions: functions(&object),
        })
    }

    /// Address, as in the file's symbols, of the byte at an offset in the file.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.offset <= offset && offset - segment.offset < segment.length)?;
        segment.address.checked_add(offset - segment.offset)
    }

    /// Offset in the file of an address as in the file's symbols.
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        let segment = self
            .segments
            .iter()
            .find(|segment| segment.address <= address && address - segment.address < segment.length)?;
        segment.offset.checked_add(address - segment.address)
    }

    /// True if one segment has all bytes of a range. A damaged symbol can claim more.
    pub(crate) fn has_range(&self, address: u64, length: u64) -> bool {
        self.segments.iter().any(|segment| {
            let distance = address.checked_sub(segment.address);
            distance.is_some_and(|distance| length <= segment.memory.saturating_sub(distance))
        })
    }

    /// Address, as in the file's symbols, of an `address` in a process that has the code at
    /// `offset` mapped at `start`. `None` if the address is not in the file's writable data.
    pub(crate) fn data_address(&self, start: u64, offset: u64, address: u64) -> Option<u64> {
        // A mapping begins at a page, and the segment before may end in this page. LLVM's linker
        // puts the segments side by side in the file, with a gap between their addresses.
        let code = self
            .segments
            .iter()
            .find(|segment| segment.executable && segment.offset.saturating_add(segment.length) > offset)?;
        let code_address = code.address.wrapping_add(offset.wrapping_sub(code.offset));
        let address = address.wrapping_sub(start.wrapping_sub(code_address));
        let is_data = |segment: &&Segment| {
            segment.writable && segment.address <= address && address - segment.address < segment.memory
        };
        self.segments.iter().find(is_data).map(|_| address)
    }

    /// True for the first instructions of a program, in front of which there is no caller. The
    /// dynamic linker's have no unwind table.
    pub(crate) fn is_entry(&self, address: u64) -> bool {
        self.entry != 0 && (self.entry..self.entry.saturating_add(ENTRY_BYTES)).contains(&address)
    }

    /// True if the file has an unwind table.
    pub(crate) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Address after the last byte of the file in memory.
    pub(crate) fn end(&self) -> u64 {
        let ends = self.segments.iter().map(|segment| segment.address.saturating_add(segment.memory));
        ends.max().unwrap_or(0)
    }

    /// Extent of the function at an address, by the unwind table.
    pub(crate) fn function(&self, address: u64) -> Option<Range<u64>> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        function.contains(&address).then(|| function.clone())
    }
}

fn fits_in_memory<'data>(object: &impl Object<'data>) -> bool {
    object.sections().all(|section| match section.compressed_file_range() {
        Ok(range) if range.format == CompressionFormat::None => true,
        Ok(range) => can_allocate(range.uncompressed_size),
        Err(_) => false,
    })
}

/// Allocates this many bytes, writes none, and frees them.
fn can_allocate(bytes: u64) -> bool {
    let mut memory: Vec<u8> = Vec::new();
    let is_allocated = usize::try_from(bytes).is_ok_and(|bytes| memory.try_reserve_exact(bytes).is_ok());
    // Otherwise the compiler may remove an allocation that is never used.
    std::hint::black_box(&memory);
    is_allocated
}

/// Extents of all functions by `.eh_frame`; none from a section that is absent or damaged.
fn functions<'data>(object: &impl Object<'data>) -> Vec<Range<u64>> {
    let Some(section) = object.section_by_name(".eh_frame") else { return Vec::new() };
    let Ok(data) = section.data() else { return Vec::new() };
    let mut table = EhFrame::new(data, LittleEndian);
    table.set_address_size(if object.is_64() { 8 } else { 4 });
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut entries = table.entries(&bases);
    let mut functions: Vec<Range<u64>> = Vec::new();
    // A damaged entry ends the table: the place of the next one is unknown.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let start = entry.initial_address();
        functions.extend(start.checked_add(entry.len()).map(|end| start..end));
    }
    functions.sort_unstable_by_key(|function| (function.start, function.end));
    functions.dedup_by(|next, before| next.start < before.end);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of a program by LLVM's linker: the page of the first code also has the end of the
    /// constants, which have other addresses.
    #[test]
    fn data_is_found_behind_code_that_shares_its_page() {
        let segment = |offset, length, address, memory, writable, executable| Segment {
            offset,
            length,
            address,
            memory,
            writable,
            executable,
        };
        let elf = ElfFile {
            build_id: None,
            fits_in_memory: true,
            has_symbol_table: false,
            entry: 0,
            segments: vec![
                segment(0, 0x12_ec8c, 0, 0x12_ec8c, false, false),
                segment(0x12_ec90, 0x23_28a0, 0x12_fc90, 0x23_28a0, false, true),
                segment(0x38_0c00, 0xa48, 0x38_3c00, 0xbc8, true, false),
            ],
            functions: Vec::new(),
        };
        let base = 0x5555_0000_0000;
        let address = |data| elf.data_address(base + 0x12_f000, 0x12_e000, base + data);
        assert_eq!(address(0x38_4618), Some(0x38_4618));
        assert_eq!(address(0x38_3c00), Some(0x38_3c00));
        assert_eq!(address(0x38_47c8), None);
    }
}
