//! Threads that the kernel makes in a process of the tree, for io_uring, belong to the tree.

use std::collections::HashSet;
use std::process::Command;

use crate::support::{TracedRun, all_cpus, trace_with};
use morecores_study::Nanos;
use morecores_study::trace::{EventKind, Tid};
use morecores_testkit::{CProgram, report_skip};
use morecores_trace::Options;

/// Traces the program `uring`; none if this is impossible, which is noted under `test`. Also
/// returns the CPU time of the whole process, as the kernel accounted it shortly before the end.
fn trace_uring(test: &str) -> Option<(TracedRun, Nanos)> {
    let program = CProgram::compile("uring", include_str!("../uring.c"));
    let told = tempfile::NamedTempFile::new().unwrap();
    // This checks that io_uring is available, before the trace, which requires a command that
    // succeeds.
    let status = Command::new(program.path()).arg("1").arg(told.path()).status().unwrap();
    if status.code() == Some(77) {
        report_skip(test, "io_uring is switched off or not there");
        return None;
    }
    let mut command = Command::new(program.path());
    command.arg("100").arg(told.path());
    let traced = trace_with(test, &Options::new(all_cpus()), &mut command)?;
    let text = std::fs::read_to_string(told.path()).unwrap();
    Some((traced, Nanos(text.trim().parse().unwrap())))
}

#[test]
fn workers_of_io_uring_belong_to_the_tree() {
    const NAME: &str = "workers_of_io_uring_belong_to_the_tree";
    let Some((traced, cpu_time)) = trace_uring(NAME) else { return };
    let tree: HashSet<Tid> = traced.tree().into_iter().collect();
    let mut accounted = Nanos::ZERO;
    for event in &traced.events {
        if let EventKind::Exit(exit) = &event.kind
            && tree.contains(&exit.tid)
        {
            accounted += exit.accounts.runtime;
        }
    }
    // The process's time is the sum of its threads' times, and it is reported before they end.
    assert!(accounted >= cpu_time, "{accounted:?} of the tree, {cpu_time:?} of the process");
    let worker = traced.events.iter().find_map(|event| match &event.kind {
        EventKind::Rename { tid, name } if name.to_string().starts_with("iou-wrk") => Some(*tid),
        _ => None,
    });
    let worker = worker.expect("a worker names itself");
    let fork = traced.events.iter().find_map(|event| match &event.kind {
        EventKind::Fork(fork) if fork.child == worker => Some(*fork),
        _ => None,
    });
    assert_eq!(fork.map(|fork| fork.process), Some(traced.recorded.root));
}
