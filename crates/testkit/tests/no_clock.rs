//! No test of any crate depends on the speed of the machine. A test that reads a clock will sooner
//! or later assert something that a busy machine breaks. A test passes a clock in, waits with
//! `morecores_testkit::wait_until`, and leaves speed to the benches.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs;
use std::path::{Path, PathBuf};

/// Calls that read the standard library's clocks.
const CLOCKS: [&str; 2] = ["Instant::now", "SystemTime::now"];

/// Tests that run for a fixed time and assert nothing about it, and this file.
const EXEMPT: [&str; 3] =
    ["study/tests/stream_damage.rs", "workloads/src/lock.rs", "testkit/tests/no_clock.rs"];

/// Lists the Rust sources below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let (directories, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    files.into_iter().filter(is_rust).chain(directories.iter().flat_map(|path| sources(path))).collect()
}

/// Returns the part of a source that is tests: the whole file of an integration test or of a module
/// `tests.rs`, otherwise the text from the start of its module `tests`.
fn test_text<'a>(path: &Path, text: &'a str) -> &'a str {
    let is_test = path.components().any(|part| part.as_os_str() == "tests");
    if is_test || path.file_name().is_some_and(|name| name == "tests.rs") {
        return text;
    }
    text.find("\n#[cfg(test)]\nmod tests {").map_or("", |at| &text[at..])
}

#[test]
fn tests_read_no_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = sources(crates);
    assert!(sources.len() > 100, "{} sources below {}", sources.len(), crates.display());
    let reads_clock = |path: &&PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let tests = test_text(path, &text);
        CLOCKS.iter().any(|clock| tests.contains(clock))
            && !EXEMPT.iter().any(|exempt| path.ends_with(exempt))
    };
    let found: Vec<_> = sources.iter().filter(reads_clock).collect();
    assert!(found.is_empty(), "these tests read a clock: {found:?}");
}

#[test]
fn a_test_is_recognised_by_its_path() {
    let text = "a\n#[cfg(test)]\nmod tests {}";
    let test_text_at = |path| test_text(Path::new(path), text);
    assert_eq!(test_text_at("x/src/lib.rs"), "\n#[cfg(test)]\nmod tests {}");
    assert_eq!(
        [test_text_at("x/tests/a.rs"), test_text_at("x/src/a/tests.rs"), test_text(Path::new("b.rs"), "a")],
        [text, text, ""]
    );
}
