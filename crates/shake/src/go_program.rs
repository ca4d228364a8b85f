//! Go programs: which functions are their own, and which those of Go's runtime and standard
//! library. Both are in one file, where other languages have a library beside the program. Pure:
//! bytes in, addresses out.

use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// Section with the modules of a Go program.
const SECTION: &str = ".go.buildinfo";
/// Length of its header, and the flag for texts that follow it (debug/buildinfo).
const HEADER: usize = 32;
const FLAGS: usize = 15;
const INLINE: u8 = 2;
/// Name of the package that has the function `main`.
const MAIN: &str = "main";

/// Addresses of the functions of a Go program that belong neither to Go's runtime nor to its
/// standard library. None for another program, or without symbols.
pub(crate) fn own_functions(file: &object::File<'_>) -> Option<Vec<Range<u64>>> {
    let modules = modules(file)?;
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let mut own: Vec<Range<u64>> = functions
        .filter(|symbol| symbol.name().is_ok_and(|name| is_own(name, &modules)))
        .map(|symbol| symbol.address()..symbol.address() + symbol.size())
        .collect();
    own.sort_by_key(|function| function.start);
    (!own.is_empty()).then_some(own)
}

/// Whether a file is a Go program.
pub(crate) fn is_go_program(file: &[u8]) -> bool {
    object::File::parse(file).is_ok_and(|file| modules(&file).is_some())
}

/// Import paths of the modules of a Go program and of its main package. The standard library is no
/// module.
fn modules(file: &object::File<'_>) -> Option<Vec<String>> {
    let section = file.section_by_name(SECTION)?;
    let data = section.data().ok()?;
    if data.get(FLAGS)? & INLINE == 0 {
        return None;
    }
    let (_version, rest) = text(data.get(HEADER..)?)?;
    let (modules, _) = text(rest)?;
    Some(own_paths(&String::from_utf8_lossy(modules)))
}

/// Text that begins with its length, and what follows it. The length is a varint of LEB128.
fn text(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = data.iter().position(|byte| byte & 0x80 == 0)? + 1;
    let length = data[..digits]
        .iter()
        .rev()
        .fold(0_usize, |length, byte| length.wrapping_shl(7) | usize::from(byte & 0x7f));
    data[digits..].split_at_checked(length)
}

/// Import paths in a list with lines such as `mod<TAB>PATH<TAB>VERSION`.
fn own_paths(list: &str) -> Vec<String> {
    let path = |line: &str| {
        let mut words = line.split('\t');
        let kind = words.next()?;
        let path = words.next()?;
        // The first line follows a mark of 16 bytes.
        let is_path = ["path", "mod", "dep"].iter().any(|name| kind.ends_with(name));
        is_path.then(|| path.strip_suffix(".test").unwrap_or(path).to_owned())
    };
    list.lines().filter_map(path).chain([MAIN.to_owned()]).collect()
}

/// Whether a function belongs to one of these modules. Its name begins with the path of its
/// package.
fn is_own(function: &str, modules: &[String]) -> bool {
    let rest = modules.iter().filter_map(|module| function.strip_prefix(module.as_str()));
    rest.into_iter().any(|rest| rest.starts_with(['.', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_modules_are_own_and_those_of_the_standard_library_are_not() {
        let list = "0123456789abcdefpath\texample.org/tool/cmd/tool.test\nmod\texample.org/tool\t(devel)\n\
                    dep\texample.org/library\tv1.2.3\th1:x\nbuild\t-compiler=gc\n";
        let modules = own_paths(list);
        assert_eq!(modules, ["example.org/tool/cmd/tool", "example.org/tool", "example.org/library", "main"]);
        for own in ["main.main", "example.org/tool/inner.(*Queue).Put", "example.org/library.Open.func1"] {
            assert!(is_own(own, &modules), "{own}");
        }
        for other in ["runtime.mallocgc", "sync.(*Mutex).Lock", "example.org/tools.Run", "mainframe.Run"] {
            assert!(!is_own(other, &modules), "{other}");
        }
    }

    #[test]
    fn a_text_has_its_length_before_it() {
        let mut data = vec![0x82, 0x01];
        data.extend([7; 130]);
        data.push(9);
        assert_eq!(text(&data), Some((&[7; 130][..], &[9][..])));
        assert_eq!(text(&data[..100]), None);
        assert_eq!(text(&[0x80]), None);
    }

    #[test]
    fn another_program_is_none_of_go() {
        assert!(!is_go_program(&std::fs::read(std::env::current_exe().unwrap()).unwrap()));
        assert!(!is_go_program(b"#!/bin/sh\n"));
    }
}
