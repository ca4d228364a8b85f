//! Stacks from copies of memory: by unwind tables, by frame pointers, and in damaged files. The
//! tests of `morecores-trace` unwind the stacks of real threads.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use std::collections::HashMap;
use std::fs;

use morecores_study::trace::{CodeAddress, Module, StackEnd};
use morecores_symbols::{MappedFiles, Stack, Unwinder, UserRegisters};
use object::{Object, ObjectSection};

use support::{compile, module, place};

/// Address at which the test maps the library, and top of its stack.
const BASE: u64 = 0x7000_0000_0000;
const TOP: u64 = 0x7fff_0000_0000;

/// Code of module 0 at addresses of the mapped library.
fn locate(address: u64) -> Option<CodeAddress> {
    let offset = address.checked_sub(BASE).filter(|offset| *offset < 1 << 20)?;
    Some(CodeAddress { module: 0, offset })
}

/// Eight bytes of a stack that ends at [`TOP`].
fn read(stack: &[u64], address: u64) -> Option<u64> {
    let below = TOP.checked_sub(address).filter(|below| below % 8 == 0)? / 8;
    stack.get((stack.len() as u64).checked_sub(below)? as usize).copied()
}

fn unwind(unwinder: &mut Unwinder, module: &Module, ip: u64, stack: &[u64], bp: u64) -> Stack {
    let registers = UserRegisters { ip, sp: TOP - 8 * stack.len() as u64, bp };
    let files = MappedFiles { modules: std::slice::from_ref(module), located: &HashMap::new() };
    unwinder.unwind(registers, &files, locate, |address| read(stack, address))
}

fn offsets(stack: &Stack) -> Vec<u64> {
    stack.frames.iter().map(|code| code.offset).collect()
}

#[test]
fn the_unwind_table_finds_the_caller_at_the_first_instruction() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let (own, exported) = (place(&library, "own").0, place(&library, "exported").0);
    let mut unwinder = Unwinder::new();
    // Before its first instruction, a function has its return address on top of the stack.
    let stack = [BASE + exported + 9, 0x1234];
    let found = unwind(&mut unwinder, &module(&library), BASE + own, &stack, 0);
    assert_eq!(offsets(&found)[..2], [own, exported + 8]);
    // Memory that is missing must not look like the end of the stack.
    let found = unwind(&mut unwinder, &module(&library), BASE + own, &[], 0);
    assert_eq!((offsets(&found), found.end), (vec![own], StackEnd::MissingMemory));
    // Nor must code without a known file.
    let found = unwind(&mut unwinder, &module(&library), BASE + own, &[0x5555], 0);
    assert_eq!((offsets(&found), found.end), (vec![own], StackEnd::UnknownCode));
    let found = unwind(&mut unwinder, &module(&library), BASE + own, &[0], 0);
    assert_eq!((offsets(&found), found.end), (vec![own], StackEnd::Outermost));
}

#[test]
fn code_without_a_file_has_frame_pointers() {
    let anonymous = Module { path: "//anon".to_owned(), build_id: None };
    let mut unwinder = Unwinder::new();
    let bp = TOP - 4 * 8;
    let stack = [7, 7, TOP - 2 * 8, BASE + 0x200, 0, BASE + 0x300];
    let found = unwind(&mut unwinder, &anonymous, BASE + 0x100, &stack, bp);
    assert_eq!(offsets(&found), [0x100, 0x1ff, 0x2ff]);
    // The outermost frame has no frame pointer.
    assert_eq!(found.end, StackEnd::UnknownCode);
    // A frame pointer that is a number of the program leads nowhere.
    for bp in [0, 3, TOP - 5 * 8, TOP, u64::MAX] {
        let found = unwind(&mut unwinder, &anonymous, BASE + 0x100, &stack, bp);
        assert_eq!((offsets(&found), found.end), (vec![0x100], StackEnd::UnknownCode), "{bp:#x}");
    }
}

/// As in a program of Go.
#[test]
fn a_file_without_unwind_tables_has_frame_pointers_that_end_with_zero() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "-nostdlib",
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables",
        "-Wl,--no-ld-generated-unwind-info",
    ];
    let library = module(&compile(folder.path(), "library.so", &options));
    let mut unwinder = Unwinder::new();
    let stack = [7, 7, TOP - 2 * 8, BASE + 0x200, 0, BASE + 0x300];
    let found = unwind(&mut unwinder, &library, BASE + 0x100, &stack, TOP - 4 * 8);
    assert_eq!((offsets(&found), found.end), (vec![0x100, 0x1ff, 0x2ff], StackEnd::Outermost));
    let found = unwind(&mut unwinder, &library, BASE + 0x100, &stack, 3);
    assert_eq!((offsets(&found), found.end), (vec![0x100], StackEnd::UnknownCode));
}

#[test]
fn a_replaced_file_ends_the_stack() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let other = Module { build_id: Some("00".repeat(20)), ..module(&library) };
    let mut unwinder = Unwinder::new();
    let stack = [BASE + 0x1100; 4];
    let found = unwind(&mut unwinder, &other, BASE + 0x1100, &stack, TOP - 16);
    assert_eq!((found.frames.len(), found.end), (1, StackEnd::UnknownCode));
    assert_eq!(unwinder.failures().count(), 1);
}

/// A damaged table gives other stacks; it never ends the process.
#[test]
fn damaged_tables_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let whole = fs::read(&library).unwrap();
    let file = object::File::parse(&*whole).unwrap();
    let sections: Vec<(u64, u64)> = [".eh_frame", ".eh_frame_hdr"]
        .iter()
        .map(|name| file.section_by_name(name).unwrap().file_range().unwrap())
        .collect();
    let mut random = support::Random(11);
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(6) {
            let (start, length) = sections[random.below(sections.len())];
            bytes[start as usize + random.below(length as usize)] = random.below(256) as u8;
        }
        let damaged = folder.path().join(format!("damaged-{round}.so"));
        fs::write(&damaged, &bytes).unwrap();
        let mut unwinder = Unwinder::new();
        let stack: Vec<u64> = (0..64).map(|_| BASE + random.below(whole.len()) as u64).collect();
        for offset in (0x1000..0x1200).step_by(3) {
            let found = unwind(&mut unwinder, &module(&damaged), BASE + offset, &stack, TOP - 64);
            assert!(!found.frames.is_empty() && found.frames.len() <= 1024);
        }
        fs::remove_file(&damaged).unwrap();
    }
}
