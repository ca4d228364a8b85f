//! The program that each thread ran at each instant, for charging times to programs.
//!
//! A thread runs the program of its process, whatever its own name is: thread names would scatter a
//! program over many rows. Before its first exec, a process runs the program of its parent. For the
//! main process only the command counts.

use std::collections::HashMap;

use morecores_study::Nanos;
use morecores_study::trace::Comm;

use crate::trace::{NameOrigin, Thread, ThreadId, Timeline};

/// A program, identified by its name: an index from 0 without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProgramId(u32);

impl ProgramId {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Programs of all threads of a timeline.
#[derive(Debug)]
pub struct Programs {
    names: Vec<Comm>,
    /// Representative thread of each thread's process.
    leaders: Vec<ThreadId>,
    /// Programs of each representative thread, each with its beginning, in the order of time. The
    /// first is the initial program; the others are its execs.
    spans: Vec<Vec<(Nanos, ProgramId)>>,
}

impl Programs {
    /// Determines the programs of all threads.
    pub fn from_timeline(timeline: &Timeline) -> Self {
        let threads = timeline.threads.len();
        let ids = || (0..threads as u32).map(ThreadId);
        let leaders: Vec<ThreadId> = ids().map(|id| timeline.thread(id).leader.unwrap_or(id)).collect();
        // After an exec by a second thread, that thread is the process's first one: the execs of
        // both belong to one process.
        let mut execs: Vec<Vec<(Nanos, Comm)>> = vec![Vec::new(); threads];
        for id in ids() {
            let names =
                timeline.thread(id).names.iter().filter(|name| matches!(name.origin, NameOrigin::Exec(_)));
            execs[leaders[id.index()].index()].extend(names.map(|name| (name.from, name.name)));
        }
        let mut programs = Self { names: Vec::new(), leaders, spans: vec![Vec::new(); threads] };
        let mut ids_by_name = HashMap::new();
        // A process's oldest thread is younger than its parent, so the parent's program is known by
        // then.
        for oldest in ids() {
            let leader = programs.leaders[oldest.index()];
            if !programs.spans[leader.index()].is_empty() {
                continue;
            }
            let execs = &mut execs[leader.index()];
            execs.sort_by_key(|(from, _)| *from);
            let thread = timeline.thread(oldest);
            let is_command = timeline.root == Some(oldest);
            let first = match (execs.first(), programs.program_of_parent(thread)) {
                (Some((_, name)), _) if is_command => programs.intern(&mut ids_by_name, *name),
                (_, Some(program)) if !is_command => program,
                _ => programs.intern(&mut ids_by_name, thread.name_at(Nanos::ZERO)),
            };
            let mut spans = vec![(Nanos::ZERO, first)];
            for (from, name) in execs.iter() {
                spans.push((*from, programs.intern(&mut ids_by_name, *name)));
            }
            programs.spans[leader.index()] = spans;
        }
        programs
    }

    /// Program that the parent of a thread ran at the thread's creation; none if it is unknown.
    fn program_of_parent(&self, thread: &Thread) -> Option<ProgramId> {
        let leader = self.leaders[thread.parent?.index()];
        let spans = &self.spans[leader.index()];
        (!spans.is_empty()).then(|| program_in_spans(spans, thread.created.unwrap_or_default()))
    }

    fn intern(&mut self, ids_by_name: &mut HashMap<Comm, ProgramId>, name: Comm) -> ProgramId {
        *ids_by_name.entry(name).or_insert_with(|| {
            self.names.push(name);
            ProgramId(self.names.len() as u32 - 1)
        })
    }

    /// Number of programs.
    pub(super) const fn len(&self) -> usize {
        self.names.len()
    }

    /// Name of a program.
    pub(super) fn name(&self, program: ProgramId) -> String {
        self.names[program.index()].to_string()
    }

    /// Name of a thread at an instant: the program of its process, or a kernel thread's own name.
    pub fn thread_name(&self, timeline: &Timeline, thread: ThreadId, instant: Nanos) -> String {
        let kernel = timeline.thread(thread).kernel;
        let own = || timeline.thread(thread).name_at(instant).to_string();
        let name = if kernel { own() } else { self.name(self.program_at(thread, instant)) };
        if name.is_empty() { "unknown".to_owned() } else { name }
    }

    /// All programs.
    pub(super) fn iter(&self) -> impl Iterator<Item = ProgramId> + use<> {
        (0..self.names.len() as u32).map(ProgramId)
    }

    /// Execs of the process that a thread represents, in the order of time; none if the thread
    /// represents no process.
    pub(super) fn execs(&self, thread: ThreadId) -> Option<&[(Nanos, ProgramId)]> {
        self.spans[thread.index()].get(1..)
    }

    /// Program of a thread at an instant.
    pub(super) fn program_at(&self, thread: ThreadId, instant: Nanos) -> ProgramId {
        program_in_spans(&self.spans[self.leaders[thread.index()].index()], instant)
    }

    /// Program to which the idle rule charged time: that of a thread with its name of this index.
    pub(super) fn charged_program(
        &self,
        timeline: &Timeline,
        thread: ThreadId,
        name_index: usize,
    ) -> ProgramId {
        let since = timeline.thread(thread).names.get(name_index).map(|name| name.from);
        self.program_at(thread, since.unwrap_or_default())
    }

    /// Programs of a thread between two instants, each with its duration.
    pub(super) fn programs_between(
        &self,
        thread: ThreadId,
        from: Nanos,
        to: Nanos,
    ) -> impl Iterator<Item = (ProgramId, Nanos)> + '_ {
        let spans = &self.spans[self.leaders[thread.index()].index()];
        let first = spans.partition_point(|(since, _)| *since <= from).saturating_sub(1);
        spans[first..].iter().enumerate().map_while(move |(index, (since, program))| {
            let until = spans.get(first + index + 1).map_or(to, |(next, _)| (*next).min(to));
            (*since < to || index == 0).then(|| (*program, until.since((*since).max(from))))
        })
    }
}

/// Program at an instant. `spans` is not empty and begins at zero.
fn program_in_spans(spans: &[(Nanos, ProgramId)], instant: Nanos) -> ProgramId {
    spans[spans.partition_point(|(since, _)| *since <= instant).saturating_sub(1)].1
}
