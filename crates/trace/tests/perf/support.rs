//! Runs a command under the tracer, and checks properties that hold for every trace.
#![allow(clippy::unwrap_used)] // Clippy exempts only functions with a test attribute.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};

use morecores_study::trace::{Event, EventKind, Fork, PrevState, Tid};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_testkit::CProgram;
use morecores_trace::perf::{PerfError, PerfSummary, PerfTracer};

/// `tests/perf/program.c`, compiled once.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: LazyLock<CProgram> =
        LazyLock::new(|| CProgram::compile("program", include_str!("program.c")));
    PROGRAM.path()
}

/// A thread's own account at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    pub(crate) runtime: Nanos,
    /// Number of times that the thread left a CPU.
    pub(crate) switches: u64,
}

/// A traced command.
pub(crate) struct TracedRun {
    pub(crate) events: Vec<Event>,
    pub(crate) recorded: PerfSummary,
    /// Process number of the command, as its parent knows it.
    pub(crate) pid: Tid,
    pub(crate) stdout: String,
}

/// The tracer, or the reason why it cannot be opened here.
pub(crate) fn tracer() -> Result<PerfTracer, String> {
    match PerfTracer::open(&CpuSet::new()) {
        Ok(tracer) => Ok(tracer),
        Err(error @ (PerfError::Paranoid { .. } | PerfError::Refused { .. } | PerfError::Absent)) => {
            Err(error.to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

/// Traces `command` until it has ended.
pub(crate) fn trace(tracer: &mut PerfTracer, command: &mut Command) -> TracedRun {
    trace_then(tracer, command, |_| (), || ())
}

/// Traces `command`. `look` is called with each batch, on the reader's thread. `then` is called
/// after the command has ended and before its trace ends.
pub(crate) fn trace_then<L>(
    tracer: &mut PerfTracer,
    command: &mut Command,
    mut look: L,
    then: impl FnOnce(),
) -> TracedRun
where
    L: FnMut(&[Event]) + Send + 'static,
{
    let events = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    tracer
        .begin(move |cpu: CpuId, batch: &[Event]| {
            assert!(!batch.is_empty() && batch.iter().all(|event| event.cpu == cpu));
            kept.lock().unwrap().extend_from_slice(batch);
            look(batch);
            Ok(())
        })
        .unwrap();
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let pid = Tid(child.id());
    let output = child.wait_with_output().unwrap();
    then();
    let recorded = tracer.end().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut events = Arc::into_inner(events).expect("the reader is gone").into_inner().unwrap();
    assert_eq!(recorded.events, events.len() as u64);
    // Each CPU's events arrive in order, and the stable sort keeps this order.
    events.sort_by_key(|event| event.at);
    TracedRun { events, recorded, pid, stdout }
}

impl TracedRun {
    /// Accounts that the threads printed on standard output.
    pub(crate) fn accounts(&self) -> BTreeMap<Tid, Account> {
        let line = |line: &str| {
            let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let account = Account { runtime: Nanos::from_micros(numbers[1]), switches: numbers[2] };
            (Tid(u32::try_from(numbers[0]).unwrap()), account)
        };
        self.stdout.lines().map(line).collect()
    }

    /// Asserts that nothing was lost, the root is the command, and each thread's life is complete:
    /// the thread is made, comes to a CPU and leaves that CPU in turns, and is gone at the end.
    pub(crate) fn assert_complete(&self) -> &Self {
        assert_eq!(self.recorded.lost, []);
        assert_eq!(self.recorded.root, Some(self.pid));
        let mut lives: BTreeMap<Tid, Vec<&Event>> = BTreeMap::new();
        let mut came: BTreeMap<CpuId, Tid> = BTreeMap::new();
        for event in &self.events {
            let tid = match &event.kind {
                EventKind::Fork(fork) => fork.child,
                EventKind::Switch(switch) if switch.prev == Tid::UNSEEN => {
                    assert_eq!(came.insert(event.cpu, switch.next), None, "two at once: {event:?}");
                    switch.next
                }
                EventKind::Switch(switch) => {
                    assert_eq!(switch.next, Tid::UNSEEN);
                    let came_as = came.remove(&event.cpu).unwrap();
                    if came_as != switch.prev {
                        let life = lives.remove(&came_as).unwrap();
                        lives.insert(switch.prev, life);
                    }
                    switch.prev
                }
                EventKind::Exec(exec) => {
                    // The rest of the life of `was` has the other number, possibly for a while
                    // already.
                    if let Some(was) = lives.remove(&exec.was) {
                        lives.insert(exec.tid, was);
                    }
                    came.insert(event.cpu, exec.tid);
                    continue;
                }
                EventKind::Exit(_)
                | EventKind::Rename { .. }
                | EventKind::Mapping(_)
                | EventKind::Frame(_)
                | EventKind::UserStack(_)
                | EventKind::Sample(_) => continue,
                other => panic!("{other:?}"),
            };
            lives.entry(tid).or_default().push(event);
        }
        for (tid, life) in &lives {
            let mut on = None;
            assert!(matches!(life[0].kind, EventKind::Fork(_)), "{tid:?}: {life:?}");
            for event in &life[1..] {
                let EventKind::Switch(switch) = event.kind else { panic!("{tid:?}: {event:?}") };
                if switch.prev == Tid::UNSEEN {
                    assert_eq!(on.replace(event.cpu), None, "{tid:?} is on two CPUs: {event:?}");
                } else {
                    assert_eq!(on.take(), Some(event.cpu), "{tid:?} is not there: {event:?}");
                }
            }
            let last = &life[life.len() - 1].kind;
            assert!(
                matches!(last, EventKind::Switch(s) if s.prev_state == PrevState::Dead),
                "{tid:?}: {last:?}"
            );
        }
        self
    }

    pub(crate) fn forks(&self) -> Vec<Fork> {
        let fork = |event: &Event| match event.kind {
            EventKind::Fork(fork) => Some(fork),
            _ => None,
        };
        self.events.iter().filter_map(fork).collect()
    }

    /// Names of the programs that processes executed, by process.
    pub(crate) fn programs(&self) -> Vec<(Tid, String)> {
        let program = |event: &Event| match event.kind {
            EventKind::Exec(exec) => Some((exec.tid, exec.name.to_string())),
            _ => None,
        };
        self.events.iter().filter_map(program).collect()
    }

    /// Time of the thread on a CPU.
    pub(crate) fn runtime(&self, tid: Tid) -> Nanos {
        let mut since = Nanos::ZERO;
        let mut sum = Nanos::ZERO;
        for event in &self.events {
            match event.kind {
                EventKind::Switch(switch) if switch.next == tid => since = event.at,
                EventKind::Switch(switch) if switch.prev == tid => sum += event.at.since(since),
                _ => {}
            }
        }
        sum
    }

    /// Number of times that the thread left the CPU, without its end.
    pub(crate) fn departures(&self, tid: Tid) -> u64 {
        let leaves = |event: &&Event| matches!(event.kind, EventKind::Switch(s) if s.prev == tid && s.prev_state != PrevState::Dead);
        self.events.iter().filter(leaves).count() as u64
    }
}
