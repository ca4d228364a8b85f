//! Debug files from a server on the loopback interface: names for stripped files, and servers that
//! fail.
#![allow(clippy::unwrap_used, reason = "a test says what failed by failing")]

mod support;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use morecores_symbols::{DebugFile, DebuginfodClient, FetchError, SymbolError, Symbolizer};
use morecores_testkit::{DebuginfodResponse, DebuginfodServer, debuginfod_client};
use object::Object;

use support::{compile, debug_file, module, place, strip, symbol_length};

/// Time that no test reaches.
const LONG: Duration = Duration::from_secs(600);

/// Build identifier of a file in hexadecimal.
fn build_id(path: &Path) -> String {
    let data = fs::read(path).unwrap();
    let id = object::File::parse(&*data).unwrap().build_id().unwrap().unwrap().to_vec();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fetches a debug file through a server with this response.
fn fetch(
    folder: &Path,
    client: &Path,
    id: &str,
    response: DebuginfodResponse,
) -> Result<PathBuf, FetchError> {
    let server = DebuginfodServer::start(BTreeMap::from([(id.to_owned(), response)]));
    let client = DebuginfodClient::new(server.write_client(client, folder));
    client.fetch(id, LONG, |_| {}, || false)
}

/// Names, starts and ends of all functions at the offsets of `own` and `exported`.
fn functions(
    symbolizer: &mut Symbolizer,
    path: &Path,
    offsets: &BTreeSet<u64>,
) -> Vec<(Option<String>, u64, u64)> {
    let functions = symbolizer.functions(0, &module(path), offsets).unwrap();
    functions.into_iter().map(|function| (function.name, function.start, function.end)).collect()
}

/// Offsets of all bytes of the functions `own` and `exported`.
fn offsets(library: &Path) -> BTreeSet<u64> {
    let bytes = |name| {
        let start = place(library, name).0;
        start..start + symbol_length(library, name)
    };
    bytes("own").chain(bytes("exported")).collect()
}

#[test]
fn a_debug_file_of_a_server_names_a_stripped_file() {
    let Some(client) = debuginfod_client("a_debug_file_of_a_server_names_a_stripped_file") else { return };
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let (stripped, offsets, id) = (strip(&library), offsets(&library), build_id(&library));
    let expected = functions(&mut Symbolizer::new(), &library, &offsets);
    let mut symbolizer = Symbolizer::new();
    let own = place(&library, "own").0;
    assert_eq!(functions(&mut symbolizer, &stripped, &offsets)[0].0, None);
    let debug = symbolizer.debug_file(&module(&stripped), &offsets);
    assert_eq!(debug, Ok(DebugFile::Useful { build_id: id.clone() }));

    let server = DebuginfodServer::start(BTreeMap::from([(
        id.clone(),
        DebuginfodResponse::File(fs::read(debug_file(&library)).unwrap()),
    )]));
    let client = DebuginfodClient::new(server.write_client(&client, folder.path()));
    let started = Cell::new(0);
    let path = client.fetch(&id, LONG, |process| started.set(process), || false).unwrap();
    assert!(started.get() > 0 && path.starts_with(folder.path()), "{path:?}");
    symbolizer.add_debug_file(&module(&stripped), &path).unwrap();
    assert_eq!(functions(&mut symbolizer, &stripped, &offsets), expected);
    assert_eq!(expected[0].0.as_deref(), Some("own"));
    let lines = symbolizer.source_places(0, &module(&stripped), &[own].into()).unwrap();
    assert!(lines[0].line.file.ends_with("library.c"), "{lines:?}");
    assert_eq!(symbolizer.debug_file(&module(&stripped), &offsets), Ok(DebugFile::Useless));
    // The second time it comes from the cache.
    assert_eq!(client.fetch(&id, LONG, |_| {}, || false), Ok(path));
    assert_eq!(server.requests(), [format!("/buildid/{id}/debuginfo")]);
}

#[test]
fn only_files_with_nameless_functions_need_a_debug_file() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let stripped = strip(&library);
    let (own, exported) = (place(&library, "own").0, place(&library, "exported").0);
    let needs = |path: &Path, offset: u64| Symbolizer::new().debug_file(&module(path), &[offset].into());
    assert_eq!(needs(&library, own), Ok(DebugFile::Useless));
    assert_eq!(needs(&stripped, exported), Ok(DebugFile::Useless));
    assert_eq!(needs(&stripped, own), Ok(DebugFile::Useful { build_id: build_id(&library) }));
    let unidentified = strip(&compile(folder.path(), "unidentified.so", &["-Wl,--build-id=none"]));
    assert_eq!(needs(&unidentified, own), Ok(DebugFile::Unidentified));
}

#[test]
fn a_symbol_table_without_debug_information_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &[]);
    let (stripped, debug, offsets) = (strip(&library), debug_file(&library), offsets(&library));
    let mut symbolizer = Symbolizer::new();
    symbolizer.add_debug_file(&module(&stripped), &debug).unwrap();
    let expected = functions(&mut Symbolizer::new(), &library, &offsets);
    assert_eq!(functions(&mut symbolizer, &stripped, &offsets), expected);
}

#[test]
fn files_that_do_not_belong_to_the_module_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), "library.so", &["-g"]);
    let (stripped, own) = (strip(&library), place(&library, "own").0);
    let bytes = fs::read(debug_file(&library)).unwrap();
    let other = debug_file(&compile(folder.path(), "other.so", &["-g", "-O2"]));
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let without_id = debug_file(&compile(folder.path(), "none.so", &["-g", "-Wl,--build-id=none"]));
    for (path, is_other) in [
        (other, true),
        (without_id, true),
        (file("cut", &bytes[..bytes.len() / 2]), false),
        (file("text", b"<html>404</html>"), false),
        (file("empty", b""), false),
        (folder.path().join("absent"), false),
        (folder.path().to_owned(), false),
    ] {
        let mut symbolizer = Symbolizer::new();
        let error = symbolizer.add_debug_file(&module(&stripped), &path).unwrap_err();
        match error {
            SymbolError::OtherBuildId { .. } => assert!(is_other, "{error}"),
            SymbolError::Unreadable { .. } => assert!(!is_other, "{error}"),
            _ => panic!("{error}"),
        }
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        // The module keeps what it has.
        let functions = functions(&mut symbolizer, &stripped, &[own, place(&library, "exported").0].into());
        let names: Vec<Option<&str>> = functions.iter().map(|(name, ..)| name.as_deref()).collect();
        assert_eq!(names, [None, Some("exported")]);
    }
}

#[test]
fn servers_without_the_file_are_named_as_the_reason() {
    let Some(client) = debuginfod_client("servers_without_the_file_are_named_as_the_reason") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (id, status) in [("ab01", 404), ("ab02", 500), ("ab03", 302)] {
        let fetched = fetch(folder.path(), &client, id, DebuginfodResponse::Status(status));
        let Err(FetchError::NotFound(why)) = &fetched else { panic!("{status}: {fetched:?}") };
        assert!(why.contains("failed"), "{status}: {why}");
    }
}

#[test]
fn a_transfer_ends_at_its_limit_and_when_the_user_stops_it() {
    let Some(client) = debuginfod_client("a_transfer_ends_at_its_limit_and_when_the_user_stops_it") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = DebuginfodServer::start(BTreeMap::from([("ab".to_owned(), DebuginfodResponse::Silence)]));
    let client = DebuginfodClient::new(server.write_client(&client, folder.path()));
    let process = Cell::new(0);
    let ended = || !Path::new(&format!("/proc/{}", process.get())).exists();
    let fetched = client.fetch("ab", Duration::from_millis(200), |started| process.set(started), || false);
    assert_eq!(fetched, Err(FetchError::TimedOut));
    assert!(process.get() > 0 && ended());
    let is_waiting = || !server.requests().is_empty();
    let fetched = client.fetch("ab", LONG, |started| process.set(started), is_waiting);
    assert_eq!(fetched, Err(FetchError::Stopped));
    assert!(ended());
}

#[test]
fn only_hexadecimal_digits_reach_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let called = folder.path().join("called");
    let script = folder.path().join("client");
    let text = format!("#!/bin/sh\necho \"$@\" >>'{}'\necho /file\n", called.display());
    morecores_testkit::write_script(&script, &text);
    let client = DebuginfodClient::new(script);
    for id in ["", "--help", "../../etc/passwd", "ab cd", "ab\n", "xyz", "ａb", "/etc/passwd"] {
        let fetched = client.fetch(id, LONG, |_| {}, || false);
        assert_eq!(fetched, Err(FetchError::InvalidBuildId), "{id:?}");
    }
    assert!(!called.exists());
    assert_eq!(client.fetch("0aF9", LONG, |_| {}, || false), Ok("/file".into()));
    assert_eq!(fs::read_to_string(called).unwrap(), "debuginfo 0aF9\n");
}

#[test]
fn clients_that_print_no_path_are_failures() {
    let folder = tempfile::tempdir().unwrap();
    let fetch = |name: &str, script: &str| {
        let path = folder.path().join(name);
        morecores_testkit::write_script(&path, &format!("#!/bin/sh\n{script}\n"));
        DebuginfodClient::new(path).fetch("ab", LONG, |_| {}, || false)
    };
    let not_found = |why: &str| Err(FetchError::NotFound(why.to_owned()));
    assert_eq!(fetch("silent", "exit 0"), not_found("exit status: 0"));
    assert_eq!(fetch("relative", "echo file"), not_found("exit status: 0"));
    assert_eq!(fetch("failing", "echo /file; echo first >&2; echo last >&2; exit 3"), not_found("last"));
    assert_eq!(fetch("coloured", r"printf 'a\033[31mb\n\n' >&2; exit 1"), not_found("a[31mb"));
    assert_eq!(fetch("killed", "kill -9 $$"), Err(FetchError::Stopped));
    let flood = fetch("flood", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1");
    assert_eq!(flood, not_found(&"x".repeat(200)));
    let absent = DebuginfodClient::new(folder.path().join("absent")).fetch("ab", LONG, |_| {}, || false);
    assert!(
        matches!(&absent, Err(FetchError::NotStarted(why)) if why.contains("No such file")),
        "{absent:?}"
    );
}
