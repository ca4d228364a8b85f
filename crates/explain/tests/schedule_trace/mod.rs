//! Traces written by hand: the thread on each CPU over time, and the source of each wake-up. All
//! times are milliseconds since the main process's exec.
// Each test file uses only part of this module.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};

use morecores_explain::trace::{Accounting, Timeline, account, apply_idle_rule, idle_causes};
use morecores_study::trace::{
    Accounts, Call, Comm, Contention, Event, EventKind, Exec, Fork, FutexWait, KnownLock, KnownThread,
    LockFlags, Object, PrevState, Switch, TRACE_SCHEMA, ThreadExit, Tid, TraceFacts, TraceHeader,
    TraceSource, Waker, Waking,
};
use morecores_study::{CpuId, Nanos};
use morecores_view::Components;

/// The main process.
pub(crate) const ROOT: u32 = 100;
/// The parent of the main process, and a process outside the tree.
pub(crate) const SHELL: u32 = 50;
pub(crate) const STRANGER: u32 = 60;
/// Kernel threads.
pub(crate) const KTHREADD: u32 = 2;
pub(crate) const WORKER: u32 = 70;
pub(crate) const JOURNAL: u32 = 71;
/// The tracer's reader.
pub(crate) const READER: u32 = 80;

/// Calls of x86-64, used on every architecture: the tests only compare them and never look up their
/// names.
pub(crate) const WAIT4: Call = Call::Number(61);
pub(crate) const FUTEX: Call = Call::Number(202);

/// Time on the clock at the beginning of the window.
const BEGAN: u64 = 1_000_000_000_000;

pub(crate) fn at(ms: f64) -> Nanos {
    Nanos(BEGAN.wrapping_add_signed((ms * 1e6).round() as i64))
}

/// One thread on one CPU for a while.
#[derive(Clone, Debug)]
pub(crate) struct CpuRun {
    cpu: u32,
    tid: u32,
    from: f64,
    to: f64,
    prev_state: PrevState,
    call: Call,
    object: Object,
    futex: Option<FutexWait>,
    interrupts: f64,
    stolen: f64,
}

impl CpuRun {
    /// Makes the thread wait after the run.
    pub(crate) fn sleeps(&mut self, call: Call) -> &mut Self {
        (self.prev_state, self.call) = (PrevState::Asleep, call);
        self
    }

    pub(crate) fn leaves(&mut self, prev_state: PrevState) -> &mut Self {
        self.prev_state = prev_state;
        self
    }

    pub(crate) fn dies(&mut self) -> &mut Self {
        self.leaves(PrevState::Dead)
    }

    pub(crate) fn awaits(&mut self, object: Object) -> &mut Self {
        self.object = object;
        self
    }

    /// Sets the arguments of the wait's futex call.
    pub(crate) fn futex_args(&mut self, operation: u32, expected: u32) -> &mut Self {
        self.futex = Some(FutexWait { operation, expected });
        self
    }

    pub(crate) fn interrupted(&mut self, ms: f64) -> &mut Self {
        self.interrupts = ms;
        self
    }

    pub(crate) fn stolen(&mut self, ms: f64) -> &mut Self {
        self.stolen = ms;
        self
    }
}

pub(crate) struct ScheduleTrace {
    pub(crate) header: TraceHeader,
    runs: Vec<CpuRun>,
    events: Vec<Event>,
    idle_interrupts: BTreeMap<(u32, Nanos), Nanos>,
}

impl ScheduleTrace {
    pub(crate) fn new(cpus: u32, ended: f64) -> Self {
        let known = |tid: u32, name: &str, kernel| KnownThread {
            tid: Tid(tid),
            process: Tid(tid),
            name: name.to_owned(),
            kernel,
        };
        let run = morecores_testkit::run(&morecores_testkit::point(cpus), at(ended).since(at(0.0)));
        let header = TraceHeader {
            schema: TRACE_SCHEMA.to_owned(),
            run,
            repetition: 0,
            began_ns: at(0.0),
            ended_ns: at(ended),
            facts: TraceFacts {
                source: TraceSource::Bpf,
                root: Tid(ROOT),
                known: vec![
                    known(SHELL, "bash", false),
                    known(STRANGER, "stranger", false),
                    known(KTHREADD, "kthreadd", true),
                    known(WORKER, "kworker/0:1", true),
                    known(JOURNAL, "jbd2", true),
                    known(READER, "morecores", false),
                ],
                events: 0,
                lost: Vec::new(),
                missed: 0,
                tracer: vec![Tid(READER)],
                costs: Vec::new(),
                sample_period_ns: None,
                tick_ns: Nanos::from_millis(1),
                interrupts_accounted: true,
                held_is_told: true,
                wake_latency_ns: None,
                stack_share: None,
                stacks: BTreeMap::new(),
                modules: Vec::new(),
                functions: Vec::new(),
                source_map: Default::default(),
                generated: Vec::new(),
                variables: Vec::new(),
                lock_uses: None,
                interrupts: BTreeMap::new(),
                untraced: Vec::new(),
            },
            unknown: serde_json::Map::new(),
        };
        let mut script =
            Self { header, runs: Vec::new(), events: Vec::new(), idle_interrupts: BTreeMap::new() };
        script.fork(-1.0, SHELL, ROOT);
        script.exec(0.0, ROOT, "main");
        script
    }

    pub(crate) fn run(&mut self, cpu: u32, tid: u32, from: f64, to: f64) -> &mut CpuRun {
        self.runs.push(CpuRun {
            cpu,
            tid,
            from,
            to,
            prev_state: PrevState::Preempted,
            call: Call::Unknown,
            object: Object::None,
            futex: None,
            interrupts: 0.0,
            stolen: 0.0,
        });
        self.runs.last_mut().expect("just pushed")
    }

    pub(crate) fn event(&mut self, ms: f64, cpu: u32, kind: EventKind) {
        self.events.push(Event { at: at(ms), cpu: CpuId(cpu), kind });
    }

    /// Makes a process, runnable at once.
    pub(crate) fn fork(&mut self, ms: f64, parent: u32, child: u32) {
        self.thread_in_process(ms, parent, child, child);
    }

    /// Makes a thread of the main process, runnable at once.
    pub(crate) fn thread(&mut self, ms: f64, parent: u32, child: u32) {
        self.thread_in_process(ms, parent, child, ROOT);
    }

    /// Makes a thread of `process` with the parent `parent`, runnable at once.
    pub(crate) fn thread_in_process(&mut self, ms: f64, parent: u32, child: u32, process: u32) {
        let fork = Fork { parent: Tid(parent), child: Tid(child), process: Tid(process) };
        self.event(ms, 0, EventKind::Fork(fork));
        self.wake(ms, Waker::Thread(Tid(parent)), child);
    }

    pub(crate) fn exec(&mut self, ms: f64, tid: u32, name: &str) {
        let (tid, name) = (Tid(tid), Comm::new(name));
        self.event(ms, 0, EventKind::Exec(Exec { tid, was: tid, name, accounts: Accounts::default() }));
    }

    pub(crate) fn exit(&mut self, ms: f64, tid: u32, user: u64, system: u64) {
        let (user, system) = (Nanos::from_millis(user), Nanos::from_millis(system));
        let accounts = Accounts { user, system, runtime: user + system, ..Accounts::default() };
        self.event(ms, 0, EventKind::Exit(ThreadExit { tid: Tid(tid), accounts }));
    }

    pub(crate) fn wake(&mut self, ms: f64, by: Waker, tid: u32) {
        self.event(ms, 0, EventKind::Waking(Waking { tid: Tid(tid), by, io_wait: false }));
    }

    pub(crate) fn wake_by_thread(&mut self, ms: f64, by: u32, tid: u32) {
        self.wake(ms, Waker::Thread(Tid(by)), tid);
    }

    pub(crate) fn contention(&mut self, ms: f64, tid: u32, waited: f64) {
        self.event(
            ms,
            0,
            EventKind::Contention(Contention {
                tid: Tid(tid),
                lock: 0xffff_8880_0000_1000,
                waited: Nanos::from_secs_f64(waited / 1e3),
                flags: LockFlags(LockFlags::MUTEX),
                known: KnownLock::None,
                stack: None,
            }),
        );
    }

    /// Adds interrupts on an idle CPU, recorded in the switch that ends its idle time.
    pub(crate) fn idle_interrupts(&mut self, cpu: u32, until: f64, ms: f64) {
        self.idle_interrupts.insert((cpu, at(until)), Nanos::from_secs_f64(ms / 1e3));
    }

    /// Events in the order of time; at one instant a switch comes last.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = self.events.clone();
        let mut runs = self.runs.clone();
        runs.sort_by(|a, b| a.from.total_cmp(&b.from));
        let mut runtime: HashMap<u32, f64> = HashMap::new();
        let mut cpus: BTreeMap<u32, Vec<(CpuRun, f64)>> = BTreeMap::new();
        for run in runs {
            let total = runtime.entry(run.tid).or_default();
            *total += run.to - run.from - run.stolen;
            if self.header.facts.interrupts_accounted {
                *total -= run.interrupts;
            }
            let total = *total;
            if run.prev_state == PrevState::Dead {
                runtime.remove(&run.tid);
            }
            cpus.entry(run.cpu).or_default().push((run, total));
        }
        let perf = self.header.facts.source == TraceSource::Perf;
        for (cpu, runs) in cpus {
            let mut switch = |ms: f64, switch: Switch| {
                events.push(Event { at: at(ms), cpu: CpuId(cpu), kind: EventKind::Switch(switch) });
            };
            for (index, (run, total)) in runs.iter().enumerate() {
                if index == 0 || runs[index - 1].0.to < run.from {
                    let interrupts = self.idle_interrupts.get(&(cpu, at(run.from))).copied();
                    switch(
                        run.from,
                        Switch {
                            prev: Tid::IDLE,
                            prev_state: PrevState::Preempted,
                            call: Call::Unknown,
                            prev_runtime: Nanos::ZERO,
                            interrupts: interrupts.unwrap_or_default(),
                            next: Tid(run.tid),
                        },
                    );
                }
                let next = runs.get(index + 1).filter(|(next, _)| next.from <= run.to);
                switch(
                    run.to,
                    Switch {
                        prev: Tid(run.tid),
                        prev_state: run.prev_state,
                        call: run.call,
                        prev_runtime: Nanos(if perf { 0 } else { (total * 1e6).round() as u64 }),
                        interrupts: Nanos::from_secs_f64(run.interrupts / 1e3),
                        next: next.map_or(Tid::IDLE, |(next, _)| Tid(next.tid)),
                    },
                );
            }
            for (run, _) in runs.iter().filter(|(run, _)| run.object != Object::None) {
                if let Some(wait) = run.futex {
                    let kind = EventKind::FutexWait { tid: Tid(run.tid), wait };
                    events.push(Event { at: at(run.to), cpu: CpuId(cpu), kind });
                }
                let kind = EventKind::Awaits { tid: Tid(run.tid), object: run.object };
                events.push(Event { at: at(run.to), cpu: CpuId(cpu), kind });
            }
        }
        if perf {
            events.retain(|event| !matches!(event.kind, EventKind::Waking(_)));
        }
        events.sort_by_key(|event| (event.at, matches!(event.kind, EventKind::Switch(_))));
        events
    }

    pub(crate) fn timeline(&self) -> Timeline {
        Timeline::new(&self.header, &self.events())
    }

    pub(crate) fn account(&self) -> Accounting {
        self.account_events(&self.events())
    }

    /// Accounting of these events, which may differ from the script's own.
    pub(crate) fn account_events(&self, events: &[Event]) -> Accounting {
        let timeline = Timeline::new(&self.header, events);
        account(&self.header, &timeline, apply_idle_rule(&timeline, &idle_causes(&timeline)))
    }
}

/// Components by name, in milliseconds: those that are present and not zero.
pub(crate) fn nonzero_components(components: &Components) -> BTreeMap<String, f64> {
    let value = serde_json::to_value(components).expect("plain numbers");
    let fields = value.as_object().expect("a structure").iter();
    let parts = fields.filter_map(|(name, seconds)| {
        Some((name.trim_end_matches("_s").to_owned(), (seconds.as_f64()? * 1e6).round() / 1e3))
    });
    parts.filter(|(_, ms)| *ms != 0.0).collect()
}

/// Asserts that the components are exactly these, in milliseconds.
#[track_caller]
pub(crate) fn assert_components(accounting: &Accounting, expected: &[(&str, f64)]) {
    let expected: BTreeMap<String, f64> =
        expected.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
    assert_eq!(nonzero_components(&accounting.components), expected, "{accounting:#?}");
}
