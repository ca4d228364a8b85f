//! Tests that the directory of a study of locks keeps the measurements, as that of a study of a
//! command does. They also test that the two kinds are distinguished.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use morecores_study::lock::{LockCell, LockName, LockRun, LockStudy, LockStudyWriter};
use morecores_study::{AnyStudy, Closing, Nanos, StopReason, Study, StudyError, StudyState, StudyWriter};
use morecores_testkit::{lock_header, lock_plan, lock_time, plan, point};

fn run(round: u32) -> LockRun {
    lock_time(round, LockCell::Free { lock: LockName::Adaptive }, 15.5 + f64::from(round))
}

fn study_of(runs: u32) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.study");
    let mut writer = LockStudyWriter::create(&path, lock_header(lock_plan())).unwrap();
    for round in 0..runs {
        writer.append(&run(round)).unwrap();
    }
    (dir, path)
}

fn append_raw(path: &Path, text: &[u8]) {
    OpenOptions::new().append(true).open(path.join("runs.jsonl")).unwrap().write_all(text).unwrap();
}

#[test]
fn appended_lines_are_read_back_and_the_study_is_closed() {
    let (_dir, path) = study_of(2);
    let (study, mut writer) = LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert_eq!(study, LockStudy { runs: vec![run(0), run(1)], ..LockStudy::new(lock_header(lock_plan())) });
    writer.append(&run(2)).unwrap();
    let closing = Closing {
        ended_at_ns: Nanos(9),
        reason: StopReason::RunsExhausted,
        other_programs: Vec::new(),
        quiet: None,
    };
    writer.close(closing.clone()).unwrap();
    let study = LockStudy::read(&path).unwrap();
    assert_eq!(study.runs, [run(0), run(1), run(2)]);
    assert_eq!(study.header.closing, Some(closing));
    // A resumed study has no end.
    drop(LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap());
    assert_eq!(LockStudy::read(&path).unwrap().header.closing, None);
}

#[test]
fn a_damaged_line_loses_only_itself() {
    let (_dir, path) = study_of(2);
    append_raw(&path, b"{\"round\": 2, \xff\n\n");
    append_raw(&path, &[serde_json::to_vec(&run(3)).unwrap(), b"\n".to_vec()].concat());
    let study = LockStudy::read(&path).unwrap();
    assert_eq!(study.runs, [run(0), run(1), run(3)]);
    assert_eq!(study.damaged_lines, 1);
}

#[test]
fn a_study_cut_at_any_byte_loses_at_most_the_last_line() {
    let (_dir, path) = study_of(2);
    let whole = fs::read(path.join("runs.jsonl")).unwrap();
    for cut in 0..whole.len() {
        fs::write(path.join("runs.jsonl"), &whole[..cut]).unwrap();
        let ends = whole[..cut].iter().filter(|&&b| b == b'\n').count();
        let (resumed, mut writer) =
            LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
        let left = resumed.runs.len();
        // A line that lacks only its line feed is whole.
        assert!(left == ends || left == ends + 1, "cut at {cut}");
        writer.append(&run(9)).unwrap();
        drop(writer);
        let after = LockStudy::read(&path).unwrap();
        assert_eq!((after.runs.last(), after.runs.len()), (Some(&run(9)), left + 1), "cut at {cut}");
    }
}

#[test]
fn fields_of_a_later_version_are_kept_and_a_newer_schema_is_refused() {
    let (_dir, path) = study_of(1);
    let file = path.join("study.json");
    let text = fs::read_to_string(&file).unwrap().replacen('{', "{\"colour\": \"teal\",", 1);
    fs::write(&file, &text).unwrap();
    drop(LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap());
    assert_eq!(LockStudy::read(&path).unwrap().header.unknown["colour"], "teal");

    let newer = text.replace("study/2", "study/3");
    fs::write(&file, &newer).unwrap();
    assert!(matches!(LockStudy::read(&path), Err(StudyError::NewerSchema { .. })));
    assert!(matches!(AnyStudy::read(&path), Err(StudyError::NewerSchema { .. })));
    assert!(matches!(
        LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::NewerSchema { .. })
    ));
    assert_eq!(fs::read_to_string(&file).unwrap(), newer);
}

#[test]
fn the_two_kinds_of_study_are_distinguished() {
    let (dir, locks) = study_of(1);
    let command = dir.path().join("b.study");
    drop(StudyWriter::create(&command, morecores_testkit::header(plan(vec![point(1)]))).unwrap());
    let (before, of_command) = (fs::read(locks.join("study.json")).unwrap(), Study::read(&command).unwrap());

    assert!(matches!(AnyStudy::read(&locks).unwrap(), AnyStudy::Locks(study) if study.runs == [run(0)]));
    assert!(matches!(AnyStudy::read(&command).unwrap(), AnyStudy::Command(study) if *study == of_command));
    let error = Study::read(&locks).unwrap_err().to_string();
    let name = locks.display();
    assert_eq!(
        error,
        format!("{name} is a study of locks, not of a command: see it with morecores show {name}")
    );
    assert!(matches!(LockStudy::read(&command), Err(StudyError::OfCommand(_))));
    assert!(matches!(
        StudyWriter::open(&locks).and_then(|study| study.resume(|_| ())),
        Err(StudyError::OfLocks(_))
    ));
    assert_eq!(fs::read(locks.join("study.json")).unwrap(), before);
}

#[test]
fn an_existing_study_stays_and_two_writers_never_share_it() {
    let (dir, path) = study_of(1);
    let header = || lock_header(lock_plan());
    assert!(matches!(LockStudyWriter::create(&path, header()), Err(StudyError::Exists(_))));
    let (_, first) = LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert!(matches!(
        LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::Busy(_))
    ));
    first.discard().unwrap();
    assert_eq!(LockStudy::read(&path).unwrap().runs, [run(0)]);
    let new = dir.path().join("new.study");
    LockStudyWriter::create(&new, header()).unwrap().discard().unwrap();
    assert!(!new.exists());
}

/// Turns a study into one of the schema `morecores.locks/1`.
fn downgrade(path: &Path) {
    let file = path.join("study.json");
    let mut header: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    header["schema"] = "morecores.locks/1".into();
    header.as_object_mut().unwrap().remove("subject");
    fs::write(&file, header.to_string()).unwrap();
    fs::rename(path.join("runs.jsonl"), path.join("cells.jsonl")).unwrap();
}

#[test]
fn a_study_of_the_earlier_schema_reads_the_same_and_is_upgraded_when_it_is_resumed() {
    let (_dir, path) = study_of(2);
    let study = LockStudy::read(&path).unwrap();
    downgrade(&path);
    assert_eq!(LockStudy::read(&path).unwrap(), study);
    assert_eq!(AnyStudy::read(&path).unwrap().state(&path), StudyState::Killed);
    assert!(matches!(Study::read(&path), Err(StudyError::OfLocks(_))));
    assert!(path.join("cells.jsonl").exists(), "reading changes nothing");

    let (resumed, mut writer) = LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert_eq!(resumed, study);
    assert_eq!(AnyStudy::read(&path).unwrap().state(&path), StudyState::Measuring);
    assert!(matches!(
        LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())),
        Err(StudyError::Busy(_))
    ));
    writer.append(&run(2)).unwrap();
    drop(writer);
    assert!(!path.join("cells.jsonl").exists());
    assert_eq!(LockStudy::read(&path).unwrap().runs, [run(0), run(1), run(2)]);
}

#[test]
fn a_kill_during_the_upgrade_loses_nothing() {
    let (_dir, path) = study_of(2);
    let study = LockStudy::read(&path).unwrap();
    // The header is written, and the file of the runs still has its earlier name.
    fs::rename(path.join("runs.jsonl"), path.join("cells.jsonl")).unwrap();
    assert_eq!(LockStudy::read(&path).unwrap(), study);
    let (resumed, _writer) = LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap();
    assert_eq!(resumed, study);
    assert!(path.join("runs.jsonl").exists() && !path.join("cells.jsonl").exists());
}

#[test]
fn only_one_of_many_resumes_a_study_of_the_earlier_schema() {
    // Each round has its own order of the threads.
    for _ in 0..50 {
        let (_dir, path) = study_of(2);
        downgrade(&path);
        let barrier = std::sync::Barrier::new(6);
        let writers: Vec<_> = std::thread::scope(|scope| {
            let resume = || {
                barrier.wait();
                LockStudyWriter::open(&path).and_then(|study| study.resume(|_| ()))
            };
            let read = || {
                barrier.wait();
                LockStudy::read(&path)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(resume)).collect();
            let readers: Vec<_> = (0..2).map(|_| scope.spawn(read)).collect();
            for reader in readers {
                assert_eq!(reader.join().unwrap().unwrap().runs, [run(0), run(1)]);
            }
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(writers.iter().filter(|writer| writer.is_ok()).count(), 1, "{writers:?}");
        assert!(
            writers.iter().all(|writer| matches!(writer, Ok(_) | Err(StudyError::Busy(_)))),
            "{writers:?}"
        );
        assert!(path.join("runs.jsonl").exists() && !path.join("cells.jsonl").exists());
    }
}

#[test]
fn a_file_of_the_user_is_never_taken_for_the_runs_of_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.study");
    drop(StudyWriter::create(&path, morecores_testkit::header(plan(vec![point(1)]))).unwrap());
    fs::rename(path.join("runs.jsonl"), path.join("cells.jsonl")).unwrap();
    fs::write(path.join("cells.jsonl"), "mine\n").unwrap();
    assert_eq!(Study::read(&path).unwrap().damaged_lines, 0);
    drop(StudyWriter::open(&path).and_then(|study| study.resume(|_| ())).unwrap());
    assert_eq!(fs::read_to_string(path.join("cells.jsonl")).unwrap(), "mine\n");
}

#[test]
fn a_subject_of_a_later_version_needs_a_newer_morecores() {
    let (_dir, path) = study_of(1);
    let file = path.join("study.json");
    let text = fs::read_to_string(&file).unwrap().replace("\"kind\": \"locks\"", "\"kind\": \"nodes\"");
    fs::write(&file, text).unwrap();
    let error = AnyStudy::read(&path).unwrap_err().to_string();
    assert!(error.contains("unknown subject `nodes`: use a newer morecores"), "{error}");
}
