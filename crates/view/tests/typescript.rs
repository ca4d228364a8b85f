//! Checks that the viewer's TypeScript types match the record. The test runs with the feature
//! `typescript` alone, as in `tools/test.sh`.
#![cfg(feature = "typescript")]
#![allow(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[path = "../examples/typescript.rs"]
#[allow(dead_code, reason = "the test needs no main function")]
mod generator;

fn read_directory(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let named = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("a file"))
    };
    entries.map(named).collect()
}

#[test]
fn the_viewers_types_are_up_to_date() {
    let new = tempfile::tempdir().expect("a directory");
    generator::export(new.path()).expect("types");
    let committed = read_directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/src/record"));
    for (name, text) in read_directory(new.path()) {
        assert!(committed.get(&name) == Some(&text), "viewer/src/record/{name} differs: run `make generate`");
    }
}
