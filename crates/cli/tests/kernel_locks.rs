//! Tests the statements of docs/workloads/kernel-locks.md against the lock table of a trace.
#![cfg(feature = "trace")]

mod harness;

use std::path::Path;

use harness::{World, report_skip, usable_cpus};
use serde_json::Value;

/// Largest number of attempts to see two threads meet. One attempt is enough if both threads have a
/// CPU. On a machine with other users they may not run at once for a long time, and then the test
/// is skipped.
const TRIES: usize = 20;

/// Argument of `--lock`, number of operations for some tenths of a second, kind of the lock, and
/// callers that wait for it. The callers have their names in Linux 6.18 and in earlier versions.
const PROMISED: [(&str, &str, &str, &[&str]); 8] = [
    ("dentry", "20000", "rwsem", &["path_openat", "open_last_lookups", "do_unlinkat", "do_filp_open"]),
    ("file-offset", "200000", "mutex", &["fdget_pos", "__fdget_pos"]),
    ("mmap", "50000", "rwsem", &["vm_mmap_pgoff", "__vm_munmap"]),
    ("page-fault", "50000", "rwsem", &["lock_mm_and_find_vma", "do_user_addr_fault"]),
    ("futex", "500000", "spinlock", &["futex_wake_op"]),
    ("pipe", "200000", "mutex", &["anon_pipe_write", "anon_pipe_read", "pipe_write", "pipe_read"]),
    ("fork", "1000", "rwlock", &["copy_process", "__do_wait", "do_wait", "release_task", "do_exit"]),
    ("socket", "200000", "mutex", &["unix_stream_read_generic"]),
];

/// Whether two threads can be seen to wait for each other here. The reason is noted if not.
fn can_see(world: &World, test: &str) -> bool {
    let work = Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-work");
    if usable_cpus() < 2 {
        report_skip(test, "one CPU: nobody waits for a lock whose holder runs");
    } else if !work.exists() {
        report_skip(test, "morecores-work is not built; `cargo test --workspace` builds it");
    } else {
        let ran = world.morecores(&["trace", "--json", "--", "true"]);
        let source = serde_json::from_str::<Value>(&ran.stdout).map(|trace| trace["source"] == "bpf");
        if source.unwrap_or(false) {
            return true;
        }
        report_skip(test, ran.stderr.lines().next().unwrap_or("no full trace here"));
    }
    false
}

/// Makes a traced run on this number of CPUs with as many threads.
fn traced(world: &World, cpus: &str, lock: &str, operations: &str) -> Value {
    let work = [env!("CARGO_BIN_EXE_morecores"), "work", "kernel-locks", "--threads", cpus];
    let options = ["trace", "--json", "--cpus", cpus, "--"];
    let ran = world.morecores(&[&options[..], &work, &["--lock", lock, "--operations", operations]].concat());
    serde_json::from_str(&ran.success().stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"))
}

/// Whether a trace shows spinning for a native spinlock if only two threads wait. It does so only
/// under some hypervisors.
fn spins_are_traced(world: &World) -> bool {
    world.morecores(&["doctor", "--quick"]).stdout.contains("for spinlocks too")
}

#[test]
fn the_lock_table_names_each_promised_lock_by_its_caller() {
    const NAME: &str = "the_lock_table_names_each_promised_lock_by_its_caller";
    let world = World::new();
    if !can_see(&world, NAME) {
        return;
    }
    let spins = spins_are_traced(&world);
    let mut unseen = Vec::new();
    for (lock, operations, kind, callers) in PROMISED {
        if kind == "spinlock" && !spins {
            unseen.push(format!("{lock} (the first waiter for a native spinlock is not traced)"));
            continue;
        }
        // Callers of waits for a lock of this kind. A promised caller ends the search; other
        // callers may occur too.
        let mut seen = Vec::new();
        let promised = (0..TRIES).any(|_| {
            let trace = traced(&world, "2", lock, operations);
            let rows = trace["locks"].as_array().expect("locks").iter();
            seen.extend(rows.filter(|row| row["kind"] == kind).map(|row| row["caller"].clone()));
            seen.iter().any(|caller| caller.as_str().is_some_and(|caller| callers.contains(&caller)))
        });
        if !promised && seen.is_empty() {
            unseen.push(format!("{lock} (its threads never met in {TRIES} traces)"));
        } else {
            assert!(promised, "{lock}: {seen:?} waited for a {kind}, and none of {callers:?}");
        }
    }
    if !unseen.is_empty() {
        report_skip(NAME, &format!("in part: {}", unseen.join(", ")));
    }
}

#[test]
fn waits_for_a_lock_are_part_of_the_time() {
    const NAME: &str = "waits_for_a_lock_are_part_of_the_time";
    let world = World::new();
    if !can_see(&world, NAME) {
        return;
    }
    for _ in 0..TRIES {
        let trace = traced(&world, "2", "file-offset", "200000");
        let ratio = trace["waiting_ratio"].as_f64().expect("a ratio");
        assert!((0.0..=1.0).contains(&ratio), "{ratio}");
        let rows = trace["locks"].as_array().expect("locks");
        if rows.iter().any(|row| row["kind"] == "mutex") {
            assert!(ratio > 0.0, "{rows:?}");
            return;
        }
    }
    report_skip(NAME, "the threads never met: the machine is busy with something else");
}
