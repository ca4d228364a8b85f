//! Tests that the study directory keeps the measurements, whatever happens to the process that
//! writes it.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use morecores_study::{
    Bytes, Closing, CpuEstimator, CpuTime, Header, Nanos, Run, Rusage, StopReason, Study, StudyError,
    StudyWriter,
};
use morecores_testkit::{plan, point};

fn header() -> Header {
    morecores_testkit::header(plan(vec![point(1)]))
}

fn run(index: u32) -> Run {
    Run {
        index,
        round: index,
        started_at_ns: Nanos(5),
        cpu: CpuTime { user_ns: Nanos(1), system_ns: Nanos(2), estimator: CpuEstimator::Cgroup },
        rusage: Rusage { max_rss_bytes: Bytes(4096), ..Rusage::default() },
        max_rss_floor_bytes: Bytes(4096),
        ..morecores_testkit::run(&point(1), Nanos(569_000 + u64::from(index)))
    }
}

fn study_of(runs: u32) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.study");
    let mut writer = StudyWriter::create(&path, header()).unwrap();
    for index in 0..runs {
        writer.append(&run(index)).unwrap();
    }
    (dir, path)
}

fn append_raw(path: &Path, text: &[u8]) {
    OpenOptions::new().append(true).open(path.join("runs.jsonl")).unwrap().write_all(text).unwrap();
}

#[test]
fn appended_runs_are_read_back() {
    let (_dir, path) = study_of(3);
    let study = Study::read(&path).unwrap();
    assert_eq!(study.header, header());
    assert_eq!(study.runs, [run(0), run(1), run(2)]);
    assert_eq!(study.damaged_lines, 0);
}

#[test]
fn a_damaged_line_loses_only_itself() {
    let (_dir, path) = study_of(2);
    append_raw(&path, b"{\"index\": 2, \xff\n");
    append_raw(&path, &[serde_json::to_vec(&run(3)).unwrap(), b"\n".to_vec()].concat());
    let study = Study::read(&path).unwrap();
    assert_eq!(study.runs, [run(0), run(1), run(3)]);
    assert_eq!(study.damaged_lines, 1);
}

#[test]
fn a_study_cut_at_any_byte_loses_at_most_the_last_run() {
    let (_dir, path) = study_of(3);
    let whole = fs::read(path.join("runs.jsonl")).unwrap();
    for cut in 0..whole.len() {
        fs::write(path.join("runs.jsonl"), &whole[..cut]).unwrap();
        let ends = whole[..cut].iter().filter(|&&b| b == b'\n').count();
        let study = Study::read(&path).unwrap();
        // A line that lacks only its line feed is whole.
        assert!(study.runs.len() == ends || study.runs.len() == ends + 1, "cut at {cut}");

        let (resumed, mut writer) = StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
        assert_eq!(resumed.runs.len(), study.runs.len());
        writer.append(&run(9)).unwrap();
        drop(writer);
        let after = Study::read(&path).unwrap();
        assert_eq!(after.runs.last(), Some(&run(9)), "cut at {cut}");
        assert_eq!(after.runs.len(), study.runs.len() + 1, "cut at {cut}");
    }
}

#[test]
fn fields_of_a_later_version_are_kept() {
    let (_dir, path) = study_of(0);
    let text = fs::read_to_string(path.join("study.json")).unwrap();
    fs::write(path.join("study.json"), text.replacen('{', "{\"colour\": \"teal\",", 1)).unwrap();
    append_raw(
        &path,
        serde_json::to_string(&run(0)).unwrap().replacen('{', "{\"phase_of_moon\": 3,", 1).as_bytes(),
    );

    let (study, writer) = StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert_eq!(study.runs[0].unknown["phase_of_moon"], 3);
    let closing =
        Closing { ended_at_ns: Nanos(9), reason: StopReason::Precise, other_programs: vec![], quiet: None };
    writer.close(closing.clone()).unwrap();
    let header = Study::read(&path).unwrap().header;
    assert_eq!(header.unknown["colour"], "teal");
    assert_eq!(header.closing, Some(closing));
}

#[test]
fn a_newer_schema_is_refused_and_unchanged() {
    let (_dir, path) = study_of(1);
    let text = fs::read_to_string(path.join("study.json")).unwrap().replace("study/2", "study/3");
    fs::write(path.join("study.json"), &text).unwrap();
    assert!(matches!(Study::read(&path), Err(StudyError::NewerSchema { .. })));
    assert!(matches!(
        StudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::NewerSchema { .. })
    ));
    assert_eq!(fs::read_to_string(path.join("study.json")).unwrap(), text);
}

#[test]
fn a_directory_without_a_study_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Study::read(dir.path()), Err(StudyError::NotAStudy(_))));
    fs::write(dir.path().join("study.json"), "{").unwrap();
    assert!(matches!(Study::read(dir.path()), Err(StudyError::DamagedHeader { .. })));
    assert!(matches!(StudyWriter::create(dir.path(), header()), Err(StudyError::Exists(_))));
}

#[test]
fn only_a_new_study_without_runs_is_discarded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.study");
    StudyWriter::create(&path, header()).unwrap().discard().unwrap();
    assert!(!path.exists());
    let mut writer = StudyWriter::create(&path, header()).unwrap();
    writer.append(&run(0)).unwrap();
    writer.discard().unwrap();
    assert_eq!(Study::read(&path).unwrap().runs, [run(0)]);
    let (_dir, path) = study_of(0);
    StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap().1.discard().unwrap();
    assert_eq!(Study::read(&path).unwrap().runs, []);
    let (_dir, path) = study_of(1);
    StudyWriter::open(&path)
        .and_then(|study| study.resume(|header| header.plan.stop.max_runs = 99))
        .unwrap()
        .1
        .discard()
        .unwrap();
    assert_eq!(Study::read(&path).unwrap().header.plan.stop.max_runs, 99);
}

#[test]
fn two_writers_never_share_a_study() {
    let (_dir, path) = study_of(1);
    let (_, first) = StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert!(matches!(
        StudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::Busy(_))
    ));
    drop(first);
    assert!(StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).is_ok());
}

#[test]
fn opening_a_study_reserves_it_and_changes_nothing() {
    let (_dir, path) = study_of(1);
    append_raw(&path, b"{\"index\":");
    let content = || ["study.json", "runs.jsonl"].map(|name| fs::read(path.join(name)).unwrap());
    let before = content();
    let opened = StudyWriter::open(&path).unwrap();
    assert_eq!((opened.study.runs.as_slice(), opened.study.damaged_lines), ([run(0)].as_slice(), 1));
    assert!(matches!(StudyWriter::open(&path), Err(StudyError::Busy(_))));
    drop(opened);
    assert_eq!(content(), before);
    assert!(StudyWriter::open(&path).is_ok());
}

#[test]
fn a_study_of_the_earlier_schema_reads_the_same() {
    let (_dir, path) = study_of(2);
    let study = Study::read(&path).unwrap();
    let file = path.join("study.json");
    let mut header: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    header["schema"] = "morecores.study/1".into();
    header["command"] = header.as_object_mut().unwrap().remove("subject").unwrap();
    fs::write(&file, header.to_string()).unwrap();
    assert_eq!(Study::read(&path).unwrap(), study);
    drop(StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap());
    assert!(fs::read_to_string(&file).unwrap().contains("morecores.study/2"), "resuming upgrades");
    assert_eq!(Study::read(&path).unwrap(), study);
}
