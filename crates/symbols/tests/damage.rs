//! Names in damaged files: fewer of them, and no harm to the process.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use morecores_study::trace::{Function, Mapping, Tid};
use morecores_symbols::{SymbolError, Symbolizer};
use object::{Object, ObjectSection};

use support::{Random, compile, debug_file, module, place, strip};

/// Functions of a file with these bytes, at many of its offsets.
fn functions(folder: &Path, bytes: &[u8]) -> Result<Vec<Function>, SymbolError> {
    let damaged = folder.join("damaged.so");
    // Another file each time: readers keep what they have mapped.
    fs::remove_file(&damaged).ok();
    fs::write(&damaged, bytes).unwrap();
    let offsets: BTreeSet<u64> = (0..bytes.len() as u64).step_by(64).collect();
    let mut symbolizer = Symbolizer::new();
    let code = Mapping { process: Tid(1), start: 0x1000, length: 0x1000, offset: 0x1000, module: 0 };
    let variable = symbolizer.variable(&module(&damaged), &code, 0x4000);
    let lines = symbolizer.source_places(0, &module(&damaged), &offsets);
    let functions = symbolizer.functions(0, &module(&damaged), &offsets)?;
    variable.and(lines).map(|_| functions)
}

/// Place of a section in the file, and its length.
fn section(bytes: &[u8], name: &str) -> (usize, usize) {
    let file = object::File::parse(bytes).unwrap();
    let (offset, length) = file.section_by_name(name).unwrap().file_range().unwrap();
    (offset as usize, length as usize)
}

/// A damaged file gives an error or other functions; it never ends the process.
#[test]
fn damaged_files_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(compile(folder.path(), "library.so", &["-g"])).unwrap();
    let mut random = Random(7);
    let try_all = |bytes: &[u8]| drop(functions(folder.path(), bytes));
    for _ in 0..50 {
        try_all(&whole[..random.below(whole.len())]);
    }
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(8) {
            let place = random.below(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        try_all(&bytes);
    }
    // The headers, where damage does most.
    for place in 0..whole.len().min(640) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        try_all(&bytes);
    }
}

/// The reader of line tables panics at some of this damage, which costs the lines alone.
#[test]
fn damaged_debug_information_leaves_the_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g", "-gdwarf-4"]);
    let whole = fs::read(&library).unwrap();
    let own = place(&library, "own").0;
    let mut random = Random(11);
    for name in [".debug_line", ".debug_info", ".debug_abbrev"] {
        let (start, length) = section(&whole, name);
        for _ in 0..100 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(4) {
                bytes[start + random.below(length)] = [0, 0xff, random.below(256) as u8][random.below(3)];
            }
            let functions = functions(folder.path(), &bytes).unwrap();
            let named = functions.iter().find(|function| function.start == own);
            assert_eq!(named.and_then(|function| function.name.as_deref()), Some("own"), "{name}");
        }
    }
}

/// The debug file of a server may be damaged too.
#[test]
fn damaged_debug_files_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let (stripped, whole) = (strip(&library), fs::read(debug_file(&library)).unwrap());
    let own = place(&library, "own").0;
    let mut random = Random(13);
    let mut used = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(8) {
            let place = random.below(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        let damaged = folder.path().join(format!("damaged-{round}.debug"));
        fs::write(&damaged, &bytes).unwrap();
        let mut symbolizer = Symbolizer::new();
        used += usize::from(symbolizer.add_debug_file(&module(&stripped), &damaged).is_ok());
        let functions = symbolizer.functions(0, &module(&stripped), &[own].into()).unwrap();
        symbolizer.source_places(0, &module(&stripped), &[own].into()).unwrap();
        assert!(functions.iter().all(|function| (function.start..function.end).contains(&own)));
        fs::remove_file(&damaged).unwrap();
    }
    assert!(used > 100, "{used}");
}

/// A reader allocates the size that a compressed section claims, and no machine has this memory.
#[test]
fn a_section_of_absurd_size_is_not_decompressed() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g", "-gz=zlib"]);
    let whole = fs::read(&library).unwrap();
    let own = place(&library, "own").0;
    let source = |bytes: &[u8]| {
        let functions = functions(folder.path(), bytes).unwrap();
        functions.into_iter().find(|function| function.start == own).unwrap().source
    };
    assert!(source(&whole).is_some());
    for size in [u64::MAX, 1 << 60, 1 << 50] {
        let mut bytes = whole.clone();
        // Elf64_Chdr: type, reserved word, size of the decompressed data.
        let header = section(&whole, ".debug_info").0;
        bytes[header + 8..header + 16].copy_from_slice(&size.to_le_bytes());
        assert_eq!(source(&bytes), None, "{size:#x}");
    }
}

#[test]
fn a_symbol_of_absurd_size_does_not_contain_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let whole = fs::read(&library).unwrap();
    let ends = |functions: Vec<Function>| -> Vec<(u64, u64)> {
        functions.iter().map(|function| (function.start, function.end)).collect()
    };
    let expected = ends(functions(folder.path(), &whole).unwrap());
    let (start, length) = section(&whole, ".symtab");
    for size in [u64::MAX, 1 << 40] {
        let mut bytes = whole.clone();
        // Elf64_Sym has 24 bytes; the last eight are the size.
        for symbol in (start..start + length).step_by(24) {
            bytes[symbol + 16..symbol + 24].copy_from_slice(&size.to_le_bytes());
        }
        let functions = functions(folder.path(), &bytes).unwrap();
        assert_eq!(ends(functions), expected, "{size:#x}");
    }
}
