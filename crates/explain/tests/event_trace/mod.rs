//! Traces built event by event, so that every figure of their view is known beforehand. Times are
//! microseconds since the run began.
// Each test binary includes this module and uses a part of it.
#![allow(dead_code)]

use std::collections::HashMap;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_study::trace::*;
use morecores_study::*;
use morecores_view::*;

use crate::studies;

/// Time of the beginning of each run: the clock does not start with the run.
const BEGAN: u64 = 1_000_000_000;
/// The main process.
pub(crate) const ROOT: u32 = 100;
/// A process outside the tree.
pub(crate) const PEER: u32 = 50;

/// Builder of a trace. The builder knows the thread on each CPU, so that an event names only the
/// change.
pub(crate) struct EventTrace {
    pub(crate) header: TraceHeader,
    pub(crate) events: Vec<Event>,
    on: HashMap<u32, u32>,
    since: HashMap<u32, u64>,
    runtime: HashMap<u32, u64>,
}

fn at(us: u64) -> Nanos {
    Nanos(BEGAN + us * 1000)
}

/// CPU time and ticks, in microseconds.
pub(crate) fn accounts(user: u64, system: u64) -> Accounts {
    let ns = |us: u64| Nanos(us * 1000);
    Accounts { runtime: ns(user + system), user: ns(user), system: ns(system), ..Accounts::default() }
}

impl EventTrace {
    /// A run of this length on the first CPUs. The main process execs `main` at its beginning, on
    /// CPU 0, and a `daemon` exists outside the tree.
    pub(crate) fn new(cpus: u32, elapsed_us: u64) -> Self {
        let made = studies::study(&[cpus]);
        let header = TraceHeader {
            schema: TRACE_SCHEMA.into(),
            run: studies::run(&made, cpus, elapsed_us as f64 / 1e6),
            repetition: 0,
            began_ns: at(0),
            ended_ns: at(elapsed_us),
            facts: TraceFacts {
                source: TraceSource::Bpf,
                root: Tid(ROOT),
                known: vec![
                    KnownThread { tid: Tid(1), process: Tid(1), name: "starter".into(), kernel: false },
                    KnownThread { tid: Tid(PEER), process: Tid(PEER), name: "daemon".into(), kernel: false },
                ],
                events: 0,
                lost: Vec::new(),
                missed: 0,
                tracer: Vec::new(),
                costs: Vec::new(),
                sample_period_ns: Some(Nanos::from_millis(5)),
                tick_ns: Nanos::from_millis(4),
                interrupts_accounted: false,
                held_is_told: true,
                wake_latency_ns: None,
                stack_share: Some(10),
                stacks: Default::default(),
                modules: Vec::new(),
                functions: Vec::new(),
                source_map: Default::default(),
                generated: Vec::new(),
                variables: Vec::new(),
                lock_uses: None,
                interrupts: Default::default(),
                untraced: Vec::new(),
            },
            unknown: Default::default(),
        };
        let mut made = Self {
            header,
            events: Vec::new(),
            on: HashMap::new(),
            since: HashMap::new(),
            runtime: HashMap::new(),
        };
        made.fork(0, 0, 1, ROOT);
        made.wake(0, 0, ROOT, 1);
        made.leave(0, 0, PrevState::Asleep, ROOT);
        made.exec(0, 0, ROOT, "main", Accounts::default());
        made
    }

    pub(crate) fn push(&mut self, us: u64, cpu: u32, kind: EventKind) {
        self.events.push(Event { at: at(us), cpu: CpuId(cpu), kind });
    }

    /// Switches the CPU from its present thread to `next`; 0 is the idle loop.
    pub(crate) fn leave(&mut self, us: u64, cpu: u32, prev_state: PrevState, next: u32) {
        let prev = self.on.insert(cpu, next).unwrap_or(0);
        let ran = us - self.since.insert(cpu, us).unwrap_or(0);
        let runtime = self.runtime.entry(prev).or_default();
        *runtime += ran * 1000;
        let prev_runtime = if prev == 0 { Nanos::ZERO } else { Nanos(*runtime) };
        let switch = Switch {
            prev: Tid(prev),
            prev_state,
            call: Call::Number(61),
            prev_runtime,
            interrupts: Nanos::ZERO,
            next: Tid(next),
        };
        self.push(us, cpu, EventKind::Switch(switch));
    }

    /// Switches an idle CPU to `next`, or a CPU whose thread goes to sleep.
    pub(crate) fn sleep(&mut self, us: u64, cpu: u32, next: u32) {
        self.leave(us, cpu, PrevState::Asleep, next);
    }

    /// Adds a thread's last switch.
    pub(crate) fn die(&mut self, us: u64, cpu: u32, next: u32) {
        self.leave(us, cpu, PrevState::Dead, next);
    }

    pub(crate) fn wake(&mut self, us: u64, cpu: u32, tid: u32, by: u32) {
        self.wake_by(us, cpu, tid, Waker::Thread(Tid(by)));
    }

    pub(crate) fn wake_by(&mut self, us: u64, cpu: u32, tid: u32, by: Waker) {
        self.push(us, cpu, EventKind::Waking(Waking { tid: Tid(tid), by, io_wait: false }));
    }

    /// Adds a new process.
    pub(crate) fn fork(&mut self, us: u64, cpu: u32, parent: u32, child: u32) {
        self.thread(us, cpu, parent, child, child);
    }

    /// Adds a new thread of a process.
    pub(crate) fn thread(&mut self, us: u64, cpu: u32, parent: u32, child: u32, process: u32) {
        let fork = Fork { parent: Tid(parent), child: Tid(child), process: Tid(process) };
        self.push(us, cpu, EventKind::Fork(fork));
    }

    pub(crate) fn exec(&mut self, us: u64, cpu: u32, tid: u32, name: &str, accounts: Accounts) {
        let exec = Exec { tid: Tid(tid), was: Tid(tid), name: Comm::new(name), accounts };
        self.push(us, cpu, EventKind::Exec(exec));
    }

    pub(crate) fn exit(&mut self, us: u64, cpu: u32, tid: u32, accounts: Accounts) {
        self.push(us, cpu, EventKind::Exit(ThreadExit { tid: Tid(tid), accounts }));
    }

    /// Adds the end of a wait for the kernel lock at `lock`.
    pub(crate) fn contended(
        &mut self,
        us: u64,
        cpu: u32,
        tid: u32,
        lock: u64,
        waited_us: u64,
    ) -> &mut Contention {
        let contention = Contention {
            tid: Tid(tid),
            lock,
            waited: Nanos(waited_us * 1000),
            flags: LockFlags(LockFlags::SPIN),
            known: KnownLock::None,
            stack: None,
        };
        self.push(us, cpu, EventKind::Contention(contention));
        match &mut self.events.last_mut().unwrap().kind {
            EventKind::Contention(contention) => contention,
            _ => unreachable!(),
        }
    }

    /// Adds a stack with these functions, innermost first.
    pub(crate) fn stack(&mut self, key: u32, symbols: &[&str]) {
        let frames = symbols.iter().map(|symbol| KernelFrame { symbol: (*symbol).into(), offset: 0 });
        self.header.facts.stacks.insert(key, frames.collect());
    }

    pub(crate) fn sample(&mut self, us: u64, cpu: u32, tid: u32, mode: SampleMode, spins: bool) {
        self.push(us, cpu, EventKind::Sample(Sample { tid: Tid(tid), mode, address: 0, spins }));
    }

    /// View of the trace. The events may have been added in any order.
    pub(crate) fn view(mut self) -> TraceView {
        self.events.sort_by_key(|event| event.at);
        self.header.facts.events = self.events.len() as u64;
        self.view_first(usize::MAX)
    }

    /// View of the trace with only the first `left` events.
    pub(crate) fn view_first(&self, left: usize) -> TraceView {
        let events = self.events.iter().take(left).cloned().collect();
        let decoded = Decoded { events, ..Decoded::default() };
        trace_view(&DecodedTrace::new(&self.header, decoded), std::env::consts::ARCH)
    }
}

/// One second, in the unit of the traces.
pub(crate) const S: u64 = 1_000_000;

pub(crate) fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
}

pub(crate) fn assert_all_near(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len(), "{values:?} instead of {expected:?}");
    values.iter().zip(expected).for_each(|(value, expected)| assert_near(*value, *expected));
}

/// 10 s on two CPUs. `main` runs alone for 4 s, then beside `cc1` for 3 s. It then waits for `cc1`
/// for 2 s, and runs alone again for 1 s.
pub(crate) fn two_command_trace() -> EventTrace {
    let mut t = EventTrace::new(2, 10 * S);
    t.fork(4 * S, 0, ROOT, 101);
    t.wake(4 * S, 0, 101, ROOT);
    t.sleep(4 * S, 1, 101);
    t.exec(4 * S, 1, 101, "cc1", accounts(0, 0));
    t.sleep(7 * S, 0, 0);
    t.exit(9 * S, 1, 101, accounts(4 * S, S));
    t.wake(9 * S, 1, ROOT, 101);
    t.die(9 * S, 1, 0);
    t.sleep(9 * S, 0, ROOT);
    t.exit(10 * S, 0, ROOT, accounts(6 * S, 2 * S));
    t.die(10 * S, 0, 0);
    t
}

pub(crate) fn command<'a>(view: &'a TraceView, name: &str) -> &'a CommandView {
    view.commands.iter().find(|command| command.name == name).unwrap()
}
