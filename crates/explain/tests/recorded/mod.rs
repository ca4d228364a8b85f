//! Recorded traces of the repository: those of `fixtures` and of `studies`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use morecores_explain::DecodedTrace;
use morecores_study::trace::{TraceHeader, read_events};

/// Calls `visit` with the path, the header and the content of each recorded trace.
pub(crate) fn for_each_trace(mut visit: impl FnMut(&str, &TraceHeader, &DecodedTrace<'_>)) {
    for path in trace_headers() {
        let header: TraceHeader =
            serde_json::from_slice(&fs::read(&path).expect("a file")).expect("a header");
        let events = File::open(path.with_extension("events")).expect("a stream");
        let decoded = read_events(events).expect("events");
        visit(&path.display().to_string(), &header, &DecodedTrace::new(&header, decoded));
    }
}

/// Headers in folders with the name `traces`, in alphabetical order.
fn trace_headers() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![root.join("fixtures/traces"), root.join("studies")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_header = folder.ends_with("traces") && path.extension().is_some_and(|e| e == "json");
            if path.is_dir() {
                folders.push(path);
            } else if is_header {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
