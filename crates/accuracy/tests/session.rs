//! The judge as a command, over a fake `morecores` that prints a given report.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use morecores_testkit::report_skip;
use morecores_view::{Components, TraceView};

/// Script that runs the command like `morecores trace --cpus N --json -- COMMAND`, and prints
/// `view`.
fn reporting(dir: &Path, view: &TraceView) -> PathBuf {
    let (script, json) = (dir.join("morecores"), dir.join("view.json"));
    fs::write(&json, serde_json::to_string(view).unwrap()).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$1 $2 $4 $5\" = 'trace --cpus --json --' ] || exit 3\nshift 5\n\"$@\" || exit\ncat '{}'\n",
        json.display()
    );
    morecores_testkit::write_script(&script, &text);
    script
}

fn view(components: Components) -> TraceView {
    let view: TraceView = serde_json::from_str(include_str!("view.json")).unwrap();
    TraceView { elapsed_s: 0.39, components, ..view }
}

/// Judges a program of 0.6 s; returns the exit status, the terminal's text and the Markdown.
fn judge(case: &str, components: Components) -> (i32, String, String) {
    judge_view(case, &view(components))
}

/// Judges as [`judge`] does, with a whole report.
fn judge_view(case: &str, view: &TraceView) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("table.md");
    let mut judge = Command::cargo_bin("morecores-accuracy").unwrap();
    judge.args(["judge", "--cpus", "2", "--seconds", "0.6", "--only", case, "--morecores"]);
    judge.arg(reporting(dir.path(), view));
    judge.arg("--dir").arg(dir.path()).arg("--markdown").arg(&table);
    let output = judge.output().unwrap();
    let left: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("morecores-accuracy"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text, fs::read_to_string(table).unwrap_or_default())
}

#[test]
fn a_true_report_is_status_0() {
    // The program sleeps, so its truth does not depend on other processes of the machine. The
    // report names a long elapsed time, of which the CPU time of the program's start is a small
    // share on any machine.
    let components = Components { idle_timer_s: Some(1.2), ..Components::default() };
    let view = TraceView { elapsed_s: 3.9, ..view(components) };
    let (status, text, table) = judge_view("sleeper", &view);
    assert_eq!(status, 0, "{text}");
    assert!(text.ends_with("1 runs ok, 0 missed\n"), "{text}");
    assert!(table.contains("| idle: timer |") && table.contains("| 15.38% | 15.38% |"), "{table}");
}

#[test]
fn a_missed_truth_is_status_1() {
    let components = Components { user_work_s: 0.6, idle_timer_s: Some(0.18), ..Components::default() };
    let (status, text, table) = judge("serial 30%, threads", components);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("MISS") && table.contains("0 runs ok, 1 missed"), "{text}\n{table}");
}

#[test]
fn clocks_of_the_program_reach_the_judge() {
    let (_, text, _) = judge("mutex held 50%", Components::default());
    for part in [" work ", " idle: user lock "] {
        let line = text.lines().find(|line| line.contains(part)).unwrap();
        assert!(line.contains("own clocks") && line.contains("MISS"), "it worked and waited: {line}");
    }
}

#[test]
fn a_stripped_program_is_judged_by_the_places_of_its_functions() {
    let (status, text, _) = judge("serial 30%, stripped Rust", Components::default());
    if text.contains("skipped: serial 30%") {
        return report_skip("a_stripped_program_is_judged_by_the_places_of_its_functions", text.trim());
    }
    assert_eq!(status, 1, "{text}");
    let line = text.lines().find(|line| line.contains(" in compute_alone ")).unwrap();
    assert!(line.contains("construction") && line.contains("MISS"), "it computed: {line}");
}

#[test]
fn clocks_of_a_compiled_program_reach_the_judge() {
    let (status, text, _) = judge("serial 30%, stripped C++", Components::default());
    if text.contains("skipped: serial 30%") {
        return report_skip("clocks_of_a_compiled_program_reach_the_judge", text.trim());
    }
    assert_eq!(status, 1, "{text}");
    let line = text.lines().find(|line| line.contains(" in compute_alone ")).unwrap();
    assert!(line.contains("own clocks") && line.contains("MISS"), "it computed: {line}");
}

#[test]
fn a_missing_compiler_is_a_skip_with_the_reason_and_status_2() {
    let dir = tempfile::tempdir().unwrap();
    let mut judge = Command::cargo_bin("morecores-accuracy").unwrap();
    judge.args(["judge", "--cpus", "1", "--seconds", "0.1", "--only", "serial 30%, stripped C++"]);
    judge.args(["--morecores", "/bin/false", "--dir"]).arg(dir.path()).env("PATH", dir.path());
    let output = judge.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("skipped: serial 30%, stripped C++ on 1 CPUs: cannot start `g++ -O2 "), "{text}");
}

/// Judges a short case with this program as `morecores`; returns the exit status and the terminal's
/// text.
fn judge_with(morecores: &str, case: &str, dir: &Path) -> (i32, String) {
    let mut judge = Command::cargo_bin("morecores-accuracy").unwrap();
    judge.args(["judge", "--cpus", "1", "--seconds", "0.1", "--only", case, "--morecores", morecores]);
    let output = judge.arg("--dir").arg(dir).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_failed_tracer_is_a_miss_with_the_reason_and_status_1() {
    let dir = tempfile::tempdir().unwrap();
    let (status, text) = judge_with("/bin/false", "sleeper", dir.path());
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("MISS: sleeper on 1 CPUs: `/bin/false trace --cpus 1 --json --"), "{text}");
    assert!(text.ends_with("0 runs ok, 1 missed\n"), "{text}");
}

#[test]
fn a_missing_part_of_the_machine_is_a_skip_with_the_reason_and_status_2() {
    // There is no disk: files in this directory are in memory.
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let (status, text) = judge_with("/bin/false", "page cache", dir.path());
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("skipped: file past the page cache on 1 CPUs: "), "{text}");
    assert!(text.ends_with("0 runs ok, 0 missed, 1 skipped\n"), "{text}");
}
