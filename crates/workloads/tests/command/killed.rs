//! A workload that is killed leaves no process behind.

use std::fs;
use std::process::{Command, Stdio};

use morecores_testkit::{report_skip, wait_until};

/// Child processes of `pid` and their descendants (Documentation/filesystems/proc.rst).
fn descendants(pid: u32) -> Option<Vec<u32>> {
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

/// Whether a process runs. A zombie does not run any more.
fn is_running(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn no_process_outlives_the_workload() {
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
        let mut children_seen = descendants(workload.id());
        wait_until("four processes are there", || {
            // One of them may end while `/proc` is read.
            children_seen = descendants(workload.id()).or(children_seen.take());
            children_seen.as_ref().is_none_or(|children_seen| children_seen.len() == 4)
        });
        workload.kill().unwrap();
        workload.wait().unwrap();
        let Some(children_seen) = children_seen else {
            return report_skip(
                "no_process_outlives_the_workload",
                "the kernel lists no children (CONFIG_PROC_CHILDREN)",
            );
        };
        assert_eq!(children_seen.len(), 4, "{arguments:?}");
        wait_until("all of them are gone", || !children_seen.iter().any(|pid| is_running(*pid)));
    }
}
