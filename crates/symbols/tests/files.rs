//! Names in real files: compiled for the test, stripped, replaced, and with a debug file.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::trace::{Mapping, Module, Tid};
use morecores_symbols::{SymbolError, Symbolizer};
use object::{Object, ObjectSection, ObjectSymbol};

use support::{compile, module, place, strip, symbol_length};

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
    assert!(source.file.ends_with("library.c") && (10..=11).contains(&source.line), "{source:?}");
}

/// The compiler inlines `square` into `own`; `addr2line` finds the same lines.
#[test]
fn instructions_have_the_lines_and_inlined_functions_of_the_debug_information() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("inlined.c");
    let text = "\
        static inline long square(long x)\n\
        {\n\
            return x * x;\n\
        }\n\
        long outer(long *x)\n\
        {\n\
            for (int i = 0; i < 100; i++)\n\
                x[0] +=\n\
                    square(x[i]);\n\
            return x[1];\n\
        }\n";
    fs::write(&source, text).unwrap();
    let library = folder.path().join("inlined.so");
    let options = ["-g", "-O2", "-fno-tree-vectorize", "-shared", "-fPIC", "-o"];
    assert!(Command::new("gcc").args(options).arg(&library).arg(&source).status().unwrap().success());
    let (start, size) = (place(&library, "outer").0, symbol_length(&library, "outer"));
    let offsets: BTreeSet<u64> = (start..start + size).collect();
    let ranges = Symbolizer::new().source_places(4, &module(&library), &offsets).unwrap();
    assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
    let inlined: Vec<_> = ranges.iter().filter(|range| !range.inlined.is_empty()).collect();
    assert!(!inlined.is_empty(), "{ranges:?}");
    for range in &inlined {
        let [square] = &range.inlined[..] else { panic!("one function: {range:?}") };
        let line = square.line.as_ref().unwrap();
        assert_eq!((square.name.as_str(), line.line, range.module), ("square", 3, 4));
        assert!(line.file.ends_with("inlined.c") && range.line.file == line.file, "{range:?}");
        assert_eq!(range.line.line, 9, "{range:?}");
    }
    // One entry for each line that addr2line gives, at least where the entry begins.
    for range in &ranges {
        let address = format!("{:#x}", range.start);
        let output =
            Command::new("addr2line").args(["-i", "-e"]).arg(&library).arg(address).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let lines = output.lines().map(|line| {
            let number = line.rsplit(':').next().unwrap();
            number.split(' ').next().unwrap().parse::<u32>().unwrap()
        });
        let outermost_last: Vec<u32> = lines.collect();
        let inner = range.inlined.iter().rev().map(|function| function.line.as_ref().unwrap().line);
        let ours: Vec<u32> = inner.chain([range.line.line]).collect();
        assert_eq!(ours, outermost_last, "{range:?}");
    }
}

#[test]
fn a_file_without_debug_information_has_no_lines() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let (own, size) = (place(&library, "own").0, symbol_length(&library, "own"));
    let offsets = (own..own + size).collect();
    assert_eq!(Symbolizer::new().source_places(0, &module(&library), &offsets).unwrap(), []);
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
fn a_label_or_symbol_inside_a_function_leaves_it_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |assembly: &str| {
        let options = [&*format!("-DINSIDE=__asm__ volatile(\"{assembly}\")")];
        let library = compile(folder.path(), "inside.so", &options);
        let (part, own) = (place(&library, "part").0, place(&library, "own").0);
        assert!(part > own);
        assert_eq!(names(&library, &[part + 2]), [(Some("own".to_owned()), own)], "{assembly}");
    };
    inside("nop\\n part: nop; nop; nop");
    inside("nop\\n .type part,@function\\n part: nop\\n .size part,.-part\\n nop; nop");
}

/// Strips a library of its symbols; returns the stripped file and its debug file.
fn split_debug_file(library: &Path) -> [PathBuf; 2] {
    let (stripped, debug) = (strip(library), library.with_extension("debug"));
    let objcopy = |options: &[&str], files: &[&Path]| {
        let folder = library.parent().unwrap();
        let status = Command::new("objcopy").args(options).args(files).current_dir(folder).status();
        assert!(status.unwrap().success());
    };
    objcopy(&["--only-keep-debug"], &[library, &debug]);
    let link = format!("--add-gnu-debuglink={}", debug.file_name().unwrap().display());
    objcopy(&[&link], &[&stripped]);
    [stripped, debug]
}

#[test]
fn debug_files_give_a_stripped_file_names_and_lines() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let [stripped, debug] = split_debug_file(&library);
    let own = place(&library, "own").0;
    let found = || {
        let functions = Symbolizer::new().functions(0, &module(&stripped), &[own + 5].into()).unwrap();
        functions.into_iter().map(|function| (function.name, function.start, function.source.is_some()))
    };
    assert_eq!(found().collect::<Vec<_>>(), [(Some("own".to_owned()), own, true)]);
    // The debug file of another version does not belong to the library.
    let mut bytes = fs::read(&debug).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&debug, bytes).unwrap();
    assert_eq!(found().collect::<Vec<_>>(), [(None, own, false)]);
}

/// The compiler puts the rare part of `own` elsewhere, as in most functions of Debian's Python.
#[test]
fn a_debug_file_names_both_parts_of_a_function() {
    let folder = tempfile::tempdir().unwrap();
    let rare =
        "-DINSIDE=extern void fail(long) __attribute__((cold,noreturn)); if (number == 7) fail(number)";
    let library = compile(folder.path(), "parts.so", &["-g", "-O2", rare]);
    let [stripped, _] = split_debug_file(&library);
    let [main, rare] =
        ["own", "own.cold"].map(|name| (place(&library, name).0, symbol_length(&library, name)));
    let offsets = [main.0 + main.1 / 2, rare.0 + rare.1 / 2].into();
    let functions = Symbolizer::new().functions(0, &module(&stripped), &offsets).unwrap();
    let mut found: Vec<_> =
        functions.iter().map(|function| (function.name.as_deref(), function.start, function.end)).collect();
    found.sort_by_key(|(_, start, _)| *start != main.0);
    let part = |(start, length)| (Some("own"), start, start + length);
    assert_eq!(found, [part(main), part(rare)]);
    // Without the debug file both parts have an extent alone.
    fs::remove_file(library.with_extension("debug")).unwrap();
    let functions = Symbolizer::new().functions(0, &module(&stripped), &offsets).unwrap();
    assert!(
        functions.len() == 2 && functions.iter().all(|function| function.name.is_none()),
        "{functions:?}"
    );
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
    for name in ["[vsyscall]", "//anon", "/memfd:code (deleted)", "/tmp/built.so (deleted)"] {
        let module = Module { path: name.to_owned(), build_id: None };
        let error = Symbolizer::new().functions(0, &module, &offset).unwrap_err();
        assert_eq!(error, SymbolError::NoFile { name: name.to_owned() });
    }
    let absent = module(&folder.path().join("absent"));
    assert!(matches!(
        Symbolizer::new().functions(0, &absent, &offset),
        Err(SymbolError::Unreadable { why, .. }) if why.contains("No such file")
    ));
    // A program may map a device as code.
    let device = module(Path::new("/dev/null"));
    assert!(matches!(
        Symbolizer::new().functions(0, &device, &offset),
        Err(SymbolError::Unreadable { why, .. }) if why == "it is no regular file"
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
    // A debug file names parts of exported functions that lie elsewhere.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("libc.so");
    let without_link = ["--remove-section=.gnu_debuglink", path];
    assert!(Command::new("objcopy").args(without_link).arg(&copy).status().unwrap().success());
    let path = &*copy;
    let data = fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let exports: Vec<(&str, std::ops::Range<u64>)> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0)
        .map(|symbol| (symbol.name().unwrap(), symbol.address()..symbol.address() + symbol.size()))
        .collect();
    let malloc = &exports.iter().find(|(name, _)| *name == "malloc").unwrap().1;
    // The code of the C library has equal offsets and addresses.
    let found = names(path, &[malloc.start + 4]);
    assert_eq!(found, [(Some("malloc".to_owned()), malloc.start)]);
    // Most of the code belongs to functions that the library does not export.
    let text = file.section_by_name(".text").unwrap();
    let step = text.size() / 500;
    let mut symbolizer = Symbolizer::new();
    let mut internal = 0;
    for offset in (text.address()..text.address() + text.size()).step_by(step as usize) {
        let functions = symbolizer.functions(0, &module(path), &[offset].into()).unwrap();
        let Some(function) = functions.first() else { continue };
        assert!((function.start..function.end).contains(&offset), "{function:?}");
        let inside = exports.iter().any(|(_, range)| range.contains(&offset));
        internal += usize::from(!inside);
        let is_export = |name: &str| exports.iter().any(|(export, _)| *export == name);
        assert!(inside || !function.name.as_deref().is_some_and(is_export), "{function:?}");
    }
    assert!(internal > 50, "{internal}");
}
