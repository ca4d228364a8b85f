//! Library compiled for a test, and the places in it.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::trace::Module;
use object::{Object, ObjectSymbol};

/// A library with a function of its own, one that others may call, with an inlined one, and a
/// variable.
pub(crate) const LIBRARY: &str = r#"
#ifndef INSIDE
#define INSIDE
#endif

struct table { long size; int lock; };

struct table shared = { 1, 2 };

__attribute__((noinline)) static long own(long number)
{
	for (int i = 0; i < 9; i++)
		number = number * shared.size + i;
	INSIDE;
	return number;
}

static long half(long number)
{
	return number / 2 - shared.lock;
}

long exported(long number)
{
	return half(own(number));
}
"#;

/// Compiles the library with these options.
pub(crate) fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
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

pub(crate) fn strip(library: &Path) -> PathBuf {
    let stripped = library.with_extension("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(library).status().unwrap();
    assert!(status.success());
    stripped
}

/// Separates the debug information and all symbols of a library into a debug file.
pub(crate) fn debug_file(library: &Path) -> PathBuf {
    let debug = library.with_extension("debug");
    let status = Command::new("objcopy").arg("--only-keep-debug").arg(library).arg(&debug).status().unwrap();
    assert!(status.success());
    debug
}

pub(crate) fn module(path: &Path) -> Module {
    Module { path: path.to_str().unwrap().to_owned(), build_id: None }
}

/// Offset in the file of a symbol's first byte, and its address.
pub(crate) fn place(library: &Path, name: &str) -> (u64, u64) {
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

/// Length of a symbol in bytes.
pub(crate) fn symbol_length(library: &Path, name: &str) -> u64 {
    let data = fs::read(library).unwrap();
    let file = object::File::parse(&*data).unwrap();
    file.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().size()
}

/// Generator of the same damage in each test run: a linear congruential generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}
