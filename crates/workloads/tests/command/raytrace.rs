//! `raytrace`.

use std::process::Command;

use morecores_testkit::{TestGroup, report_skip, skips_group};

use crate::{assert_refused, output, word_after, work};

/// Whether POV-Ray is installed; reports it if it is not.
fn has_povray(test: &str) -> bool {
    if skips_group(test, TestGroup::Raytrace) {
        return false;
    }
    let there = Command::new("povray").arg("--version").output().is_ok();
    if !there {
        report_skip(test, &TestGroup::Raytrace.missing_program("povray"));
    }
    there
}

#[test]
fn any_number_of_threads_gives_the_same_picture() {
    if !has_povray("any_number_of_threads_gives_the_same_picture") {
        return;
    }
    let crc = |threads| {
        let line = output(&format!("raytrace --width 120 --height 90 --threads {threads}"));
        assert!(line.ends_with("(a strip was traced again)\n") && line.contains(" pixels/s, "), "{line}");
        word_after(&line, "crc32").to_owned()
    };
    let expected = crc(1);
    for threads in [2, 5] {
        assert_eq!(crc(threads), expected, "{threads}");
    }
}

#[test]
fn nothing_is_left_in_the_temporary_directory() {
    if !has_povray("nothing_is_left_in_the_temporary_directory") {
        return;
    }
    let parent = std::env::temp_dir().join(format!("raytrace-test-{}", std::process::id()));
    std::fs::create_dir(&parent).unwrap();
    work("raytrace --width 20 --height 16").env("TMPDIR", &parent).assert().success();
    // The removal fails if a file is left.
    std::fs::remove_dir(&parent).unwrap();
}

#[test]
fn a_missing_povray_is_one_clear_line() {
    let assert = work("raytrace").env("PATH", "/nonexistent").assert().code(2).stdout("");
    assert.stderr("morecores-work: POV-Ray is not installed; install it with: apt-get install povray\n");
}

#[test]
fn a_povray_that_fails_is_one_clear_line() {
    let parent = std::env::temp_dir().join(format!("raytrace-fails-{}", std::process::id()));
    std::fs::create_dir(&parent).unwrap();
    std::os::unix::fs::symlink("/bin/false", parent.join("povray")).unwrap();
    let assert = work("raytrace").env("PATH", &parent).assert().code(2).stdout("");
    assert.stderr("morecores-work: POV-Ray failed: exit status: 1: it printed nothing\n");
    std::fs::remove_dir_all(&parent).unwrap();
}

#[test]
fn bad_arguments_are_refused_before_anything_runs() {
    assert_refused(&[
        ("raytrace --threads 0", "0 is not in 1..=8192"),
        ("raytrace --height 15", "15 is not in 16..=32768"),
        ("raytrace --width 0", "0 is not in"),
        ("raytrace --scene teapot", "vase, benchmark"),
    ]);
}
