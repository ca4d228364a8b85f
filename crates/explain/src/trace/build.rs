//! Conversion of events into a timeline, in one pass after a short pass that looks ahead.
//!
//! This module decides nothing about causes. Where events were lost or contradict each other, it
//! accepts the latest event and counts the contradiction.

mod beside;
mod index;
mod states;

use std::collections::{HashMap, HashSet};

use morecores_study::trace::{
    Comm, Event, EventKind, Exec, Fork, FutexWait, HeldBy, Object, Tid, TraceHeader, TraceSource,
};
use morecores_study::{CpuId, CpuSet, Nanos};
use morecores_view::Misfits;

use index::Index;

use super::timeline::{
    Confinement, CpuTimeline, Named, Naming, Occupant, Source, State, Thread, ThreadId, Timeline, Wake,
};

/// Number of the thread that makes all kernel threads: the second thread that the kernel makes at
/// boot (`rest_init` in `init/main.c`).
const KTHREADD: Tid = Tid(2);

/// Builds the timeline of `events`, which are in the order of time.
pub(super) fn build(header: &TraceHeader, events: &[Event]) -> Timeline {
    let (ahead, cpus) = Ahead::look(header, events);
    let mut builder = Builder::new(header, ahead, &cpus);
    for event in events.iter().take_while(|event| event.at <= header.ended_ns) {
        builder.take(event);
    }
    builder.finish()
}

/// Threads running at the beginning and after each loss. At these points the running thread is
/// unknown until the CPU's next switch names the thread that it leaves.
struct Ahead {
    /// Beginning of the trace, as far as it is known.
    began: Nanos,
    /// Thread running on each CPU at the beginning, by the CPU's place.
    first: Vec<Option<Tid>>,
    /// Threads running after each loss, the last loss first, because they are taken from the end.
    after_loss: Vec<Option<Tid>>,
}

impl Ahead {
    fn look(header: &TraceHeader, events: &[Event]) -> (Self, Vec<CpuId>) {
        let mut next: HashMap<CpuId, Option<Tid>> =
            header.run.cpu_set.iter().map(|cpu| (cpu, None)).collect();
        let mut after_loss = Vec::new();
        for event in events.iter().rev() {
            match &event.kind {
                EventKind::Switch(switch) => {
                    next.insert(event.cpu, Some(switch.prev));
                }
                EventKind::Lost { .. } => after_loss.push(*next.entry(event.cpu).or_default()),
                _ => {
                    next.entry(event.cpu).or_default();
                }
            }
        }
        let mut cpus: Vec<_> = next.keys().copied().collect();
        cpus.sort_unstable();
        let first = cpus.iter().map(|cpu| next[cpu]).collect();
        let began = events.first().map_or(header.began_ns, |event| event.at.min(header.began_ns));
        (Self { began, first, after_loss }, cpus)
    }
}

/// Unfinished state of a thread.
#[derive(Default)]
struct Live {
    /// Present state of the thread, and its beginning.
    open: Option<(Nanos, State)>,
    /// A wake-up that came while the thread was still running.
    early: Option<Wake>,
    /// Source that ended the thread's last wait, followed through kernel threads.
    origin: Option<Source>,
    /// Present work item of a kernel worker: its beginning and its originator.
    work: Option<(Nanos, Source)>,
    /// CPU time accounted to the thread when it last left a CPU.
    runtime: Option<Nanos>,
    /// Object of the thread's next wait.
    awaits: Option<Object>,
    /// Arguments of the futex call that contains the thread's next wait.
    futex: Option<FutexWait>,
    /// Reason that holds the thread back when it next leaves its CPU.
    held: Option<HeldBy>,
    /// System call in which the thread waits or last waited, and the beginning of the wait; none
    /// after the call has returned.
    waits_in: Option<(u16, Nanos)>,
    /// CPUs that the thread may use, if not all.
    allowed: Option<CpuSet>,
}

/// Unfinished state of a CPU.
struct Running {
    who: Occupant,
    since: Nanos,
    /// Time of the CPU's last event.
    last_event: Nanos,
    /// Whether events were lost since `since`.
    torn: bool,
}

struct Builder<'h> {
    header: &'h TraceHeader,
    ahead: Ahead,
    timeline: Timeline,
    /// Unfinished states of the threads, in step with the timeline's threads.
    live: Vec<Live>,
    /// Unfinished states of the CPUs, in step with the timeline's CPUs.
    running: Vec<Running>,
    place: Index,
    by_tid: Index,
    tracer: HashSet<Tid>,
}

impl<'h> Builder<'h> {
    fn new(header: &'h TraceHeader, ahead: Ahead, cpus: &[CpuId]) -> Self {
        let allotted = &header.run.cpu_set;
        let timeline = Timeline {
            began: header.began_ns,
            ended: header.ended_ns.max(header.began_ns),
            allotted: allotted.clone(),
            interrupts: header.interrupts.clone(),
            source: header.source,
            root: None,
            threads: Vec::with_capacity(header.known.len()),
            cpus: cpus
                .iter()
                .map(|&cpu| CpuTimeline { cpu, allotted: allotted.contains(cpu), stretches: Vec::new() })
                .collect(),
            waits: Vec::new(),
            contentions: Vec::new(),
            works: Vec::new(),
            confinements: Vec::new(),
            samples: Vec::new(),
            calls: Vec::new(),
            lost: 0,
            misfits: Misfits::default(),
        };
        let mut builder = Self {
            header,
            ahead,
            timeline,
            live: Vec::new(),
            running: Vec::new(),
            place: Index::default(),
            by_tid: Index::default(),
            tracer: header.tracer.iter().copied().collect(),
        };
        for (cpu, place) in cpus.iter().zip(0..) {
            builder.place.insert(cpu.0, place);
        }
        for known in &header.known {
            let id = builder.add(known.tid, Some(known.process), Comm::new(&known.name), Nanos::ZERO);
            builder.timeline.threads[id.index()].kernel = known.kernel;
            builder.own(known.tid, id);
        }
        for index in 0..builder.timeline.threads.len() {
            let leader = builder.timeline.threads[index].process.and_then(|p| builder.owner(p));
            builder.timeline.threads[index].leader = leader;
        }
        for (place, &cpu) in cpus.iter().enumerate() {
            let mut who = match builder.ahead.first[place] {
                Some(tid) => builder.occupant(tid, None),
                None => Occupant::Idle,
            };
            if let Occupant::Thread(id) = who
                && builder.live[id.index()].open.is_some()
            {
                // Two CPUs first report the same thread leaving. The thread's move to one of them
                // was lost.
                builder.timeline.misfits.misplaced += 1;
                who = Occupant::Lost;
            }
            let since = builder.ahead.began;
            builder.running.push(Running { who, since, last_event: since, torn: false });
            if let Occupant::Thread(id) = who {
                builder.live[id.index()].open = Some((since, State::Running { cpu }));
            }
        }
        builder
    }

    /// Thread that has this number now, if one is known.
    fn owner(&self, tid: Tid) -> Option<ThreadId> {
        self.by_tid.get(tid.0).map(ThreadId)
    }

    /// Assigns the number to the thread from now on, and returns the number's previous thread.
    fn own(&mut self, tid: Tid, id: ThreadId) -> Option<ThreadId> {
        self.by_tid.insert(tid.0, id.0).map(ThreadId)
    }

    /// Index of a CPU. Every CPU of the events has one.
    fn place(&self, cpu: CpuId) -> usize {
        self.place.get(cpu.0).map_or(0, |place| place as usize)
    }

    fn take(&mut self, event: &Event) {
        let at = event.at;
        let cpu = self.place(event.cpu);
        match &event.kind {
            EventKind::Switch(switch) => self.switch(cpu, at, switch),
            EventKind::Waking(waking) => self.waking(at, waking),
            EventKind::Fork(fork) => self.fork(at, fork),
            EventKind::Exec(exec) => self.exec(at, exec),
            EventKind::Rename { tid, name } => {
                let id = self.known(*tid);
                self.name(id, at, *name, Naming::Rename);
            }
            EventKind::Exit(exit) => {
                let id = self.known(exit.tid);
                self.timeline.threads[id.index()].accounts = Some(exit.accounts);
            }
            EventKind::Work(work) => self.work(at, work),
            EventKind::Contention(contention) => self.contention(at, contention),
            EventKind::Sample(sample) => self.sample(event.cpu, at, sample),
            EventKind::Awaits { tid, object } => {
                let id = self.known(*tid);
                self.live[id.index()].awaits = Some(*object);
            }
            EventKind::FutexWait { tid, wait } => {
                let id = self.known(*tid);
                self.live[id.index()].futex = Some(*wait);
            }
            EventKind::Held { tid, by } => {
                let id = self.known(*tid);
                self.hold(id, at, *by);
            }
            EventKind::Confined { tid, allowed } => {
                let id = self.known(*tid);
                self.confine(id, at, allowed.clone());
            }
            EventKind::SystemCall(call) => self.system_call(at, call),
            EventKind::Lost { events } => self.lost(cpu, at, *events),
        }
        self.running[cpu].last_event = at;
    }

    fn finish(mut self) -> Timeline {
        let ended = self.timeline.ended;
        for cpu in 0..self.running.len() {
            self.end_stretch(cpu, ended, Nanos::ZERO, None);
        }
        for index in 0..self.live.len() {
            let id = ThreadId(index as u32);
            if let Some((_, origin)) = self.live[index].work {
                self.end_work(id, ended, origin);
            }
            self.close(id, ended, false);
        }
        self.timeline
    }

    // Threads and their names.

    /// Adds a thread about which nothing else is known.
    fn add(&mut self, tid: Tid, process: Option<Tid>, name: Comm, from: Nanos) -> ThreadId {
        let id = ThreadId(self.timeline.threads.len() as u32);
        // The main process may be older than the trace, since its parent may not have been traced.
        let root = tid == self.header.root && self.timeline.root.is_none();
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
            tracer: self.tracer.contains(&tid),
            born: None,
            ended: None,
            names: vec![Named { from, name, by: Naming::Inherited }],
            segments: Vec::new(),
            accounts: None,
        });
        self.live.push(Live::default());
        id
    }

    /// Thread that has this number now, added if it is unknown.
    fn known(&mut self, tid: Tid) -> ThreadId {
        if let Some(id) = self.owner(tid) {
            return id;
        }
        self.timeline.misfits.unborn += 1;
        let id = self.add(tid, None, Comm::default(), Nanos::ZERO);
        self.own(tid, id);
        id
    }

    fn name(&mut self, id: ThreadId, at: Nanos, name: Comm, by: Naming) {
        self.timeline.threads[id.index()].names.push(Named { from: at, name, by });
    }

    fn fork(&mut self, at: Nanos, fork: &Fork) {
        let parent = self.known(fork.parent);
        if let Some(old) = self.owner(fork.child) {
            self.retire(old, at);
        }
        // A later owner of the main process's number is not the main process.
        let is_root = fork.child == self.header.root && at <= self.timeline.began;
        if is_root && let Some(old) = self.timeline.root.take() {
            self.timeline.threads[old.index()].in_tree = false;
        }
        // A thread belongs to its process, no matter which thread made it: for io_uring, the maker
        // may belong to another process.
        let process = self.owner(fork.process).filter(|_| fork.process != fork.child);
        let in_tree = self.timeline.threads[process.unwrap_or(parent).index()].in_tree;
        let made_by = &self.timeline.threads[parent.index()];
        let (kernel, name) = (made_by.tid == KTHREADD, made_by.name_at(at));
        let child = self.add(fork.child, Some(fork.process), name, at);
        self.own(fork.child, child);
        let leader = self.owner(fork.process);
        let thread = &mut self.timeline.threads[child.index()];
        thread.in_tree |= in_tree;
        thread.kernel = kernel;
        thread.parent = Some(parent);
        thread.leader = leader;
        thread.born = Some(at);
        self.live[child.index()].runtime = Some(Nanos::ZERO);
        if let Some(allowed) = self.live[parent.index()].allowed.clone() {
            self.confine(child, at, allowed);
        }
        if self.header.source == TraceSource::Perf {
            // The trace will not show a wake-up of this thread.
            self.live[child.index()].open = Some((at, State::Runnable));
        }
    }

    fn exec(&mut self, at: Nanos, exec: &Exec) {
        let id = self.known(exec.was);
        if exec.was != exec.tid {
            // The thread takes the number of the process's first thread, which has ended
            // (`de_thread` in `fs/exec.c`).
            if let Some(leader) = self.own(exec.tid, id).filter(|leader| *leader != id) {
                self.retire(leader, at);
                for thread in &mut self.timeline.threads {
                    if thread.leader == Some(leader) {
                        thread.leader = Some(id);
                    }
                }
            }
            self.by_tid.remove(exec.was.0);
            self.timeline.threads[id.index()].tid = exec.tid;
        }
        self.timeline.threads[id.index()].kernel = false;
        self.name(id, at, exec.name, Naming::Exec(exec.accounts));
    }

    /// Ends a thread whose number belongs to another thread from now on.
    fn retire(&mut self, id: ThreadId, at: Nanos) {
        if let Some((_, State::Running { cpu })) = self.live[id.index()].open {
            self.timeline.misfits.misplaced += 1;
            self.vacate(self.place(cpu), at);
        }
        self.close(id, at, true);
        self.timeline.threads[id.index()].ended.get_or_insert(at);
    }

    fn confine(&mut self, id: ThreadId, at: Nanos, allowed: CpuSet) {
        if self.live[id.index()].allowed.as_ref() != Some(&allowed) {
            self.live[id.index()].allowed = Some(allowed.clone());
            self.timeline.confinements.push(Confinement { at, thread: id, allowed });
        }
    }
}
