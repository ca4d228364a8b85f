//! The scheduler's events of a run, as Perfetto records them from the kernel: the switches of each
//! CPU and the wake-ups that its threads made, in columns. An event takes ten bytes.
//!
//! Perfetto takes the thread that runs on the CPU of a wake-up as the waker, and drops the first
//! switch of a CPU (`ftrace_sched_event_tracker.cc`).

use std::collections::{HashMap, HashSet};

use morecores_explain::trace::{CpuTimeline, Occupant, Source, State, ThreadId, Timeline};
use morecores_study::trace::PrevState;
use morecores_study::{CpuId, Nanos};

use super::proto::{CompactSched, FtraceEventBundle};
use crate::tracks::time;

/// Largest number of switches, and of wake-ups, in a bundle.
const BUNDLE_EVENTS: usize = 4_096;

/// Priority of all threads: that of a thread with a nice value of zero. The trace has no others.
const PRIORITY: i32 = 120;

/// Flag of events in a hard interrupt (`TRACE_FLAG_HARDIRQ` in `include/linux/trace_events.h`).
const IN_INTERRUPT: u32 = 8;

/// States of a thread that leaves its CPU (`include/linux/sched.h`).
mod task_state {
    pub(super) const RUNNING: i64 = 0;
    pub(super) const INTERRUPTIBLE: i64 = 1;
    pub(super) const UNINTERRUPTIBLE: i64 = 2;
    pub(super) const STOPPED: i64 = 4;
    pub(super) const DEAD: i64 = 16;
}

/// Number of the idle loop of each CPU.
const IDLE: i32 = 0;
/// Largest number of a thread in Linux, 2^22 (`PID_MAX_LIMIT`). Larger ones stand for threads that
/// have no number of their own.
const LARGEST_TID: i32 = 1 << 22;
const UNSEEN: i32 = LARGEST_TID + 1;
const LOST: i32 = LARGEST_TID + 2;
const FIRST_REUSED: i32 = LARGEST_TID + 3;

/// Numbers of threads. The kernel's numbers may occur twice in a run; here they do not.
pub(super) struct ThreadNumbers(Vec<i32>);

impl ThreadNumbers {
    pub(super) fn new(timeline: &Timeline) -> Self {
        let mut used = HashSet::new();
        let numbers = timeline.threads.iter().zip(FIRST_REUSED..);
        Self(
            numbers
                .map(|(thread, other)| if used.insert(thread.tid) { thread.tid.0 as i32 } else { other })
                .collect(),
        )
    }

    pub(super) fn number(&self, thread: ThreadId) -> i32 {
        self.0[thread.index()]
    }

    fn occupant_number(&self, occupant: Occupant) -> i32 {
        match occupant {
            Occupant::Idle => IDLE,
            Occupant::Thread(id) => self.number(id),
            Occupant::Unseen => UNSEEN,
            Occupant::Lost => LOST,
        }
    }
}

/// Bundles of all CPUs, in the order of time for each CPU.
pub(super) fn scheduling_bundles<'t>(
    timeline: &'t Timeline,
    numbers: &'t ThreadNumbers,
) -> impl Iterator<Item = FtraceEventBundle> + 't {
    let mut wakes = wakes_by_cpu(timeline);
    timeline.cpus.iter().flat_map(move |cpu| {
        let wakes = wakes.remove(&cpu.cpu).unwrap_or_default();
        cpu_bundles(timeline, numbers, cpu, &wakes)
    })
}

fn cpu_bundles(
    timeline: &Timeline,
    numbers: &ThreadNumbers,
    cpu: &CpuTimeline,
    wakes: &[CpuWake],
) -> Vec<FtraceEventBundle> {
    let mut bundles = Vec::new();
    let mut columns = Columns::new(timeline, numbers);
    let bundle = |columns: Columns<'_>| FtraceEventBundle {
        cpu: Some(cpu.cpu.0),
        compact_sched: Some(columns.events),
    };
    // The switch that Perfetto drops.
    columns.switch(timeline.began, task_state::RUNNING, Occupant::Idle);
    let mut occupant = Occupant::Idle;
    let mut wakes = wakes.iter().peekable();
    for span in &cpu.spans {
        // The wake-ups of a bundle must not precede those of the bundle before.
        while let Some(wake) = wakes.next_if(|wake| wake.at < span.from) {
            columns.wake(wake);
        }
        if numbers.occupant_number(span.occupant) != numbers.occupant_number(occupant) {
            columns.switch(span.from, state_after(timeline, occupant, span.from), span.occupant);
            occupant = span.occupant;
        }
        if columns.is_full() {
            bundles.push(bundle(std::mem::replace(&mut columns, Columns::new(timeline, numbers))));
        }
    }
    wakes.for_each(|wake| columns.wake(wake));
    columns.switch(timeline.ended, state_after(timeline, occupant, timeline.ended), Occupant::Idle);
    bundles.push(bundle(columns));
    bundles
}

/// State in which an occupant left its CPU.
fn state_after(timeline: &Timeline, occupant: Occupant, at: Nanos) -> i64 {
    let Occupant::Thread(id) = occupant else { return task_state::RUNNING };
    let thread = timeline.thread(id);
    let next = thread.segments.partition_point(|segment| segment.from < at);
    match thread.segments.get(next).map(|segment| segment.state) {
        Some(State::Running { .. } | State::Runnable | State::Held(_)) => task_state::RUNNING,
        Some(State::Blocked(wait)) => match timeline.wait(wait).prev_state {
            PrevState::Uninterruptible => task_state::UNINTERRUPTIBLE,
            PrevState::Stopped => task_state::STOPPED,
            _ => task_state::INTERRUPTIBLE,
        },
        None if thread.ended.is_some_and(|ended| ended <= at) => task_state::DEAD,
        None if at >= timeline.ended => task_state::RUNNING,
        None => task_state::INTERRUPTIBLE,
    }
}

/// Wake-up of a thread by a thread on a CPU, or by an interrupt there.
#[derive(Clone, Copy)]
struct CpuWake {
    at: Nanos,
    woken: ThreadId,
    in_interrupt: bool,
}

/// Wake-ups of the command's threads by the CPU on which they happened, in the order of time. Those
/// by interrupts are put on the first CPU, because the trace does not tell the CPU.
fn wakes_by_cpu(timeline: &Timeline) -> HashMap<CpuId, Vec<CpuWake>> {
    let mut found: HashMap<CpuId, Vec<CpuWake>> = HashMap::new();
    let first = timeline.cpus.first().map_or(CpuId(0), |cpu| cpu.cpu);
    let mut add = |at: Nanos, woken: ThreadId, by: Option<ThreadId>| {
        let cpu = by.and_then(|by| running_on(timeline, by, at));
        found.entry(cpu.unwrap_or(first)).or_default().push(CpuWake {
            at,
            woken,
            in_interrupt: cpu.is_none(),
        });
    };
    for wait in timeline.waits.iter().filter(|wait| timeline.thread(wait.thread).in_tree) {
        match wait.wake {
            Some(wake) => add(wake.at, wait.thread, thread_itself(wake.by)),
            None if wait.ended => add(wait.to, wait.thread, None),
            None => {}
        }
    }
    for (id, thread) in timeline.tree() {
        if let Some(begun) = thread.segments.first().filter(|_| thread.created.is_some()) {
            add(begun.from, id, thread.parent);
        }
    }
    for wakes in found.values_mut() {
        wakes.sort_by_key(|wake| wake.at);
    }
    found
}

/// Thread that woke another one in its own time.
fn thread_itself(source: Source) -> Option<ThreadId> {
    match source {
        Source::Thread(id) | Source::SoftIrqOfThread { thread: id, .. } => Some(id),
        _ => None,
    }
}

/// CPU on which a thread ran at an instant.
fn running_on(timeline: &Timeline, id: ThreadId, at: Nanos) -> Option<CpuId> {
    let segments = &timeline.thread(id).segments;
    let begun = segments.partition_point(|segment| segment.from <= at);
    match segments.get(begun.checked_sub(1)?)?.state {
        State::Running { cpu } => Some(cpu),
        _ => None,
    }
}

/// CPU on which a thread ran after its wake-up.
fn next_cpu(timeline: &Timeline, wake: &CpuWake) -> Option<CpuId> {
    let segments = &timeline.thread(wake.woken).segments;
    let after = &segments[segments.partition_point(|segment| segment.from < wake.at)..];
    after.iter().find_map(|segment| match segment.state {
        State::Running { cpu } => Some(cpu),
        _ => None,
    })
}

/// Events of a bundle in the making.
struct Columns<'t> {
    timeline: &'t Timeline,
    numbers: &'t ThreadNumbers,
    events: CompactSched,
    /// Places of the names of threads in the table of the bundle.
    names: HashMap<(i32, usize), u32>,
    last_switch: u64,
    last_wake: u64,
}

impl<'t> Columns<'t> {
    fn new(timeline: &'t Timeline, numbers: &'t ThreadNumbers) -> Self {
        let events = CompactSched::default();
        Self { timeline, numbers, events, names: HashMap::new(), last_switch: 0, last_wake: 0 }
    }

    fn is_full(&self) -> bool {
        self.events.switch_timestamp.len().max(self.events.waking_timestamp.len()) >= BUNDLE_EVENTS
    }

    fn switch(&mut self, at: Nanos, prev_state: i64, next: Occupant) {
        let name = self.name(next, at);
        let at = time(self.timeline, at);
        self.events.switch_timestamp.push(at - self.last_switch);
        self.events.switch_prev_state.push(prev_state);
        self.events.switch_next_pid.push(self.numbers.occupant_number(next));
        self.events.switch_next_prio.push(PRIORITY);
        self.events.switch_next_comm_index.push(name);
        self.last_switch = at;
    }

    fn wake(&mut self, wake: &CpuWake) {
        let name = self.name(Occupant::Thread(wake.woken), wake.at);
        let at = time(self.timeline, wake.at);
        self.events.waking_timestamp.push(at - self.last_wake);
        self.events.waking_pid.push(self.numbers.number(wake.woken));
        self.events.waking_target_cpu.push(next_cpu(self.timeline, wake).map_or(-1, |cpu| cpu.0 as i32));
        self.events.waking_prio.push(PRIORITY);
        self.events.waking_comm_index.push(name);
        self.events.waking_common_flags.push(if wake.in_interrupt { IN_INTERRUPT } else { 0 });
        self.last_wake = at;
    }

    /// Place of the name of an occupant in the table of the bundle.
    fn name(&mut self, occupant: Occupant, at: Nanos) -> u32 {
        let name_index = match occupant {
            Occupant::Thread(id) => self.timeline.thread(id).name_index_at(at),
            _ => 0,
        };
        let (table, timeline) = (&mut self.events.intern_table, self.timeline);
        *self.names.entry((self.numbers.occupant_number(occupant), name_index)).or_insert_with(|| {
            table.push(match occupant {
                Occupant::Idle => "swapper".to_owned(),
                Occupant::Unseen => "other programs".to_owned(),
                Occupant::Lost => "unknown (lost events)".to_owned(),
                Occupant::Thread(id) => timeline.thread(id).name_at(at).to_string(),
            });
            (table.len() - 1) as u32
        })
    }
}
