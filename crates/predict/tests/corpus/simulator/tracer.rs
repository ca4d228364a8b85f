//! Tracer of simulated runs: it produces the events of `TraceSource::Bpf`, optionally with system
//! calls, and the header.
//!
//! The tracer follows the rules of the real tracer's kernel side. Some things are not simulated and
//! so not in the events: time in interrupts, samples, other processes, and the cost of tracing.

use std::collections::BTreeMap;

use morecores_study::trace::{
    Accounts, Call, Comm, Contention, Event, EventKind, Exec, Fork, FutexWait, KernelFrame, KnownLock,
    KnownThread, LockFlags, Object, PrevState, Switch, SystemCall, TRACE_SCHEMA, ThreadExit, Tid, TraceFacts,
    TraceHeader, TraceSource, Waker, Waking,
};
use morecores_study::{CpuEstimator, CpuId, CpuTime, Nanos, Point, Run};

use super::effects::AwaitedFutex;
use super::{LockKind, Program, ROOT, Size, TICK, TraceDetail};

/// `CLOCK_MONOTONIC` in nanoseconds at the main process's exec.
const BEGAN: u64 = 1_000_000_000_000;
/// Time in nanoseconds from the main process's fork to its exec; it runs for half of this time.
const BEFORE_EXEC: u64 = 1_000_000;
/// Process that started the main process.
const SHELL: u32 = 50;
/// Operation of a futex call: `FUTEX_WAIT` and `FUTEX_PRIVATE_FLAG`.
const FUTEX_WAIT_PRIVATE: u32 = 128;
/// Kernel's ancestors of processes and of kernel threads.
const INIT: u32 = 1;
const KTHREADD: u32 = 2;

/// Wait for a kernel lock from which the tracer always records the stack; of shorter waits it
/// records one stack in `STACK_SHARE` (`LONG_WAIT` and `STACK_SHARE` of the tracer).
const LONG_WAIT: Nanos = Nanos(10_000);
const STACK_SHARE: u32 = 10;

/// Trace of a run.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) header: TraceHeader,
    pub(crate) events: Vec<Event>,
}

pub(super) struct Tracer {
    mode: TraceDetail,
    events: Vec<Event>,
    contentions: BTreeMap<usize, u32>,
}

impl Tracer {
    pub(super) fn new(mode: TraceDetail) -> Self {
        Self { mode, events: Vec::new(), contentions: BTreeMap::new() }
    }

    fn push(&mut self, at: u64, cpu: usize, kind: EventKind) {
        if self.mode != TraceDetail::Untraced {
            self.events.push(Event { at: Nanos(BEGAN + at), cpu: CpuId(cpu as u32), kind });
        }
    }

    /// Records the start of the main process: its creation, a short run on the first CPU, and its
    /// exec.
    pub(super) fn record_start(&mut self) {
        let root = Tid(ROOT);
        let mut at = |before: u64, kind| {
            self.push(0, 0, kind);
            if let Some(event) = self.events.last_mut() {
                event.at = Nanos(BEGAN - before);
            }
        };
        at(BEFORE_EXEC, EventKind::Fork(Fork { parent: Tid(SHELL), child: root, process: root }));
        let by = Waker::Thread(Tid(SHELL));
        at(BEFORE_EXEC, EventKind::Waking(Waking { tid: root, by, io_wait: false }));
        at(BEFORE_EXEC / 2, EventKind::Switch(from_idle(root)));
        let accounts = accounts(root, Accounts::default());
        at(0, EventKind::Exec(Exec { tid: root, was: root, name: Comm::new("program"), accounts }));
    }

    pub(super) fn switch_from_idle(&mut self, at: u64, cpu: usize, next: Tid) {
        self.push(at, cpu, EventKind::Switch(from_idle(next)));
    }

    /// Records the switch from `prev`, with its CPU time, to `next`. A waiting thread has its
    /// system call and its futex.
    pub(super) fn switch(
        &mut self,
        at: u64,
        cpu: usize,
        (prev, runtime): (Tid, u64),
        (prev_state, call, awaits): (PrevState, Option<u16>, Option<AwaitedFutex>),
        next: Option<Tid>,
    ) {
        if let Some(AwaitedFutex { address, expected }) = awaits {
            let wait = FutexWait { operation: FUTEX_WAIT_PRIVATE, expected };
            self.push(at, cpu, EventKind::FutexWait { tid: prev, wait });
            self.push(at, cpu, EventKind::Awaits { tid: prev, object: Object::Futex(address) });
        }
        let switch = Switch {
            prev,
            prev_state,
            call: call.map_or(Call::Unknown, Call::Number),
            prev_runtime: runtime_of(prev, Nanos(runtime)),
            interrupts: Nanos::ZERO,
            next: next.unwrap_or(Tid::IDLE),
        };
        self.push(at, cpu, EventKind::Switch(switch));
    }

    pub(super) fn waking(&mut self, at: u64, cpu: usize, tid: Tid, by: Waker, io_wait: bool) {
        self.push(at, cpu, EventKind::Waking(Waking { tid, by, io_wait }));
    }

    pub(super) fn fork(&mut self, at: u64, cpu: usize, parent: Tid, child: Tid, process: Tid) {
        self.push(at, cpu, EventKind::Fork(Fork { parent, child, process }));
    }

    pub(super) fn exec(&mut self, at: u64, cpu: usize, tid: Tid, name: &str, so_far: Accounts) {
        let (name, accounts) = (Comm::new(name), accounts(tid, so_far));
        self.push(at, cpu, EventKind::Exec(Exec { tid, was: tid, name, accounts }));
    }

    pub(super) fn exit(&mut self, at: u64, cpu: usize, tid: Tid, so_far: Accounts) {
        let accounts = accounts(tid, so_far);
        self.push(at, cpu, EventKind::Exit(ThreadExit { tid, accounts }));
    }

    pub(super) fn contention(
        &mut self,
        at: u64,
        cpu: usize,
        tid: Tid,
        (lock, kind): (usize, LockKind),
        waited: Nanos,
    ) {
        let count = self.contentions.entry(cpu).or_default();
        let mut stacked = waited >= LONG_WAIT;
        if !stacked {
            *count += 1;
            stacked = count.is_multiple_of(STACK_SHARE);
        }
        let flags = if kind == LockKind::Spin { LockFlags::SPIN } else { LockFlags::WRITE };
        let contention = Contention {
            tid,
            lock: 0xffff_8880_0000_1000 + 64 * lock as u64,
            waited,
            flags: LockFlags(flags),
            known: KnownLock::None,
            stack: stacked.then_some(lock as u32),
        };
        self.push(at, cpu, EventKind::Contention(contention));
    }

    pub(super) fn system_call(
        &mut self,
        at: u64,
        cpu: usize,
        tid: Tid,
        (number, object, result): (u16, Object, i64),
        took: Nanos,
    ) {
        if self.mode == TraceDetail::Exact {
            let call = SystemCall { tid, number, took, result, object };
            self.push(at, cpu, EventKind::SystemCall(call));
        }
    }

    /// Completes the trace with its header after the run.
    pub(super) fn finish(
        mut self,
        program: &Program,
        size: Size,
        elapsed: Nanos,
        all: Nanos,
        system_ns: Nanos,
    ) -> Trace {
        let known = |tid: u32, name: &str, kernel| KnownThread {
            tid: Tid(tid),
            process: Tid(tid),
            name: name.to_owned(),
            kernel,
        };
        // A reader of the stream returns the events in this order.
        self.events.sort_by_key(|event| (event.at, event.cpu));
        let point = Point { n: size.n, ..morecores_testkit::point(size.cpus) };
        let run = Run {
            phase: morecores_study::Phase::Traced,
            cpu: CpuTime { user_ns: all.since(system_ns), system_ns, estimator: CpuEstimator::Cgroup },
            ..morecores_testkit::run(&point, elapsed)
        };
        let locks = program.locks.iter().enumerate().filter(|(_, lock)| lock.kind != LockKind::Futex);
        let stack = |lock: usize| vec![KernelFrame { symbol: format!("lock_of_{lock}"), offset: 0x10 }];
        let device = program.device.map(|device| (device.interrupt, "virtio0-req.0".to_owned()));
        let header = TraceHeader {
            schema: TRACE_SCHEMA.to_owned(),
            run,
            repetition: 0,
            began_ns: Nanos(BEGAN),
            ended_ns: Nanos(BEGAN) + elapsed,
            facts: TraceFacts {
                source: match self.mode {
                    TraceDetail::Exact => TraceSource::BpfWithSystemCalls,
                    TraceDetail::Traced | TraceDetail::Untraced => TraceSource::Bpf,
                },
                root: Tid(ROOT),
                known: vec![
                    known(INIT, "systemd", false),
                    known(KTHREADD, "kthreadd", true),
                    known(SHELL, "bash", false),
                ],
                events: self.events.len() as u64,
                lost: Vec::new(),
                missed: 0,
                tracer: Vec::new(),
                costs: Vec::new(),
                sample_period_ns: None,
                tick_ns: Nanos(TICK),
                interrupts_accounted: false,
                held_is_told: true,
                wake_latency_ns: None,
                stack_share: Some(STACK_SHARE),
                stacks: locks.map(|(index, _)| (index as u32, stack(index))).collect(),
                modules: Vec::new(),
                functions: Vec::new(),
                source_map: Default::default(),
                generated: Vec::new(),
                variables: Vec::new(),
                lock_uses: None,
                interrupts: device.into_iter().collect(),
                untraced: Vec::new(),
            },
            unknown: serde_json::Map::new(),
        };
        Trace { header, events: self.events }
    }
}

fn from_idle(next: Tid) -> Switch {
    Switch {
        prev: Tid::IDLE,
        prev_state: PrevState::Preempted,
        call: Call::Unknown,
        prev_runtime: Nanos::ZERO,
        interrupts: Nanos::ZERO,
        next,
    }
}

/// CPU time of a thread, including the main process's time before its exec.
fn runtime_of(tid: Tid, runtime: Nanos) -> Nanos {
    if tid == Tid(ROOT) { runtime + Nanos(BEFORE_EXEC / 2) } else { runtime }
}

fn accounts(tid: Tid, so_far: Accounts) -> Accounts {
    Accounts { runtime: runtime_of(tid, so_far.runtime), ..so_far }
}
