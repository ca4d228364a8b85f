//! Tests that the committed reference, man pages and completions match the definition of the
//! command line.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_reference_the_man_pages_and_the_completions_are_up_to_date() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let new = tempfile::tempdir().unwrap();
    for (what, directory) in [("markdown", ""), ("man", "man"), ("completions", "completions")] {
        let made = new.path().join(directory);
        let status =
            Command::new(env!("CARGO_BIN_EXE_morecores")).args(["generate", what]).arg(&made).status();
        assert!(status.unwrap().success());
        for file in
            fs::read_dir(&made).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            let name = Path::new(directory).join(file.file_name().unwrap());
            let old = fs::read_to_string(committed.join(&name)).unwrap_or_default();
            assert!(
                old == fs::read_to_string(&file).unwrap(),
                "docs/{} differs: run `make generate`",
                name.display()
            );
        }
    }
}
