//! A workload that is killed leaves no process behind.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use morecores_testkit::skipped;

/// How long processes are waited for, on a machine that may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// The processes that `pid` has made, and those that they have made (Documentation/filesystems/proc.rst).
fn made_by(pid: u32) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    let mut next = vec![pid];
    while let Some(pid) = next.pop() {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let children: Vec<u32> = children.split_whitespace().filter_map(|child| child.parse().ok()).collect();
        all.extend(&children);
        next.extend(children);
    }
    Some(all)
}

/// One that has ended and was not waited for runs no more either.
fn runs(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn no_process_outlives_it() {
    let endless = "1000000000000";
    for arguments in [
        &["count", "-t", "2", "--fork", "--each", endless][..],
        &["pipe", "-t", "2", "--operations", endless],
    ] {
        let mut workload = Command::new(env!("CARGO_BIN_EXE_morecores-work"))
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        let mut made = made_by(workload.id());
        while made.as_ref().is_some_and(|made| made.len() < 4) && Instant::now() < deadline {
            sleep(Duration::from_millis(5));
            // One of them may end being read of.
            made = made_by(workload.id()).or(made);
        }
        workload.kill().unwrap();
        workload.wait().unwrap();
        let Some(made) = made else {
            return skipped("no_process_outlives_it", "the kernel lists no children (CONFIG_PROC_CHILDREN)");
        };
        assert_eq!(made.len(), 4, "{arguments:?}");
        while made.iter().any(|pid| runs(*pid)) {
            assert!(Instant::now() < deadline, "{arguments:?}: one of {made:?} is still there");
            sleep(Duration::from_millis(5));
        }
    }
}
