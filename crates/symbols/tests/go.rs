//! Functions of programs of Go without symbols, compared with those of the same program with
//! symbols.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::trace::Function;
use morecores_symbols::Symbolizer;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use support::{Random, module};

/// A method, a closure, and a function with a type parameter.
const PROGRAM: &str = r#"
package main

type table struct{ size int }

//go:noinline
func (t *table) grow(by int) int {
	t.size += by
	return t.size
}

//go:noinline
func sum[T int | float64](values []T) T {
	var total T
	for _, value := range values {
		total += value
	}
	return total
}

var twice func(int) int

func main() {
	t := table{}
	twice = func(by int) int { return 2 * t.grow(by) }
	println(sum([]int{1, twice(2)}), sum([]float64{1, 2}))
}
"#;

/// Programs that build Go programs: that on PATH, and those of Debian's packages.
fn compilers() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
    let is_go = |folder: &PathBuf| folder.file_name().unwrap().to_string_lossy().starts_with("go-");
    let debian = folders.filter(is_go).map(|folder| folder.join("bin"));
    let on_path = std::env::split_paths(&path).find(|folder| folder.join("go").is_file());
    let folders: BTreeSet<PathBuf> = on_path.into_iter().chain(debian).collect();
    folders.into_iter().map(|folder| folder.join("go")).filter(|go| go.is_file()).collect()
}

/// Builds the program with these options.
fn build(go: &Path, folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let (source, program) = (folder.join("main.go"), folder.join(name));
    fs::write(&source, PROGRAM).unwrap();
    let mut command = Command::new(go);
    command.args(["build", "-o"]).arg(&program).args(options).arg(&source).current_dir(folder);
    command.env("GOCACHE", folder.join("cache")).env("GOFLAGS", "").env("GO111MODULE", "off");
    command.env("GOTOOLCHAIN", "local").env("HOME", folder);
    let is_external = options.iter().any(|option| option.contains("external"));
    command.env("CGO_ENABLED", if is_external { "1" } else { "0" });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}: {}", go.display(), String::from_utf8_lossy(&output.stderr));
    program
}

/// Functions in the code of Go by the symbols of a program: name and offsets in the file.
fn symbols(program: &Path) -> Vec<(String, Range<u64>)> {
    let data = fs::read(program).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let segments: Vec<(u64, u64, u64)> = file
        .segments()
        .map(|segment| (segment.address(), segment.file_range().0, segment.file_range().1))
        .collect();
    let text = file.section_by_name(".text").unwrap();
    let code = text.address()..text.address() + text.size();
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let functions = functions.filter(|symbol| code.contains(&symbol.address()));
    // Marks around the cryptographic functions are no code.
    let is_mark = |name: &str| name.starts_with("go:textfips");
    let functions = functions.filter(|symbol| !is_mark(symbol.name().unwrap()));
    let offsets = functions.map(|symbol| {
        let inside =
            |segment: &&(u64, u64, u64)| (segment.0..segment.0 + segment.2).contains(&symbol.address());
        let (address, offset, _) = segments.iter().find(inside).unwrap();
        let start = symbol.address() - address + offset;
        (symbol.name().unwrap().to_owned(), start..start + symbol.size())
    });
    offsets.collect()
}

/// Name of a generic function in the table of the runtime before Go 1.21: without its types.
fn name_without_types(symbol: &str) -> String {
    match (symbol.find('['), symbol.rfind(']')) {
        (Some(from), Some(to)) if from < to => format!("{}[...]{}", &symbol[..from], &symbol[to + 1..]),
        _ => symbol.to_owned(),
    }
}

#[test]
fn each_function_has_its_name_and_extent_without_symbols() {
    let compilers = compilers();
    if compilers.is_empty() {
        return morecores_testkit::report_skip(
            "each_function_has_its_name_and_extent_without_symbols",
            "there is no go on PATH",
        );
    }
    for (go, mode) in compilers.iter().flat_map(|go| ["exe", "pie"].map(|mode| (go, mode))) {
        let folder = tempfile::tempdir().unwrap();
        let mode = format!("-buildmode={mode}");
        let whole = build(go, folder.path(), "whole", &[&mode]);
        let stripped = build(go, folder.path(), "stripped", &[&mode, "-ldflags=-s -w"]);
        let text = format!("{} {mode}", go.display());
        assert_eq!(symbols(&stripped), [], "{text}");
        let symbols = symbols(&whole);
        assert!(symbols.len() > 1_000, "{text}");
        for own in ["main.main", "main.(*table).grow", "main.main.func1", "main.sum[go.shape.int"] {
            assert!(symbols.iter().any(|(name, _)| name.starts_with(own)), "{text}: {own}");
        }
        // Several symbols may begin at a function.
        let mut names: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for (name, range) in &symbols {
            // The linker marks code with another convention of calls.
            let name = name.strip_suffix(".abi0").unwrap_or(name).to_owned();
            names.entry(range.start).or_default().extend([name_without_types(&name), name]);
        }
        let middle = |range: &Range<u64>| range.start + (range.end - range.start) / 2;
        for place in [|range: &Range<u64>| range.start, middle, |range: &Range<u64>| range.end - 1] {
            let offsets = symbols.iter().map(|(_, range)| place(range)).collect();
            let found = Symbolizer::new().functions(0, &module(&stripped), &offsets).unwrap();
            let found: BTreeMap<u64, Function> = found.into_iter().map(|f| (f.start, f)).collect();
            for (name, range) in &symbols {
                let found =
                    found.get(&range.start).unwrap_or_else(|| panic!("{text}: no function for {name}"));
                assert_eq!(found.end, range.end, "{text}: {name}, {found:?}");
                assert!(
                    names[&range.start].contains(found.name.as_ref().unwrap()),
                    "{text}: {name}, {found:?}"
                );
            }
        }
    }
}

/// A line of the program is that of its first instruction, as the debug information has it.
#[test]
fn functions_have_their_first_lines() {
    const NAME: &str = "functions_have_their_first_lines";
    let Some(go) = compilers().pop() else {
        return morecores_testkit::report_skip(NAME, "there is no go on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    let (whole, stripped) = (
        build(&go, folder.path(), "whole", &["-ldflags=-compressdwarf=false"]),
        build(&go, folder.path(), "stripped", &["-ldflags=-s -w"]),
    );
    let symbols = symbols(&whole);
    for (own, text) in [
        ("main.main", "func main()"),
        ("main.(*table).grow", "func (t *table) grow"),
        ("main.main.func1", "twice = func"),
    ] {
        let line = 1 + PROGRAM.lines().position(|line| line.trim_start().starts_with(text)).unwrap();
        let range = &symbols.iter().find(|(name, _)| name == own).unwrap().1;
        let source = |program: &Path| {
            let functions = Symbolizer::new().functions(0, &module(program), &[range.start].into()).unwrap();
            functions[0].source.clone().unwrap()
        };
        assert_eq!(source(&stripped), source(&whole));
        assert!(source(&stripped).file.ends_with("/main.go"));
        // A small function has no instruction for its first line.
        assert!((line..=line + 1).contains(&(source(&stripped).line as usize)), "{own}");
    }
}

/// Programs with C code are linked by the C linker, and Go's code is not the first one.
#[test]
fn code_of_go_is_found_beside_code_of_c() {
    const NAME: &str = "code_of_go_is_found_beside_code_of_c";
    let Some(go) = compilers().pop() else {
        return morecores_testkit::report_skip(NAME, "there is no go on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, flags: &str| {
        build(&go, folder.path(), name, &["-buildmode=pie", &format!("-ldflags=-linkmode=external {flags}")])
    };
    let (whole, stripped) = (program("whole", ""), program("stripped", "-s -w"));
    let symbols = symbols(&whole);
    let range = &symbols.iter().find(|(name, _)| name == "main.main").unwrap().1;
    let own = Symbolizer::new().functions(0, &module(&stripped), &[range.start + 4].into()).unwrap();
    assert_eq!((own[0].name.as_deref(), own[0].start), (Some("main.main"), range.start));
    // The first function of a C program is its start.
    let data = fs::read(&stripped).unwrap();
    let entry = object::File::parse(&*data).unwrap().entry();
    let start = Symbolizer::new().functions(0, &module(&stripped), &[entry].into()).unwrap();
    assert!(start.first().is_none_or(|function| function.name.is_none()), "{start:?}");
}

/// Damage gives other functions or none; it never ends the process.
#[test]
fn damaged_programs_do_no_harm() {
    const NAME: &str = "damaged_programs_do_no_harm";
    let Some(go) = compilers().pop() else {
        return morecores_testkit::report_skip(NAME, "there is no go on PATH");
    };
    let folder = tempfile::tempdir().unwrap();
    let program = build(&go, folder.path(), "stripped", &["-buildmode=pie", "-ldflags=-s -w"]);
    let whole = fs::read(program).unwrap();
    let file = object::File::parse(&*whole).unwrap();
    let range = |section: object::Section<'_, '_>| section.file_range().unwrap();
    let text = range(file.section_by_name(".text").unwrap());
    let offsets: BTreeSet<u64> = (text.0..text.0 + text.1).step_by(997).collect();
    let named = |bytes: &[u8]| {
        let damaged = folder.path().join("damaged");
        // Another file each time: readers keep what they have mapped.
        fs::remove_file(&damaged).ok();
        fs::write(&damaged, bytes).unwrap();
        let functions = Symbolizer::new().functions(0, &module(&damaged), &offsets);
        functions.map_or(0, |found| found.iter().filter(|function| function.name.is_some()).count())
    };
    let all = named(&whole);
    assert!(all > 100, "{all}");
    let names = [".gopclntab", ".data.rel.ro.gopclntab", ".go.module", ".noptrdata", ".rela", ".rela.dyn"];
    let sections: Vec<(u64, u64)> =
        names.iter().filter_map(|name| file.section_by_name(name)).map(range).collect();
    let mut random = Random(17);
    let (mut without_names, mut with_names) = (0, 0);
    for round in 0..40 {
        let mut bytes = whole.clone();
        // Half of the rounds leave what is needed to find the functions.
        let (parts, head) = if round % 2 == 0 { (&sections[..], 0) } else { (&sections[..1], 80) };
        for (start, length) in parts {
            for _ in 0..200 {
                let place = *start as usize + head + random.below(*length as usize - head);
                bytes[place] = [0, 0x80, 0xff, random.below(256) as u8][random.below(4)];
            }
        }
        let named = named(&bytes);
        without_names += usize::from(named == 0);
        with_names += usize::from(named > 0);
    }
    assert!(without_names > 0 && with_names > 0, "{without_names}, {with_names}");
}
