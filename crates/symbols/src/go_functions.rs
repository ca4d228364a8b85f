//! Functions of a program of Go by the table of its runtime (`.gopclntab`), which stays in a
//! stripped program. The layouts are those of Go 1.18 (magic number `0xfffffff0`) and of Go 1.20
//! and later (`0xfffffff1`, read up to Go 1.26), for 64-bit programs: `src/runtime/symtab.go`,
//! `src/runtime/runtime2.go` (`_func`) and `src/debug/gosym/pclntab.go` of Go. This module must not
//! trust the table: each number in it may be damaged.
//!
//! The addresses of the table count from the start of Go's code. The header has had this start only
//! up to Go 1.25, so it comes from the runtime's description of the program (`moduledata`). That
//! has no symbol in a stripped program. It begins with the address of the table, and several of its
//! words must agree with the table.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use object::elf::{R_X86_64_RELATIVE, SHF_WRITE};
use object::{Object, ObjectSection, ReadCache, ReadRef, RelocationFlags, SectionFlags};

/// Magic numbers of the layouts.
const MAGIC_1_18: u32 = 0xffff_fff0;
const MAGIC_1_20: u32 = 0xffff_fff1;

/// Sections with the table, the second one in position-independent programs before Go 1.26.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// Bytes of an entry in the list of functions: the start of the code, and the place of the record.
const ENTRY: usize = 8;

/// Places of fields in a function's record (`_func`), in bytes.
const NAME: usize = 4;
const FILES: usize = 20;
const LINES: usize = 24;
const UNIT: usize = 32;

/// Words of `moduledata`, by their number.
mod module_word {
    pub(super) const TABLE: u64 = 0;
    pub(super) const NAMES: u64 = 1;
    pub(super) const RECORDS: u64 = 13;
    pub(super) const FUNCTIONS: u64 = 16;
    pub(super) const FUNCTION_COUNT: u64 = 17;
    pub(super) const FIRST_CODE: u64 = 20;
    pub(super) const END_OF_CODE: u64 = 21;
    pub(super) const TEXT: u64 = 22;
}

/// Function of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoFunction {
    /// Addresses, as in the file's symbols.
    pub(crate) range: Range<u64>,
    pub(crate) name: String,
    /// File and line of the first instruction.
    pub(crate) source: Option<(String, u32)>,
}

/// Functions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoFunctions {
    table: Table,
    /// Address of the first byte of Go's code.
    text: u64,
}

impl GoFunctions {
    /// Reads the table of a file; none without a table of a known layout.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let object = object::File::parse(&cache).ok()?;
        let section = SECTIONS.iter().find_map(|name| object.section_by_name(name))?;
        let table = Table::parse(section.data().ok()?.to_vec())?;
        let text = text_start(&object, section.address(), &table)?;
        Some(Self { table, text })
    }

    /// Function that contains an address.
    pub(crate) fn function(&self, address: u64) -> Option<GoFunction> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let (range, name, source) = self.table.function(offset)?;
        let [start, end] = [range.start, range.end].map(|offset| self.text.checked_add(offset.into()));
        Some(GoFunction { range: start?..end?, name, source })
    }
}

/// Table of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Table {
    data: Vec<u8>,
    /// Number of functions.
    count: usize,
    /// Places of the parts in `data`: names of functions, lists of files by compilation unit, names
    /// of files, tables by instruction, and the list of functions with their records.
    names: usize,
    units: usize,
    files: usize,
    instructions: usize,
    functions: usize,
}

impl Table {
    fn parse(data: Vec<u8>) -> Option<Self> {
        let magic = u32_at(&data, 0)?;
        // Two zeros, the unit of code addresses on x86, and the size of an address.
        if ![MAGIC_1_18, MAGIC_1_20].contains(&magic) || data.get(4..8)? != [0, 0, 1, 8] {
            return None;
        }
        let word = |number: usize| usize::try_from(u64_at(&data, 8 + 8 * number)?).ok();
        let (count, functions) = (word(0)?, word(7)?);
        // The list ends with the end of the last function.
        let list = count.checked_mul(ENTRY)?.checked_add(ENTRY / 2)?;
        data.get(functions..functions.checked_add(list)?)?;
        Some(Self {
            count,
            names: word(3)?,
            units: word(4)?,
            files: word(5)?,
            instructions: word(6)?,
            functions,
            data,
        })
    }

    /// Start of a function after the start of the code; for the number of functions, the end of the
    /// last one.
    fn start(&self, number: usize) -> Option<u32> {
        u32_at(&self.data, self.functions.checked_add(number.checked_mul(ENTRY)?)?)
    }

    /// Function that contains an offset after the start of the code: offsets, name and first line.
    #[allow(clippy::type_complexity, reason = "a part of one function")]
    fn function(&self, offset: u32) -> Option<(Range<u32>, String, Option<(String, u32)>)> {
        let (mut number, mut beyond) = (0, self.count);
        while number < beyond {
            let middle = number + (beyond - number) / 2;
            if self.start(middle)? <= offset { number = middle + 1 } else { beyond = middle }
        }
        let number = number.checked_sub(1)?;
        let (start, next) = (self.start(number)?, self.start(number + 1)?);
        let place = self.functions.checked_add(number.checked_mul(ENTRY)?)?.checked_add(4)?;
        let record = self.functions.checked_add(u32_at(&self.data, place)? as usize)?;
        let field = |place: usize| u32_at(&self.data, record.checked_add(place)?);
        if field(0)? != start {
            return None;
        }
        // The table of lines covers the instructions, and not the gap before the next function.
        let lines = self.instruction_table(field(LINES)?);
        let length = next.checked_sub(start)?;
        let length = lines.and_then(|table| code_length(table, length)).unwrap_or(length);
        let range = start..start.checked_add(length)?;
        if !range.contains(&offset) {
            return None;
        }
        // As the linker of Go writes symbols.
        let name = self.text(self.names.checked_add(field(NAME)? as usize)?)?.replace('·', ".");
        let source = || {
            let line = u32::try_from(first_value(lines?)?).ok().filter(|line| *line > 0)?;
            let file = u32::try_from(first_value(self.instruction_table(field(FILES)?)?)?).ok()?;
            Some((self.file(field(UNIT)?, file)?, line))
        };
        Some((range, name, source()))
    }

    /// Table by instruction at an offset; none at 0, which stands for an empty one.
    fn instruction_table(&self, offset: u32) -> Option<&[u8]> {
        let start = self.instructions.checked_add(offset as usize).filter(|_| offset != 0)?;
        self.data.get(start..)
    }

    /// Name of a file by its number in a compilation unit.
    fn file(&self, unit: u32, number: u32) -> Option<String> {
        let place = (unit as usize).checked_add(number as usize)?.checked_mul(4)?;
        let offset = u32_at(&self.data, self.units.checked_add(place)?)?;
        // The linker leaves out files without code.
        let offset = Some(offset).filter(|offset| *offset != u32::MAX)?;
        self.text(self.files.checked_add(offset as usize)?)
    }

    /// Text that begins at a place and ends with a zero; none if it is empty.
    fn text(&self, place: usize) -> Option<String> {
        let bytes = self.data.get(place..)?;
        let length = bytes.iter().position(|byte| *byte == 0).filter(|length| *length > 0)?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

/// Bytes of code that a table by instruction covers; none if they are more than `most`, or if the
/// table is damaged.
fn code_length(mut table: &[u8], most: u32) -> Option<u32> {
    let mut length: u32 = 0;
    // A difference of values of zero ends the table, except in the first pair.
    while length == 0 || table.first() != Some(&0) {
        varint(&mut table)?;
        let step = varint(&mut table).filter(|step| *step > 0)?;
        length = length.checked_add(step).filter(|length| *length <= most)?;
    }
    Some(length)
}

/// First value of a table by instruction. The values count from -1; their differences are signed,
/// with the sign in the lowest bit.
fn first_value(mut table: &[u8]) -> Option<i64> {
    let difference = varint(&mut table)?;
    let magnitude = i64::from(difference >> 1);
    Some(if difference & 1 == 1 { -magnitude - 2 } else { magnitude - 1 })
}

/// Number of seven bits in each byte, the lowest ones first; takes it from the bytes.
fn varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut number: u32 = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Address of the first byte of Go's code, by the `moduledata` of the table at this address.
fn text_start<'data, R: ReadRef<'data>>(
    object: &object::File<'data, R>,
    table_address: u64,
    table: &Table,
) -> Option<u64> {
    // In a position-independent program, addresses are in the relocations alone.
    let relocations = object.dynamic_relocations().into_iter().flatten();
    let is_relative = |flags| matches!(flags, RelocationFlags::Elf { r_type } if r_type == R_X86_64_RELATIVE);
    let relocated: HashMap<u64, u64> = relocations
        .filter(|(_, relocation)| is_relative(relocation.flags()))
        .map(|(place, relocation)| (place, relocation.addend().cast_unsigned()))
        .collect();
    let is_writable =
        |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(SHF_WRITE));
    object.sections().filter(|section| is_writable(section.flags())).find_map(|section| {
        let data = section.data().ok()?;
        let word = |place: u64| {
            let in_file = u64_at(data, usize::try_from(place).ok()?)?;
            let address = section.address().checked_add(place)?;
            Some(relocated.get(&address).copied().unwrap_or(in_file))
        };
        let starts = (0..data.len() as u64).step_by(8).filter(|place| word(*place) == Some(table_address));
        starts.into_iter().find_map(|start| {
            module_text(table_address, table, |number| word(start.checked_add(8 * number)?))
        })
    })
}

/// Address of the first byte of Go's code, by the words of a `moduledata`; none if they do not
/// agree with the table.
fn module_text(table_address: u64, table: &Table, word: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let text = word(module_word::TEXT)?;
    let part = |place: usize| table_address.checked_add(place as u64);
    let code = |number: usize| text.checked_add(table.start(number)?.into());
    let expected = [
        (module_word::TABLE, Some(table_address)),
        (module_word::NAMES, part(table.names)),
        (module_word::RECORDS, part(table.functions)),
        (module_word::FUNCTIONS, part(table.functions)),
        (module_word::FUNCTION_COUNT, (table.count as u64).checked_add(1)),
        (module_word::FIRST_CODE, code(0)),
        (module_word::END_OF_CODE, code(table.count)),
    ];
    expected.into_iter().all(|(number, value)| value.is_some() && word(number) == value).then_some(text)
}

fn u32_at(data: &[u8], place: usize) -> Option<u32> {
    data.get(place..place.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(data: &[u8], place: usize) -> Option<u64> {
    data.get(place..place.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table with two functions: `main.f` of 5 bytes at line 7 of `/a.go`, a gap of 3 bytes, and
    /// `main.g` of 8 bytes without a table of lines. The code begins at 0x1000.
    fn functions() -> GoFunctions {
        let mut data = [&MAGIC_1_20.to_le_bytes()[..], &[0, 0, 1, 8]].concat();
        let (names, units, files, instructions, functions) = (72, 88, 96, 104, 112);
        for word in [2, 1, 0, names, units, files, instructions, functions] {
            data.extend(u64::to_le_bytes(word));
        }
        data.extend(b"\0main.f\0main.g\0\0");
        data.extend([0, 0, 0, 0, 0, 0, 0, 0]);
        data.extend(b"/a.go\0\0\0");
        // Lines 7 for 3 bytes and 9 for 2 bytes; file 0 for 5 bytes.
        data.extend([0, 16, 3, 4, 2, 0, 2, 5]);
        let record = |start: u32, name: u32, lines: u32, files: u32| {
            let fields = [start, name, 0, 0, 0, files, lines, 0, 0, 7];
            fields.into_iter().flat_map(u32::to_le_bytes)
        };
        for word in [0, 20, 8, 60, 16_u32] {
            data.extend(word.to_le_bytes());
        }
        data.extend(record(0, 1, 1, 6));
        data.extend(record(8, 8, 0, 0));
        GoFunctions { table: Table::parse(data).expect("a table"), text: 0x1000 }
    }

    fn named(range: Range<u64>, name: &str) -> Option<GoFunction> {
        Some(GoFunction { range, name: name.to_owned(), source: None })
    }

    #[test]
    fn functions_have_names_extents_and_first_lines() {
        let functions = functions();
        let first = Some(("/a.go".to_owned(), 7));
        for address in 0x1000..0x1005 {
            let function = named(0x1000..0x1005, "main.f").map(|f| GoFunction { source: first.clone(), ..f });
            assert_eq!(functions.function(address), function, "{address:#x}");
        }
        for address in 0x1008..0x1010 {
            assert_eq!(functions.function(address), named(0x1008..0x1010, "main.g"), "{address:#x}");
        }
        for address in [0, 0xfff, 0x1005, 0x1007, 0x1010, 0x1_0000_1000, u64::MAX] {
            assert_eq!(functions.function(address), None, "{address:#x}");
        }
    }

    #[test]
    fn other_layouts_are_refused() {
        let whole = functions().table.data;
        let changed = |place: usize, byte: u8| {
            let mut data = whole.clone();
            data[place] = byte;
            Table::parse(data).is_some()
        };
        // The magic numbers of Go 1.18 and 1.20, and those of Go 1.2 and 1.16.
        assert!(changed(0, 0xf0) && changed(0, 0xf1));
        assert!(!changed(0, 0xfb) && !changed(0, 0xfa) && !changed(0, 0xf2));
        // Padding, unit of code, and size of an address.
        assert!(!changed(4, 1) && !changed(6, 4) && !changed(7, 4));
        // More functions than the file has.
        assert!(!changed(8, 200) && !changed(15, 0xff));
    }

    /// Any damage gives other functions or none.
    #[test]
    fn damaged_tables_do_no_harm() {
        let whole = functions().table.data;
        let try_all = |data: Vec<u8>| {
            for text in [0, 0x1000, u64::MAX - 7] {
                let Some(table) = Table::parse(data.clone()) else { return };
                let functions = GoFunctions { table, text };
                for address in (text..=text.saturating_add(0x20)).chain([u64::MAX]) {
                    let found = functions.function(address);
                    assert!(found.is_none_or(|function| function.range.contains(&address)));
                }
            }
        };
        for length in 0..whole.len() {
            try_all(whole[..length].to_vec());
        }
        for place in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff, whole[place] ^ 0x10] {
                let mut data = whole.clone();
                data[place] = byte;
                try_all(data.clone());
                // Numbers of four bytes at the end of their range.
                data.iter_mut().skip(place).take(4).for_each(|next| *next = byte);
                try_all(data);
            }
        }
    }

    #[test]
    fn the_start_of_the_code_agrees_with_the_table() {
        let GoFunctions { table, text } = functions();
        let address = 0x50_0000;
        let words = |number: u64| {
            let part = |place: usize| address + place as u64;
            Some(match number {
                module_word::TABLE => address,
                module_word::NAMES => part(table.names),
                module_word::RECORDS | module_word::FUNCTIONS => part(table.functions),
                module_word::FUNCTION_COUNT => 3,
                module_word::FIRST_CODE | module_word::TEXT => text,
                module_word::END_OF_CODE => text + 16,
                _ => 0,
            })
        };
        assert_eq!(module_text(address, &table, words), Some(text));
        let checked = [
            module_word::TABLE,
            module_word::NAMES,
            module_word::RECORDS,
            module_word::FUNCTIONS,
            module_word::FUNCTION_COUNT,
            module_word::FIRST_CODE,
            module_word::END_OF_CODE,
            module_word::TEXT,
        ];
        for wrong in checked {
            for value in [None, Some(7), Some(u64::MAX)] {
                let words = |number| if number == wrong { value } else { words(number) };
                assert_eq!(module_text(address, &table, words), None, "{wrong}: {value:?}");
            }
        }
    }
}
