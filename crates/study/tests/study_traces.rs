//! Tests that a study holds each trace whole or not at all, whenever the recording process is
//! killed.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use morecores_study::trace::*;
use morecores_study::*;
use morecores_testkit::{plan, point, run};
use support::plain;

fn header() -> Header {
    morecores_testkit::header(plan(vec![point(1)]))
}

/// Trace of a run on `cpus` CPUs; its number of events distinguishes it from other traces.
fn trace(cpus: u32, n: u32, events: u64) -> TraceHeader {
    TraceHeader {
        schema: TRACE_SCHEMA.into(),
        run: run(&Point { cpus, n, ..point(1) }, Nanos(569_000)),
        repetition: 0,
        began_ns: Nanos(1),
        ended_ns: Nanos(569_001),
        facts: TraceFacts {
            source: TraceSource::Bpf,
            root: Tid(41),
            known: vec![KnownThread { tid: Tid(2), process: Tid(2), name: "kthreadd".into(), kernel: true }],
            events,
            missed: 1,
            lost: vec![CpuLoss { cpu: CpuId(0), dropped: 3 }],
            tracer: vec![],
            costs: vec![],
            sample_period_ns: None,
            tick_ns: Nanos(4_000_000),
            interrupts_accounted: false,
            held_is_told: true,
            wake_latency_ns: None,
            stack_share: None,
            stacks: [(7, vec![KernelFrame { symbol: "mutex_lock".into(), offset: 12 }])].into(),
            modules: Vec::new(),
            functions: Vec::new(),
            source_map: SourceMap::from_places([SourcePlace {
                module: 0,
                start: 0x40,
                end: 0x44,
                line: SourceLine { file: "/src/sum.c".into(), line: 7 },
                inlined: vec![InlinedFunction { name: "square".into(), line: None }],
            }]),
            generated: vec![GeneratedFunction {
                process: Tid(41),
                module: 0,
                start: 0x7f00,
                end: 0x7f10,
                name: "JS:*sum".into(),
            }],
            variables: Vec::new(),
            lock_uses: None,
            interrupts: [(27, "virtio0-req.0".to_owned())].into(),
            untraced: vec![],
        },
        unknown: Default::default(),
    }
}

fn empty_study() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.study");
    drop(StudyWriter::create(&path, header()).unwrap());
    (dir, path)
}

fn cell(cpus: u32, n: u32) -> Cell {
    Cell::from_counts(cpus, n, &Coordinates::new())
}

/// Records a trace and stops before its commit.
fn recorded(study: &Path, cpus: u32, n: u32, events: u64) -> TraceWriter {
    let trace = TraceWriter::create(study, cell(cpus, n), 0).unwrap();
    let mut stream = StreamWriter::new(trace.sink().unwrap()).unwrap();
    stream.frame(CpuId(0), &plain(0, 10, events)).unwrap();
    stream.finish().unwrap();
    trace
}

fn add(study: &Path, cpus: u32, n: u32, events: u64) {
    recorded(study, cpus, n, events).commit(&trace(cpus, n, events)).unwrap();
}

fn compressed(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

/// Replaces the header of a trace by an edited one.
fn edit_header(study: &Path, name: &str, edit: impl Fn(String) -> String) {
    let file = study.join("traces").join(name);
    let text = zstd::decode_all(&fs::read(&file).unwrap()[..]).unwrap();
    fs::write(file, compressed(edit(String::from_utf8(text).unwrap()).as_bytes())).unwrap();
}

fn names(study: &Path) -> Vec<String> {
    let files = fs::read_dir(study.join("traces")).unwrap();
    let mut names: Vec<String> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_trace_is_read_back_with_its_events() {
    let (_dir, path) = empty_study();
    for (cpus, n, events) in [(16, 16, 30), (2, 4, 20), (2, 2, 10)] {
        add(&path, cpus, n, events);
    }
    assert_eq!(
        names(&path),
        ["16.events", "16.json.zst", "2-n4.events", "2-n4.json.zst", "2.events", "2.json.zst"]
    );
    let study = Study::read(&path).unwrap();
    assert_eq!(study.traces, [trace(2, 2, 10), trace(2, 4, 20), trace(16, 16, 30)]);
    assert_eq!(study.damaged_traces, []);
    for header in &study.traces {
        let decoded = read_trace_events(&path, header).unwrap();
        assert!(decoded.is_complete());
        assert_eq!(decoded.events, plain(0, 10, header.facts.events));
    }
    assert_eq!(trace_events_path(&path, &cell(2, 4), 0), path.join("traces/2-n4.events"));
}

#[test]
fn a_header_of_an_older_version_is_read_and_replaced() {
    let (_dir, path) = empty_study();
    add(&path, 2, 2, 10);
    let file = |name: &str| path.join("traces").join(name);
    let text = zstd::decode_all(&fs::read(file("2.json.zst")).unwrap()[..]).unwrap();
    // A user has decompressed the header, and kept both files.
    fs::write(file("2.json"), text).unwrap();
    assert_eq!(Study::read(&path).unwrap().traces, [trace(2, 2, 10)]);
    fs::remove_file(file("2.json.zst")).unwrap();
    assert_eq!(Study::read(&path).unwrap().traces, [trace(2, 2, 10)]);
    add(&path, 2, 2, 20);
    assert_eq!(names(&path), ["2.events", "2.json.zst"]);
    assert_eq!(Study::read(&path).unwrap().traces, [trace(2, 2, 20)]);
}

#[test]
fn an_uncommitted_trace_leaves_nothing() {
    let (_dir, path) = empty_study();
    drop(recorded(&path, 2, 2, 10));
    assert_eq!(names(&path), [""; 0]);
    let error = recorded(&path, 2, 2, 10).commit(&trace(4, 4, 10)).unwrap_err();
    assert!(matches!(error, StudyError::OtherTrace(_)));
    assert_eq!(names(&path), [""; 0]);
    assert_eq!(Study::read(&path).unwrap(), Study::new(header()));
}

#[test]
fn a_new_trace_replaces_an_old_one() {
    let (_dir, path) = empty_study();
    add(&path, 2, 2, 10);
    let second = recorded(&path, 2, 2, 20);
    assert_eq!(Study::read(&path).unwrap().traces, [trace(2, 2, 10)], "the old one until the commit");
    second.commit(&trace(2, 2, 20)).unwrap();
    let study = Study::read(&path).unwrap();
    assert_eq!(study.traces, [trace(2, 2, 20)]);
    assert_eq!(read_trace_events(&path, &study.traces[0]).unwrap().events.len(), 20);
}

/// Covers the states in which a kill can leave the folder, in the order of a commit's system calls.
#[test]
fn a_kill_at_any_point_leaves_no_trace_or_a_complete_one() {
    let stream = {
        let (_dir, path) = empty_study();
        add(&path, 2, 2, 10);
        fs::read(trace_events_path(&path, &cell(2, 2), 0)).unwrap()
    };
    let json = compressed(&serde_json::to_vec(&trace(2, 2, 10)).unwrap());
    let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    type Files<'a> = Vec<(&'a str, Vec<u8>)>;
    let states: [(Files, usize); 7] = [
        (vec![("2.events.new", Vec::new())], 0),
        (vec![("2.events.new", half(&stream))], 0),
        (vec![("2.events.new", stream.clone()), ("2.json.zst.new", half(&json))], 0),
        (
            vec![
                ("2.events.new", stream.clone()),
                ("2.json.zst.new", json.clone()),
                ("2.events", b"old".to_vec()),
            ],
            0,
        ),
        (vec![("2.events", stream.clone()), ("2.json.zst.new", json.clone())], 0),
        (vec![("2.events", stream.clone()), ("2.json.zst", json.clone())], 1),
        // Of an older version.
        (vec![("2.events", stream.clone()), ("2.json", zstd::decode_all(&json[..]).unwrap())], 1),
    ];
    for (number, (files, whole)) in states.into_iter().enumerate() {
        let (_dir, path) = empty_study();
        add(&path, 1, 1, 5);
        for (name, content) in files {
            fs::write(path.join("traces").join(name), content).unwrap();
        }
        let check = |study: &Study| {
            assert_eq!(study.traces.len(), 1 + whole, "state {number}");
            assert_eq!(study.damaged_traces, [], "state {number}");
        };
        check(&Study::read(&path).unwrap());
        check(&StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap().0);
        assert_eq!(names(&path).len(), 2 * (1 + whole), "state {number}: {:?}", names(&path));
        add(&path, 2, 2, 10);
        assert_eq!(Study::read(&path).unwrap().traces, [trace(1, 1, 5), trace(2, 2, 10)]);
        assert_eq!(names(&path), ["1.events", "1.json.zst", "2.events", "2.json.zst"]);
    }
}

#[test]
fn files_of_a_trace_in_progress_belong_to_its_writer() {
    let (_dir, path) = empty_study();
    let (_, writer) = StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    let unfinished = recorded(&path, 2, 2, 10);
    assert!(matches!(
        StudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::Busy(_))
    ));
    unfinished.commit(&trace(2, 2, 10)).unwrap();
    drop(writer);
    assert_eq!(Study::read(&path).unwrap().traces.len(), 1);
}

#[test]
fn a_damaged_trace_is_reported_and_loses_only_itself() {
    let (_dir, path) = empty_study();
    for cpus in 1..=6 {
        add(&path, cpus, cpus, 5);
    }
    let file = |name: &str| path.join("traces").join(name);
    edit_header(&path, "1.json.zst", |_| "{\"schema\": ".to_owned());
    edit_header(&path, "2.json.zst", |_| "{\"schema\": \"something/1\"}".to_owned());
    edit_header(&path, "3.json.zst", |_| "{\"schema\": \"morecores.trace/1\"}".to_owned());
    fs::remove_file(file("4.events")).unwrap();
    let mut flipped = fs::read(file("6.json.zst")).unwrap();
    *flipped.last_mut().unwrap() ^= 1;
    fs::write(file("6.json.zst"), flipped).unwrap();
    fs::copy(file("5.json.zst"), file("7.json.zst")).unwrap();
    // One header cannot be read at all, and one was removed between listing and reading.
    fs::create_dir(file("8.json.zst")).unwrap();
    std::os::unix::fs::symlink("gone", file("9.json.zst")).unwrap();

    let study = Study::read(&path).unwrap();
    assert_eq!(study.traces, [trace(5, 5, 5)]);
    let said: Vec<(String, &str)> = study
        .damaged_traces
        .iter()
        .map(|damaged| (damaged.path.file_name().unwrap().display().to_string(), damaged.reason.as_str()))
        .collect();
    let expected = [
        "EOF",
        "its schema is `something/1`",
        "missing field",
        "events is missing",
        "checksum",
        "that of cpus = 5, n = 5",
        "directory",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for ((name, reason), expected) in said.iter().zip(expected) {
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    // Damaged traces stay in place, even after a resume: a user may want to repair them.
    drop(StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap());
    assert_eq!(Study::read(&path).unwrap().damaged_traces, study.damaged_traces);
}

#[test]
fn a_resumed_study_is_not_discarded_with_its_traces() {
    let (_dir, path) = empty_study();
    add(&path, 2, 2, 10);
    StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap().1.discard().unwrap();
    assert_eq!(Study::read(&path).unwrap().traces, [trace(2, 2, 10)]);
}

#[test]
fn a_newer_trace_is_refused() {
    let (_dir, path) = empty_study();
    add(&path, 1, 1, 5);
    edit_header(&path, "1.json.zst", |text| text.replace("morecores.trace/1", "morecores.trace/2"));
    let error = Study::read(&path).unwrap_err();
    assert!(matches!(error, StudyError::NewerSchema { .. }));
    let said = error.to_string();
    assert!(said.contains("1.json.zst") && said.contains("up to morecores.trace/1"), "{said}");
}

#[test]
fn fields_of_a_later_version_are_kept_in_memory() {
    let (_dir, path) = empty_study();
    let mut header = trace(1, 1, 5);
    header.unknown.insert("colour".into(), "teal".into());
    recorded(&path, 1, 1, 5).commit(&header).unwrap();
    assert_eq!(Study::read(&path).unwrap().traces, [header]);
}

#[test]
fn headers_are_written_with_the_keys_of_every_recorded_trace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut headers = Vec::new();
    find_headers(&root.join("studies"), &mut headers);
    find_headers(&root.join("fixtures"), &mut headers);
    assert!(headers.len() > 100, "{}", headers.len());
    for path in headers {
        let content = fs::read(&path).unwrap();
        let is_compressed = path.extension().is_some_and(|end| end == "zst");
        let text = if is_compressed { zstd::decode_all(&content[..]).unwrap() } else { content };
        let written: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let read: TraceHeader = serde_json::from_value(written.clone()).unwrap();
        assert!(read.unknown.is_empty(), "{}: {:?}", path.display(), read.unknown);
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{}", path.display());
    }
}

/// Finds the headers of traces below a directory.
fn find_headers(dir: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            find_headers(&path, found);
        } else if dir.ends_with("traces") && path.extension().is_some_and(|end| end == "json" || end == "zst")
        {
            found.push(path);
        }
    }
}

#[test]
fn an_entry_without_a_number_is_damage() {
    let (_dir, path) = empty_study();
    add(&path, 1, 1, 5);
    edit_header(&path, "1.json.zst", |text| text.replace("\"27\":", "\"x27\":"));
    let study = Study::read(&path).unwrap();
    assert_eq!((study.traces.len(), study.damaged_traces.len()), (0, 1));
}

#[test]
fn events_that_are_not_a_stream_are_named() {
    let (_dir, path) = empty_study();
    add(&path, 1, 1, 5);
    fs::write(trace_events_path(&path, &cell(1, 1), 0), "something else").unwrap();
    let said = read_trace_events(&path, &trace(1, 1, 5)).unwrap_err().to_string();
    assert!(said.contains("1.events") && said.contains("trace again"), "{said}");
}

#[test]
fn traces_of_cells_with_different_further_axes_have_separate_files() {
    let (_dir, path) = empty_study();
    let axes = |variant: &str| -> Coordinates {
        [("variant".to_owned(), AxisValue::Text(variant.to_owned()))].into()
    };
    for (variant, events) in [("a/b", 10), ("a b", 20)] {
        let header = trace(2, 2, events);
        let header = TraceHeader { run: Run { axes: axes(variant), ..header.run }, ..header };
        let trace = TraceWriter::create(&path, header.run.cell(), 0).unwrap();
        StreamWriter::new(trace.sink().unwrap()).unwrap().finish().unwrap();
        trace.commit(&header).unwrap();
    }
    let found = Study::read(&path).unwrap();
    assert_eq!(found.damaged_traces, []);
    assert_eq!(found.traces.iter().map(|trace| trace.facts.events).collect::<Vec<_>>(), [20, 10]);
    assert!(path.join("traces/2-variant=a%2fb.events").exists());
}

#[test]
fn a_cell_keeps_several_traces() {
    let (_dir, path) = empty_study();
    add(&path, 2, 4, 10);
    let second = TraceHeader { repetition: 1, ..trace(2, 4, 20) };
    let writer = TraceWriter::create(&path, cell(2, 4), 1).unwrap();
    let mut stream = StreamWriter::new(writer.sink().unwrap()).unwrap();
    stream.frame(CpuId(0), &plain(0, 10, 20)).unwrap();
    stream.finish().unwrap();
    writer.commit(&second).unwrap();
    assert_eq!(names(&path), ["2-n4-r1.events", "2-n4-r1.json.zst", "2-n4.events", "2-n4.json.zst"]);
    let study = Study::read(&path).unwrap();
    assert_eq!(study.traces, [trace(2, 4, 10), second.clone()]);
    assert_eq!(read_trace_events(&path, &second).unwrap().events.len(), 20);
    // A header belongs to its own number alone.
    let writer = TraceWriter::create(&path, cell(2, 4), 2).unwrap();
    assert!(matches!(writer.commit(&second), Err(StudyError::OtherTrace(_))));
    assert_eq!(Study::read(&path).unwrap().traces.len(), 2);
}
