//! Searches and plain runs of one program.
#![allow(clippy::expect_used, reason = "a panic is how a bench fails")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Findings of a search; `None` if the search was impossible, as for a program that always fails.
pub(crate) fn search(command: &[OsString], arguments: &[&str], directory: &Path) -> Option<Value> {
    let output = directory.join("search.shake");
    // Findings of an earlier search must not be taken for those of this one.
    let _ = fs::remove_dir_all(&output);
    let status = Command::new(env!("CARGO_BIN_EXE_morecores-shake"))
        .arg("--quiet")
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .arg("--")
        .args(command)
        .stdout(Stdio::null())
        .status()
        .expect("the search starts");
    match status.code() {
        Some(0 | 3) => {
            let findings = fs::read(output.join("findings.json")).expect("findings");
            Some(serde_json::from_slice(&findings).expect("JSON"))
        }
        Some(2) => None,
        _ => panic!("{command:?}: {status}"),
    }
}

/// Failures of plain runs.
pub(crate) fn plain_failures(command: &[OsString], runs: u32, timeout: Duration) -> u32 {
    (0..runs).map(|_| u32::from(!succeeds(command, timeout))).sum()
}

fn succeeds(command: &[OsString], timeout: Duration) -> bool {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let deadline = Instant::now() + timeout;
    loop {
        match child.try_wait().expect("a child") {
            Some(status) => return status.success(),
            None if Instant::now() > deadline => {
                end(child);
                return false;
            }
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// Ends a child.
pub(crate) fn end(mut child: Child) {
    if !child.try_wait().is_ok_and(|status| status.is_some()) {
        std::thread::sleep(Duration::from_millis(20));
        let _ = child.kill();
    }
    let _ = child.wait();
}
