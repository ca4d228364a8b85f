//! Conversion of events into a timeline, in one pass after a short pass that looks ahead.
//!
//! This module decides nothing about causes. Where events were lost or contradict each other, it
//! accepts the latest event and counts the contradiction.

mod number_map;
mod records;
mod sources;
mod states;

use std::collections::{HashMap, HashSet};

use morecores_study::trace::{
    AddressSpaces, Comm, Event, EventKind, Exec, Fork, FutexWait, HoldReason, Module, Object, StackMoment,
    Tid, TraceHeader, TraceSource,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_view::Inconsistencies;

use number_map::NumberMap;

use super::timeline::{
    Confinement, CpuTimeline, NameOrigin, Occupant, Source, State, Thread, ThreadId, ThreadName, Timeline,
    Wake,
};
use super::user_stacks::{RecordedStack, UserStacks};

/// Number of the thread that creates all kernel threads: the second thread that the kernel creates
/// at boot (`rest_init` in `init/main.c`).
const KTHREADD: Tid = Tid(2);

/// Builds the timeline of `events`, which are in the order of time.
pub(super) fn build(header: &TraceHeader, events: &[Event]) -> Timeline {
    let (lookahead, cpus) = Lookahead::from_events(header, events);
    let mut builder = Builder::new(header, lookahead, &cpus, events);
    for event in events.iter().take_while(|event| event.at <= header.ended_ns) {
        builder.apply(event);
    }
    builder.finish()
}

/// Threads running at the beginning and after each loss. At these points the running thread is
/// unknown until the CPU's next switch names the thread that it leaves.
struct Lookahead {
    /// Beginning of the trace, as far as it is known.
    began: Nanos,
    /// Thread running on each CPU at the beginning, by the CPU's index.
    running_at_start: Vec<Option<Tid>>,
    /// Threads running after each loss, the last loss first, because they are taken from the end.
    running_after_loss: Vec<Option<Tid>>,
}

impl Lookahead {
    fn from_events(header: &TraceHeader, events: &[Event]) -> (Self, Vec<CpuId>) {
        let mut next: HashMap<CpuId, Option<Tid>> =
            header.run.cpu_set.iter().map(|cpu| (cpu, None)).collect();
        let mut running_after_loss = Vec::new();
        for event in events.iter().rev() {
            match &event.kind {
                EventKind::Switch(switch) => {
                    next.insert(event.cpu, Some(switch.prev));
                }
                EventKind::Lost { .. } => running_after_loss.push(*next.entry(event.cpu).or_default()),
                _ => {
                    next.entry(event.cpu).or_default();
                }
            }
        }
        let mut cpus: Vec<_> = next.keys().copied().collect();
        cpus.sort_unstable();
        let running_at_start = cpus.iter().map(|cpu| next[cpu]).collect();
        let began = events.first().map_or(header.began_ns, |event| event.at.min(header.began_ns));
        (Self { began, running_at_start, running_after_loss }, cpus)
    }
}

/// Unfinished state of a thread.
#[derive(Default)]
struct ThreadState {
    /// Present state of the thread, and its beginning.
    current: Option<(Nanos, State)>,
    /// A wake-up that came while the thread was still running.
    early_wake: Option<Wake>,
    /// Source that ended the thread's last wait, followed through kernel threads.
    wake_origin: Option<Source>,
    /// Present work item of a kernel worker: its beginning and its originator.
    work: Option<(Nanos, Source)>,
    /// CPU time accounted to the thread when it last left a CPU.
    runtime: Option<Nanos>,
    /// Object of the thread's next wait.
    wait_object: Option<Object>,
    /// User stack of the thread's next moment of its kind.
    stack: Option<(StackMoment, RecordedStack)>,
    /// Arguments of the futex call that contains the thread's next wait.
    futex: Option<FutexWait>,
    /// Reason that holds the thread back when it next leaves its CPU.
    held_by: Option<HoldReason>,
    /// System call in which the thread waits or last waited, and the beginning of the wait; none
    /// after the call has returned.
    wait_call: Option<(u16, Nanos)>,
    /// CPUs that the thread may use, if not all.
    allowed: Option<CpuSet>,
}

/// Unfinished state of a CPU.
struct CpuState {
    occupant: Occupant,
    since: Nanos,
    /// Time of the CPU's last event.
    last_event: Nanos,
    /// Whether events were lost since `since`.
    has_loss: bool,
}

struct Builder<'h> {
    header: &'h TraceHeader,
    lookahead: Lookahead,
    timeline: Timeline,
    /// Unfinished states of the threads, in step with the timeline's threads.
    thread_states: Vec<ThreadState>,
    /// Unfinished states of the CPUs, in step with the timeline's CPUs.
    cpu_states: Vec<CpuState>,
    cpu_indices: NumberMap,
    threads_by_tid: NumberMap,
    tracer_tids: HashSet<Tid>,
    address_spaces: AddressSpaces,
    /// Number of the kernel among the modules; none in traces without names of its functions.
    kernel: Option<u32>,
}

impl<'h> Builder<'h> {
    fn new(header: &'h TraceHeader, lookahead: Lookahead, cpus: &[CpuId], events: &[Event]) -> Self {
        let allotted = &header.run.cpu_set;
        let timeline = Timeline {
            began: header.began_ns,
            ended: header.ended_ns.max(header.began_ns),
            allotted: allotted.clone(),
            interrupts: header.facts.interrupts.clone(),
            source: header.facts.source,
            root: None,
            threads: Vec::with_capacity(header.facts.known.len()),
            cpus: cpus
                .iter()
                .map(|&cpu| CpuTimeline { cpu, allotted: allotted.contains(cpu), spans: Vec::new() })
                .collect(),
            waits: Vec::new(),
            contentions: Vec::new(),
            work_items: Vec::new(),
            confinements: Vec::new(),
            samples: Vec::new(),
            calls: Vec::new(),
            user_stacks: UserStacks::from_frames(events),
            lost_events: 0,
            misfits: Inconsistencies::default(),
        };
        let mut builder = Self {
            header,
            lookahead,
            timeline,
            thread_states: Vec::new(),
            cpu_states: Vec::new(),
            cpu_indices: NumberMap::default(),
            threads_by_tid: NumberMap::default(),
            tracer_tids: header.facts.tracer.iter().copied().collect(),
            address_spaces: AddressSpaces::new(&header.facts.known),
            kernel: (0..)
                .zip(&header.facts.modules)
                .find_map(|(number, module)| (module.path == Module::KERNEL).then_some(number)),
        };
        for (cpu, index) in cpus.iter().zip(0..) {
            builder.cpu_indices.insert(cpu.0, index);
        }
        for known in &header.facts.known {
            let id = builder.add_thread(known.tid, Some(known.process), Comm::new(&known.name), Nanos::ZERO);
            builder.timeline.threads[id.index()].kernel = known.kernel;
            builder.assign_tid(known.tid, id);
        }
        for index in 0..builder.timeline.threads.len() {
            let leader = builder.timeline.threads[index].process.and_then(|p| builder.thread_with_tid(p));
            builder.timeline.threads[index].leader = leader;
        }
        for (index, &cpu) in cpus.iter().enumerate() {
            let mut occupant = match builder.lookahead.running_at_start[index] {
                Some(tid) => builder.occupant(tid, None),
                None => Occupant::Idle,
            };
            if let Occupant::Thread(id) = occupant
                && builder.thread_states[id.index()].current.is_some()
            {
                // Two CPUs first report the same thread leaving. The thread's move to one of them
                // was lost.
                builder.timeline.misfits.misplaced += 1;
                occupant = Occupant::Lost;
            }
            let since = builder.lookahead.began;
            builder.cpu_states.push(CpuState { occupant, since, last_event: since, has_loss: false });
            if let Occupant::Thread(id) = occupant {
                builder.thread_states[id.index()].current = Some((since, State::Running { cpu }));
            }
        }
        builder
    }

    /// User stack of a thread at this moment, if the thread's last event was one.
    fn take_stack(&mut self, id: ThreadId, moment: StackMoment) -> Option<RecordedStack> {
        let stack = self.thread_states[id.index()].stack.take();
        stack.filter(|(recorded, _)| *recorded == moment).map(|(_, stack)| stack)
    }

    /// Thread that has this number now, if one is known.
    fn thread_with_tid(&self, tid: Tid) -> Option<ThreadId> {
        self.threads_by_tid.get(tid.0).map(ThreadId)
    }

    /// Assigns the number to the thread from now on, and returns the number's previous thread.
    fn assign_tid(&mut self, tid: Tid, id: ThreadId) -> Option<ThreadId> {
        self.threads_by_tid.insert(tid.0, id.0).map(ThreadId)
    }

    /// Index of a CPU. Every CPU of the events has one.
    fn cpu_index(&self, cpu: CpuId) -> usize {
        self.cpu_indices.get(cpu.0).map_or(0, |index| index as usize)
    }

    fn apply(&mut self, event: &Event) {
        let at = event.at;
        let cpu = self.cpu_index(event.cpu);
        self.address_spaces.apply(&event.kind);
        match &event.kind {
            EventKind::Switch(switch) => self.switch_threads(cpu, at, switch),
            EventKind::Waking(waking) => self.wake_thread(at, waking),
            EventKind::Fork(fork) => self.fork_thread(at, fork),
            EventKind::Exec(exec) => self.exec_program(at, exec),
            EventKind::Rename { tid, name } => {
                let id = self.get_or_add_thread(*tid);
                self.add_name(id, at, *name, NameOrigin::Rename);
            }
            EventKind::Exit(exit) => {
                let id = self.get_or_add_thread(exit.tid);
                self.timeline.threads[id.index()].accounts = Some(exit.accounts);
            }
            EventKind::Work(work) => self.begin_work_item(at, work),
            EventKind::Contention(contention) => self.record_contention(at, contention),
            EventKind::Sample(sample) => self.record_sample(event.cpu, at, sample),
            EventKind::Awaits { tid, object } => {
                let id = self.get_or_add_thread(*tid);
                self.thread_states[id.index()].wait_object = Some(*object);
            }
            EventKind::FutexWait { tid, wait } => {
                let id = self.get_or_add_thread(*tid);
                self.thread_states[id.index()].futex = Some(*wait);
            }
            EventKind::Held { tid, by } => {
                let id = self.get_or_add_thread(*tid);
                self.hold_back(id, at, *by);
            }
            EventKind::Confined { tid, allowed } => {
                let id = self.get_or_add_thread(*tid);
                self.confine(id, at, allowed.clone());
            }
            EventKind::SystemCall(call) => self.record_system_call(at, call),
            // The address spaces and the stacks have them.
            EventKind::Mapping(_) | EventKind::Frame(_) => {}
            EventKind::UserStack(stack) => {
                let id = self.get_or_add_thread(stack.tid);
                let recorded = RecordedStack::new(stack).map(|recorded| (stack.moment, recorded));
                self.thread_states[id.index()].stack = recorded;
            }
            EventKind::Lost { events } => self.record_loss(cpu, at, *events),
        }
        self.cpu_states[cpu].last_event = at;
    }

    fn finish(mut self) -> Timeline {
        let ended = self.timeline.ended;
        for cpu in 0..self.cpu_states.len() {
            self.end_span(cpu, ended, Nanos::ZERO, None);
        }
        for index in 0..self.thread_states.len() {
            let id = ThreadId(index as u32);
            if let Some((_, origin)) = self.thread_states[index].work {
                self.end_work_item(id, ended, origin);
            }
            self.end_state(id, ended, false);
        }
        self.timeline
    }

    // Threads and their names.

    /// Adds a thread about which nothing else is known.
    fn add_thread(&mut self, tid: Tid, process: Option<Tid>, name: Comm, from: Nanos) -> ThreadId {
        let id = ThreadId(self.timeline.threads.len() as u32);
        // The main process may be older than the trace, since its parent may not have been traced.
        let root = tid == self.header.facts.root && self.timeline.root.is_none();
        if root {
            self.timeline.root = Some(id);
        }
        self.timeline.threads.push(Thread {
            tid,
            process,
            leader: None,
            parent: None,
            in_tree: root,
            kernel: false,
            tracer: self.tracer_tids.contains(&tid),
            created: None,
            ended: None,
            names: vec![ThreadName { from, name, origin: NameOrigin::Inherited }],
            segments: Vec::new(),
            accounts: None,
        });
        self.thread_states.push(ThreadState::default());
        id
    }

    /// Thread that has this number now, added if it is unknown.
    fn get_or_add_thread(&mut self, tid: Tid) -> ThreadId {
        if let Some(id) = self.thread_with_tid(tid) {
            return id;
        }
        self.timeline.misfits.unborn += 1;
        let id = self.add_thread(tid, None, Comm::default(), Nanos::ZERO);
        self.assign_tid(tid, id);
        id
    }

    fn add_name(&mut self, id: ThreadId, at: Nanos, name: Comm, origin: NameOrigin) {
        self.timeline.threads[id.index()].names.push(ThreadName { from: at, name, origin });
    }

    fn fork_thread(&mut self, at: Nanos, fork: &Fork) {
        let parent = self.get_or_add_thread(fork.parent);
        if let Some(old) = self.thread_with_tid(fork.child) {
            self.end_thread(old, at);
        }
        // A later owner of the main process's number is not the main process.
        let is_root = fork.child == self.header.facts.root && at <= self.timeline.began;
        if is_root && let Some(old) = self.timeline.root.take() {
            self.timeline.threads[old.index()].in_tree = false;
        }
        // A thread belongs to its process, no matter which thread made it: for io_uring, the maker
        // may belong to another process.
        let process = self.thread_with_tid(fork.process).filter(|_| fork.process != fork.child);
        let in_tree = self.timeline.threads[process.unwrap_or(parent).index()].in_tree;
        let parent_thread = &self.timeline.threads[parent.index()];
        let (kernel, name) = (parent_thread.tid == KTHREADD, parent_thread.name_at(at));
        let child = self.add_thread(fork.child, Some(fork.process), name, at);
        self.assign_tid(fork.child, child);
        let leader = self.thread_with_tid(fork.process);
        let thread = &mut self.timeline.threads[child.index()];
        thread.in_tree |= in_tree;
        thread.kernel = kernel;
        thread.parent = Some(parent);
        thread.leader = leader;
        thread.created = Some(at);
        self.thread_states[child.index()].runtime = Some(Nanos::ZERO);
        if let Some(allowed) = self.thread_states[parent.index()].allowed.clone() {
            self.confine(child, at, allowed);
        }
        if self.header.facts.source == TraceSource::Perf {
            // The trace will not show a wake-up of this thread.
            self.thread_states[child.index()].current = Some((at, State::Runnable));
        }
    }

    fn exec_program(&mut self, at: Nanos, exec: &Exec) {
        let id = self.get_or_add_thread(exec.was);
        if exec.was != exec.tid {
            // The thread takes the number of the process's first thread, which has ended
            // (`de_thread` in `fs/exec.c`).
            if let Some(leader) = self.assign_tid(exec.tid, id).filter(|leader| *leader != id) {
                self.end_thread(leader, at);
                for thread in &mut self.timeline.threads {
                    if thread.leader == Some(leader) {
                        thread.leader = Some(id);
                    }
                }
            }
            self.threads_by_tid.remove(exec.was.0);
            self.timeline.threads[id.index()].tid = exec.tid;
        }
        self.timeline.threads[id.index()].kernel = false;
        self.add_name(id, at, exec.name, NameOrigin::Exec(exec.accounts));
    }

    /// Ends a thread whose number belongs to another thread from now on.
    fn end_thread(&mut self, id: ThreadId, at: Nanos) {
        if let Some((_, State::Running { cpu })) = self.thread_states[id.index()].current {
            self.timeline.misfits.misplaced += 1;
            self.vacate(self.cpu_index(cpu), at);
        }
        self.end_state(id, at, true);
        self.timeline.threads[id.index()].ended.get_or_insert(at);
    }

    fn confine(&mut self, id: ThreadId, at: Nanos, allowed: CpuSet) {
        if self.thread_states[id.index()].allowed.as_ref() != Some(&allowed) {
            self.thread_states[id.index()].allowed = Some(allowed.clone());
            self.timeline.confinements.push(Confinement { at, thread: id, allowed });
        }
    }
}
