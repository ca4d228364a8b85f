//! Traces real commands for the tests.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use morecores_study::CpuSet;
use morecores_study::trace::{Event, EventKind, Tid, TraceFacts, Waker, Waking};
use morecores_testkit::report_skip;
use morecores_trace::{Options, TraceError, Tracer};

/// Result of a traced command.
pub(crate) struct TracedRun {
    /// Events in the order of time.
    pub(crate) events: Vec<Event>,
    pub(crate) recorded: TraceFacts,
    pub(crate) tracer: Tracer,
}

/// All online CPUs.
pub(crate) fn all_cpus() -> CpuSet {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    text.trim().parse().unwrap()
}

/// Traces `sh -c script` on all CPUs; none if this machine permits no tracing, which is noted under
/// `test`.
pub(crate) fn trace(test: &str, script: &str) -> Option<TracedRun> {
    trace_with(test, &Options::new(all_cpus()), Command::new("sh").args(["-c", script]))
}

pub(crate) fn trace_with(test: &str, options: &Options, command: &mut Command) -> Option<TracedRun> {
    let mut tracer = match Tracer::open(options) {
        Ok(tracer) if tracer.bpf_refusal().is_none() => tracer,
        Ok(tracer) => {
            report_skip(test, &tracer.bpf_refusal().map(ToString::to_string).unwrap_or_default());
            return None;
        }
        Err(
            error @ (TraceError::NoBtf
            | TraceError::Refused
            | TraceError::NoTracepoint(_)
            | TraceError::TooOld),
        ) => {
            report_skip(test, &error.to_string());
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let events = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    let sink = Box::new(move |_, some: &[Event]| {
        kept.lock().unwrap().extend_from_slice(some);
        Ok(())
    });
    tracer.begin(sink).unwrap();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    let recorded = tracer.end().unwrap();
    assert!(status.success(), "{status}");
    let mut events = std::mem::take(&mut *events.lock().unwrap());
    events.sort_by_key(|event| event.at);
    assert_eq!(events.len() as u64, recorded.events);
    Some(TracedRun { events, recorded, tracer })
}

impl TracedRun {
    /// Threads of the tree, according to the forks.
    pub(crate) fn tree(&self) -> Vec<Tid> {
        let mut tree = vec![self.recorded.root];
        for event in &self.events {
            if let EventKind::Fork(fork) = &event.kind
                && tree.contains(&fork.parent)
            {
                tree.push(fork.child);
            }
        }
        tree
    }

    /// Thread that became the program of this name; the last one if there are several.
    pub(crate) fn program(&self, name: &str) -> Tid {
        let found = self.events.iter().rev().find_map(|event| match &event.kind {
            EventKind::Exec(exec) if exec.name.to_string() == name => Some(exec.tid),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("{name} was not seen to start"))
    }

    /// Source of each of a thread's wake-ups.
    pub(crate) fn wakers(&self, tid: Tid) -> Vec<Waker> {
        self.wakings(tid).map(|waking| waking.by).collect()
    }

    pub(crate) fn wakings(&self, tid: Tid) -> impl Iterator<Item = &Waking> {
        self.events.iter().filter_map(move |event| match &event.kind {
            EventKind::Waking(waking) if waking.tid == tid => Some(waking),
            _ => None,
        })
    }
}
