//! Recorded traces of the repository: those of `fixtures` and of `studies`.

use std::fs;
use std::path::{Path, PathBuf};

use morecores_explain::DecodedTrace;
use morecores_study::trace::{TraceHeader, read_trace_events, read_trace_headers, trace_name};

/// Calls `visit` with the path, the header and the content of each recorded trace.
pub(crate) fn for_each_trace(mut visit: impl FnMut(&str, &TraceHeader, &DecodedTrace<'_>)) {
    for study in traced_studies() {
        let headers = read_trace_headers(&study).expect("headers");
        assert_eq!(headers.damaged, [], "{}", study.display());
        for header in &headers.whole {
            let decoded = read_trace_events(&study, header).expect("events");
            let name = format!("{}: {}", study.display(), trace_name(header));
            visit(&name, header, &DecodedTrace::new(header, decoded));
        }
    }
}

/// Folders with a folder `traces` in them, in alphabetical order.
fn traced_studies() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![root.join("fixtures/traces"), root.join("studies")];
    while let Some(folder) = folders.pop() {
        let is_traces = |path: &PathBuf| path.is_dir() && path.ends_with("traces");
        let entries = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let (traces, others): (Vec<_>, Vec<_>) = entries.partition(is_traces);
        folders.extend(others.into_iter().filter(|path| path.is_dir()));
        if !traces.is_empty() {
            found.push(folder);
        }
    }
    found.sort();
    found
}
