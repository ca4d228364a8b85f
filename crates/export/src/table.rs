//! The tables of a traced run: their columns, and their rows one by one.
//!
//! Times are nanoseconds since the beginning of the run. A thread is its number in the table of
//! threads, because the kernel reuses its own numbers.

use std::borrow::Cow;

use morecores_explain::trace::{
    Activity, ActivityKind, Cause, Occupant, State, Thread, ThreadId, Timeline, call_name,
};
use morecores_study::Nanos;
use morecores_study::trace::{HoldReason, SampleMode};
use serde::Serialize;

use crate::ExportedRun;

/// Table of a traced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Threads, of the command and others.
    Threads,
    /// States of the command's threads.
    States,
    /// Waits of the command's threads, with the thread that ended each.
    Waits,
    /// Spans of the allotted CPUs.
    Cpus,
    /// Idle CPUs by cause over time.
    Idle,
    /// Samples of the CPUs.
    Samples,
    /// The critical path.
    Path,
}

/// Column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: &'static str,
    /// Meaning of its values.
    pub meaning: &'static str,
}

/// Value of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// The trace does not show the value, or there is none.
    Missing,
    /// Whole number.
    Integer(i64),
    /// Text.
    Text(Cow<'a, str>),
}

impl Value<'_> {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }
}

impl From<&'static str> for Value<'_> {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(i64::from(number))
    }
}

impl From<bool> for Value<'_> {
    fn from(is_true: bool) -> Self {
        Self::Integer(i64::from(is_true))
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Missing, Into::into)
    }
}

impl From<ThreadId> for Value<'_> {
    fn from(thread: ThreadId) -> Self {
        thread.0.into()
    }
}

/// Names and meanings of columns.
macro_rules! columns {
    ($($name:literal: $meaning:literal),* $(,)?) => {
        &[$(Column { name: $name, meaning: $meaning }),*]
    };
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 7] =
        [Self::Threads, Self::States, Self::Waits, Self::Cpus, Self::Idle, Self::Samples, Self::Path];

    /// Name of the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::States => "states",
            Self::Waits => "waits",
            Self::Cpus => "cpus",
            Self::Idle => "idle",
            Self::Samples => "samples",
            Self::Path => "path",
        }
    }

    /// Columns in their order.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Threads => columns! {
                "thread": "number of the thread in this trace",
                "tid": "the kernel's number of the thread",
                "pid": "the kernel's number of its process",
                "parent": "thread that created it",
                "of_command": "1 for a thread of the command, else 0",
                "command": "program that it ran last",
                "name": "its last name",
                "created_ns": "time of its creation; missing if it is older than the trace",
                "ended_ns": "time of its end; missing if it outlived the run",
            },
            Self::States => columns! {
                "thread": "number of the thread",
                "command": "program that it ran at the beginning of the state",
                "from_ns": "beginning",
                "to_ns": "end",
                "state": "running, ready, held or blocked",
                "cpu": "CPU of a running thread",
                "held_by": "limit that holds the thread back: quota, freezer or real_time_budget",
                "wait": "number of the wait of a blocked thread",
            },
            Self::Waits => columns! {
                "wait": "number of the wait",
                "thread": "waiting thread",
                "command": "program that it ran",
                "from_ns": "beginning",
                "to_ns": "end",
                "call": "system call, or page fault",
                "cause": "what ended the wait: thread, user_lock, kernel_lock, disk, device, rcu, uninterruptible, \
                          peer, timer, end_of_run or unknown",
                "waker": "thread that ended the wait",
                "origin": "thread that caused the wake-up, through workers and soft interrupts of the kernel",
                "idle_ns": "idle time of CPUs that was lost to the wait; zero for a wait for a thread, whose own \
                            activity it is lost to",
            },
            Self::Cpus => columns! {
                "cpu": "number of the CPU",
                "from_ns": "beginning",
                "to_ns": "end",
                "occupant": "command, other, tracer, idle, unseen or lost",
                "thread": "thread on the CPU",
                "name": "its program, or its name if it is a kernel thread",
                "interrupts_ns": "time in interrupts during the span",
            },
            Self::Idle => columns! {
                "from_ns": "beginning of the span",
                "to_ns": "end of the span",
                "cause": "cause to which CPUs were lost: the name of an idle component, without idle_ and _s",
                "idle_ns": "idle time of all CPUs that was lost to it during the span",
            },
            Self::Samples => columns! {
                "at_ns": "time of the sample",
                "cpu": "sampled CPU",
                "thread": "thread on the CPU",
                "mode": "user, kernel or interrupt",
                "spins": "1 in a loop of the program's own that only waits, else 0",
            },
            Self::Path => columns! {
                "from_ns": "beginning",
                "to_ns": "end",
                "thread": "thread of the activity",
                "command": "program that it ran",
                "activity": "running, ready, held, kernel_work, unknown, or the cause of a wait as in waits",
                "wait": "number of the wait",
            },
        }
    }

    /// Calls `visit` with each row in the order of time, until it returns an error. The values are
    /// in the order of the columns.
    ///
    /// # Errors
    ///
    /// Those of `visit`.
    pub fn try_for_each_row<'r, E>(
        self,
        run: &'r ExportedRun<'_>,
        mut visit: impl FnMut(&[Value<'r>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let timeline = &run.trace.timeline;
        match self {
            Self::Threads => {
                let ids = (0..).map(ThreadId).zip(&timeline.threads);
                ids.map(|(id, thread)| thread_row(run, id, thread)).try_for_each(|row| visit(&row))
            }
            Self::States => states(timeline).try_for_each(|(id, index)| visit(&state_row(run, id, index))),
            Self::Waits => {
                let numbered = (0..).zip(&timeline.waits);
                let own = numbered.filter(|(_, wait)| timeline.thread(wait.thread).in_tree);
                own.map(|(number, _)| wait_row(run, number)).try_for_each(|row| visit(&row))
            }
            Self::Cpus => {
                let mut spans: Vec<(Nanos, usize, usize)> = Vec::new();
                for (cpu, record) in timeline.cpus.iter().enumerate().filter(|(_, cpu)| cpu.allotted) {
                    spans.extend(
                        record.spans.iter().enumerate().map(|(span, record)| (record.from, cpu, span)),
                    );
                }
                spans.sort_unstable();
                spans.into_iter().try_for_each(|(_, cpu, span)| visit(&cpu_row(run, cpu, span)))
            }
            Self::Idle => run.idle().spans.iter().try_for_each(|span| {
                let (from, to) = (time(timeline, span.from), time(timeline, span.to));
                visit(&[from, to, span.cause.into(), nanoseconds(span.seconds)])
            }),
            Self::Samples => timeline.samples.iter().try_for_each(|sample| {
                let mode = match sample.mode {
                    SampleMode::User => "user",
                    SampleMode::Kernel => "kernel",
                    SampleMode::Interrupt => "interrupt",
                };
                let (at, cpu) = (time(timeline, sample.at), sample.cpu.0.into());
                visit(&[at, cpu, sample.thread.into(), mode.into(), sample.spins.into()])
            }),
            Self::Path => {
                run.path().iter().map(|activity| path_row(run, activity)).try_for_each(|row| visit(&row))
            }
        }
    }
}

/// Time since the beginning of the run; negative before it.
fn time<'a>(timeline: &Timeline, at: Nanos) -> Value<'a> {
    Value::Integer(at.0 as i64 - timeline.began.0 as i64)
}

fn nanoseconds<'a>(seconds: f64) -> Value<'a> {
    Value::Integer((seconds * 1e9).round() as i64)
}

fn command<'a>(run: &ExportedRun<'_>, thread: ThreadId, at: Nanos) -> Value<'a> {
    Value::text(run.programs.thread_name(&run.trace.timeline, thread, at))
}

fn thread_row<'a>(run: &ExportedRun<'_>, id: ThreadId, thread: &Thread) -> [Value<'a>; 9] {
    let timeline = &run.trace.timeline;
    let end = thread.segments.last().map_or(timeline.ended, |segment| segment.to);
    [
        id.into(),
        thread.tid.0.into(),
        thread.process.map(|pid| pid.0).into(),
        thread.parent.into(),
        thread.in_tree.into(),
        command(run, id, end),
        Value::text(thread.name_at(end).to_string()),
        thread.created.map_or(Value::Missing, |at| time(timeline, at)),
        thread.ended.map_or(Value::Missing, |at| time(timeline, at)),
    ]
}

/// Segments of the command's threads, in the order of their beginnings.
fn states(timeline: &Timeline) -> impl Iterator<Item = (ThreadId, usize)> + use<> {
    let mut all: Vec<(Nanos, ThreadId, usize)> = Vec::new();
    for (id, thread) in timeline.tree() {
        all.extend(thread.segments.iter().enumerate().map(|(index, segment)| (segment.from, id, index)));
    }
    all.sort_unstable();
    all.into_iter().map(|(_, id, index)| (id, index))
}

fn state_row<'a>(run: &ExportedRun<'_>, id: ThreadId, index: usize) -> [Value<'a>; 8] {
    let timeline = &run.trace.timeline;
    let segment = timeline.thread(id).segments[index];
    let (state, cpu, held_by, wait) = match segment.state {
        State::Running { cpu } => ("running", Some(cpu.0), None, None),
        State::Runnable => ("ready", None, None, None),
        State::Held(reason) => ("held", None, Some(reason), None),
        State::Blocked(wait) => ("blocked", None, None, Some(wait.0)),
    };
    let reason = held_by.map(|reason| match reason {
        HoldReason::Quota => "quota",
        HoldReason::Freezer => "freezer",
        HoldReason::RealTimeBudget => "real_time_budget",
    });
    [
        id.into(),
        command(run, id, segment.from),
        time(timeline, segment.from),
        time(timeline, segment.to),
        state.into(),
        cpu.into(),
        reason.into(),
        wait.into(),
    ]
}

fn wait_row<'a>(run: &ExportedRun<'_>, number: u32) -> [Value<'a>; 10] {
    let timeline = &run.trace.timeline;
    let wait = &timeline.waits[number as usize];
    let call = call_name(wait.call, run.arch).map(Value::text);
    [
        number.into(),
        wait.thread.into(),
        command(run, wait.thread, wait.from),
        time(timeline, wait.from),
        time(timeline, wait.to),
        call.unwrap_or(Value::Missing),
        cause_name(run.causes[number as usize]).into(),
        wait.wake.and_then(|wake| wake.by.thread()).into(),
        wait.wake.and_then(|wake| wake.origin.thread()).into(),
        nanoseconds(run.idle().wait_charges[number as usize]),
    ]
}

pub(crate) const fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::KernelLock => "kernel_lock",
        Cause::UserLock => "user_lock",
        Cause::Disk => "disk",
        Cause::Device => "device",
        Cause::Rcu => "rcu",
        Cause::Uninterruptible => "uninterruptible",
        Cause::Peer => "peer",
        Cause::Timer => "timer",
        Cause::Thread(_) => "thread",
        Cause::Endless => "end_of_run",
        Cause::Unknown => "unknown",
    }
}

fn cpu_row<'a>(run: &ExportedRun<'_>, cpu: usize, span: usize) -> [Value<'a>; 7] {
    let timeline = &run.trace.timeline;
    let record = &timeline.cpus[cpu];
    let span = record.spans[span];
    let (occupant, thread) = match span.occupant {
        Occupant::Idle => ("idle", None),
        Occupant::Unseen => ("unseen", None),
        Occupant::Lost => ("lost", None),
        Occupant::Thread(id) => {
            let thread = timeline.thread(id);
            let occupant = match (thread.in_tree, thread.tracer) {
                (true, _) => "command",
                (false, true) => "tracer",
                (false, false) => "other",
            };
            (occupant, Some(id))
        }
    };
    [
        record.cpu.0.into(),
        time(timeline, span.from),
        time(timeline, span.to),
        occupant.into(),
        thread.into(),
        thread.map_or(Value::Missing, |id| command(run, id, span.from)),
        Value::Integer(span.interrupts.0 as i64),
    ]
}

fn path_row<'a>(run: &ExportedRun<'_>, activity: &Activity) -> [Value<'a>; 6] {
    let timeline = &run.trace.timeline;
    let (name, wait) = match activity.kind {
        ActivityKind::Running => ("running", None),
        ActivityKind::Ready => ("ready", None),
        ActivityKind::Held(_) => ("held", None),
        ActivityKind::KernelWork => ("kernel_work", None),
        ActivityKind::Unknown => ("unknown", None),
        ActivityKind::Waiting(wait) => (cause_name(run.causes[wait.index()]), Some(wait.0)),
    };
    [
        time(timeline, activity.from),
        time(timeline, activity.to),
        activity.thread.into(),
        activity.thread.map_or(Value::Missing, |id| command(run, id, activity.from)),
        name.into(),
        wait.into(),
    ]
}
