//! Performance of the locks of morecores beside those that programs use today: one study of locks,
//! and its figures beside the targets.
//!
//! The bench asserts nothing: the targets stand beside the figures. `ROUNDS` (11) is the number of
//! rounds. `STUDY` is the path of a study to keep; an existing study is evaluated without measuring
//! again.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;
#[path = "locks/figures.rs"]
mod figures;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use morecores_study::lock::LockStudy;

use common::quiet;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let kept = env::var_os("STUDY").map(PathBuf::from);
    let path = kept.unwrap_or_else(|| directory.path().join("locks.study"));
    if !path.join("study.json").exists() {
        measure(&path);
    }
    let study = LockStudy::read(&path).unwrap();
    for line in figures::lines(&study) {
        println!("{line}");
    }
}

/// Makes the study with the command that any user would type.
fn measure(path: &Path) {
    quiet();
    let rounds = env::var("ROUNDS").unwrap_or_else(|_| "11".to_owned());
    let arguments = ["locks", "-q", "--threads", "1,2,4,8", "--runs", &rounds, "-o"];
    println!("morecores {} {}", arguments.join(" "), path.display());
    let begin = Instant::now();
    let done = Command::new(env!("CARGO_BIN_EXE_morecores")).args(arguments).arg(path).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    println!("measured in {:.0} s\n", begin.elapsed().as_secs_f64());
}
