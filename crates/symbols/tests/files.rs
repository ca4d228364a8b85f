//! Names in real files: compiled for the test, stripped, replaced and damaged.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::trace::{Mapping, Module, Tid};
use morecores_symbols::{SymbolError, Symbolizer};
use object::{Object, ObjectSymbol};

/// A library with a function of its own, one that others may call, and a variable.
const LIBRARY: &str = r#"
struct table { long size; int lock; };

struct table shared = { 1, 2 };

__attribute__((noinline)) static long own(long number)
{
	for (int i = 0; i < 9; i++)
		number = number * shared.size + i;
	return number;
}

long exported(long number)
{
	return own(number) - shared.lock;
}
"#;

/// Compiles the library with these options.
fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let (source, library) = (folder.join("library.c"), folder.join(name));
    fs::write(&source, LIBRARY).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-fPIC", "-shared", "-Wl,--build-id=sha1", "-o"])
        .arg(&library)
        .args(options)
        .arg(&source);
    assert!(cc.status().unwrap().success());
    library
}

fn strip(library: &Path) -> PathBuf {
    let stripped = library.with_extension("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(library).status().unwrap();
    assert!(status.success());
    stripped
}

fn module(path: &Path) -> Module {
    Module { path: path.to_str().unwrap().to_owned(), build_id: None }
}

/// Offset in the file of a symbol's first byte, and its address.
fn place(library: &Path, name: &str) -> (u64, u64) {
    let data = fs::read(library).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    let segments = object::Object::segments(&file);
    let inside = segments.map(|segment| {
        let (offset, length) = object::ObjectSegment::file_range(&segment);
        (object::ObjectSegment::address(&segment), offset, length)
    });
    let (address, offset, _) = inside
        .filter(|(address, _, length)| (*address..address + length).contains(&symbol.address()))
        .last()
        .unwrap();
    (symbol.address() - address + offset, symbol.address())
}

/// Names and starts of the functions at offsets in a file.
fn names(path: &Path, offsets: &[u64]) -> Vec<(Option<String>, u64)> {
    let offsets: BTreeSet<u64> = offsets.iter().copied().collect();
    let functions = Symbolizer::new().functions(0, &module(path), &offsets).unwrap();
    functions.into_iter().map(|function| (function.name, function.start)).collect()
}

#[test]
fn functions_have_the_names_and_extents_of_their_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let (own, exported) = (place(&library, "own").0, place(&library, "exported").0);
    let offsets: BTreeSet<u64> = [own, own + 5, exported + 4].into();
    let functions = Symbolizer::new().functions(3, &module(&library), &offsets).unwrap();
    let named: Vec<_> = functions
        .iter()
        .map(|function| (function.name.as_deref(), function.start, function.module))
        .collect();
    assert_eq!(named, [(Some("own"), own, 3), (Some("exported"), exported, 3)]);
    assert!(functions[0].end > own + 5 && functions[0].end <= exported);
    let source = functions[0].source.as_ref().unwrap();
    assert!(source.file.ends_with("library.c") && (6..=7).contains(&source.line), "{source:?}");
}

#[test]
fn a_stripped_function_has_its_start_and_never_the_name_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let stripped = strip(&library);
    let (own, exported) = (place(&library, "own").0, place(&library, "exported").0);
    let expected = [(None, own), (Some("exported".to_owned()), exported)];
    assert_eq!(names(&stripped, &[own + 5, exported + 4]), expected);
}

#[test]
fn names_are_demangled() {
    let folder = tempfile::tempdir().unwrap();
    let names_of = |symbol: &str| {
        let library = compile(folder.path(), "mangled.so", &[&format!("-Dexported={symbol}")]);
        let place = place(&library, symbol).0;
        names(&library, &[place])[0].0.clone().unwrap()
    };
    assert_eq!(names_of("_ZN5cache3getEl"), "cache::get(long)");
    // A name of C that would be a type in a mangled name.
    assert_eq!(names_of("m"), "m");
    assert_eq!(names_of("_RNvNtCs15kBYyAo9fc_7mycrate5cache3get"), "mycrate::cache::get");
}

#[test]
fn variables_are_found_through_the_mapping_of_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let (own, shared) = (place(&library, "own"), place(&library, "shared").1);
    // The loader maps the page of the code; the data lies as far behind as the file says.
    let (page, start) = (own.0 & !0xfff, 0x7f00_0000_0000);
    let code = Mapping { process: Tid(9), start, length: 0x1000, offset: page, module: 4 };
    let bias = start - (own.1 - (own.0 - page));
    let variable = |address| Symbolizer::new().variable(&module(&library), &code, address).unwrap();
    let lock = variable(bias + shared + 8).unwrap();
    assert_eq!((lock.name.as_str(), lock.offset, lock.module, lock.process), ("shared", 8, 4, Tid(9)));
    assert_eq!(variable(bias + shared).map(|lock| lock.offset), Some(0));
    // The heap lies beyond all data.
    assert_eq!(variable(bias + shared + 0x10_0000), None);
    // Code is no variable.
    assert_eq!(variable(bias + own.1), None);
}

#[test]
fn replaced_and_absent_files_have_no_names() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let offset: BTreeSet<u64> = [place(&library, "own").0].into();
    let mapped = Module { build_id: Some("ab".repeat(20)), ..module(&library) };
    let path = mapped.path.clone();
    let error = Symbolizer::new().functions(0, &mapped, &offset).unwrap_err();
    assert_eq!(error, SymbolError::Replaced { path });
    for name in ["[vdso]", "//anon", "/memfd:code (deleted)"] {
        let module = Module { path: name.to_owned(), build_id: None };
        let error = Symbolizer::new().functions(0, &module, &offset).unwrap_err();
        assert_eq!(error, SymbolError::NoFile { name: name.to_owned() });
    }
    let absent = module(&folder.path().join("absent"));
    assert!(matches!(
        Symbolizer::new().functions(0, &absent, &offset),
        Err(SymbolError::Unreadable { why, .. }) if why.contains("No such file")
    ));
}

#[test]
fn the_library_of_c_has_its_functions() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let Some(path) =
        maps.lines().filter_map(|line| line.split_whitespace().last()).find(|path| path.contains("libc.so"))
    else {
        return morecores_testkit::report_skip(
            "the_library_of_c_has_its_functions",
            "libc is linked statically",
        );
    };
    let data = fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let malloc = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("malloc")).unwrap().address();
    // The code of libraries has equal offsets and addresses.
    let found = names(Path::new(path), &[malloc + 4]);
    assert!(found[0].0.as_ref().unwrap().contains("malloc"), "{found:?}");
}

/// A damaged file gives an error or other functions; it never ends the process.
#[test]
fn damaged_files_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let whole = fs::read(&library).unwrap();
    let offsets: BTreeSet<u64> = (0..whole.len() as u64).step_by(64).collect();
    let damaged = folder.path().join("damaged.so");
    let try_all = |bytes: &[u8]| {
        // Another file each time: readers keep what they have mapped.
        fs::remove_file(&damaged).ok();
        fs::write(&damaged, bytes).unwrap();
        let mut symbolizer = Symbolizer::new();
        let code = Mapping { process: Tid(1), start: 0x1000, length: 0x1000, offset: 0x1000, module: 0 };
        let _ = symbolizer.functions(0, &module(&damaged), &offsets);
        let _ = symbolizer.variable(&module(&damaged), &code, 0x4000);
    };
    // A linear congruential generator: the same damage in each test run.
    let mut state: u64 = 7;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..40 {
        try_all(&whole[..random(whole.len())]);
    }
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random(8) {
            let place = random(bytes.len());
            bytes[place] = random(256) as u8;
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
