//! What the page of `kernel-locks` promises, held against the lock table of a trace: docs/workloads/kernel-locks.md.
#![cfg(feature = "trace")]

mod harness;

use std::path::Path;

use harness::{World, skipped, usable_cpus};
use serde_json::Value;

/// Tries to see two threads meet. One is enough where both have a CPU; on a machine that others use as well they may
/// not run at once for a long time.
const TRIES: usize = 40;

/// `--lock`, operations that take some tenths of a second, kind of the lock, and callers that wait for it: by their
/// names in Linux 6.18, and earlier ones.
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

/// Whether two threads can be seen to wait for each other here; the reason is noted where not.
fn can_see(world: &World, test: &str) -> bool {
    let work = Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-work");
    if usable_cpus() < 2 {
        skipped(test, "one CPU: nobody waits for a lock whose holder runs");
    } else if !work.exists() {
        skipped(test, "morecores-work is not built; `cargo test --workspace` builds it");
    } else {
        let ran = world.morecores(&["trace", "--json", "--", "true"]);
        let source = serde_json::from_str::<Value>(&ran.stdout).map(|trace| trace["source"] == "bpf");
        if source.unwrap_or(false) {
            return true;
        }
        skipped(test, ran.stderr.lines().next().unwrap_or("no full trace here"));
    }
    false
}

/// A traced run on so many CPUs with as many threads.
fn traced(world: &World, cpus: &str, lock: &str, operations: &str) -> Value {
    let work = [env!("CARGO_BIN_EXE_morecores"), "work", "kernel-locks", "--threads", cpus];
    let options = ["trace", "--json", "--cpus", cpus, "--"];
    let ran = world.morecores(&[&options[..], &work, &["--lock", lock, "--operations", operations]].concat());
    serde_json::from_str(&ran.success().stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"))
}

/// Whether spinning for a native spinlock is traced where only two wait, which it is not outside some hypervisors.
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
    for (lock, operations, kind, callers) in PROMISED {
        if kind == "spinlock" && !spins {
            skipped(NAME, "spinning of the first waiter for a native spinlock is not traced");
            continue;
        }
        let seen = (0..TRIES).any(|_| {
            let trace = traced(&world, "2", lock, operations);
            let locks = trace["locks"].as_array().expect("locks");
            locks.iter().any(|row| {
                row["kind"] == kind && row["caller"].as_str().is_some_and(|caller| callers.contains(&caller))
            })
        });
        assert!(seen, "{lock}: no wait for a {kind} by any of {callers:?} in {TRIES} traces");
    }
}

#[test]
fn more_of_the_time_is_spent_waiting_on_more_cpus() {
    const NAME: &str = "more_of_the_time_is_spent_waiting_on_more_cpus";
    let world = World::new();
    if !can_see(&world, NAME) {
        return;
    }
    let ratio =
        |cpus| traced(&world, cpus, "file-offset", "200000")["waiting_ratio"].as_f64().expect("a ratio");
    // One thread alone has nobody to wait for; what is left is the start of the process.
    let alone = ratio("1");
    assert!(alone < 0.01, "{alone}");
    let together = (0..TRIES).map(|_| ratio("2")).find(|together| *together > alone + 0.01);
    assert!(together.is_some(), "never more than on one CPU, {alone}, by a hundredth");
}
