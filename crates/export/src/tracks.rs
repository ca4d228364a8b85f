//! The tracks of a traced run, for viewers of traces: the states of each thread of the command,
//! arrows from the threads that woke others, and the results of morecores on tracks of their own:
//! the critical path, and the allotted CPUs by component over time.
//!
//! This module knows no format: a [`TrackSink`] writes the tracks. Times are nanoseconds since the
//! beginning of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use morecores_explain::trace::{ActivityKind, Occupant, State, ThreadId, Timeline};
use morecores_study::Nanos;

use crate::ExportedRun;
use crate::table::cause_name;

/// Track with spans that do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Track {
    /// Thread of the command, with the first thread of its process.
    Thread {
        /// First thread of the process.
        process: ThreadId,
        /// The thread.
        thread: ThreadId,
    },
    /// Critical path of the run.
    CriticalPath,
}

/// Receiver of the tracks of a run: a format.
pub(crate) trait TrackSink {
    /// Receives the name of a process, known by its first thread, and its number.
    fn process(&mut self, process: ThreadId, pid: u32, name: &str) -> io::Result<()>;

    /// Receives the name of a thread of the command, and its number.
    fn thread(&mut self, track: Track, pid: u32, tid: u32, name: &str) -> io::Result<()>;

    /// Receives the names of the tracks of results, a remark on them if there is one, and the
    /// components.
    fn results(&mut self, remark: Option<&str>, components: &[&'static str]) -> io::Result<()>;

    /// Receives a span of a track. `cpu` is the CPU of a running thread.
    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, cpu: Option<u32>) -> io::Result<()>;

    /// Receives a wake-up; each has another `number`.
    fn wake(&mut self, number: u64, at: u64, waker: Track, woken: Track) -> io::Result<()>;

    /// Receives the number of CPUs of each component from an instant on.
    fn cpus(&mut self, at: u64, by_component: &BTreeMap<&'static str, f64>) -> io::Result<()>;
}

/// Passes all tracks of a run to a sink. `lost_events` is the number of events that the trace lost.
///
/// # Errors
///
/// Those of the sink.
pub(crate) fn write_tracks(
    run: &ExportedRun<'_>,
    lost_events: u64,
    sink: &mut impl TrackSink,
) -> io::Result<()> {
    let changes = component_changes(run);
    let components: BTreeSet<&'static str> = changes.iter().map(|(_, name, _)| *name).collect();
    let lossy = format!("lost {lost_events} events: times around the losses are wrong");
    let remark = (lost_events > 0).then_some(lossy.as_str());
    sink.results(remark, &components.into_iter().collect::<Vec<_>>())?;
    write_names(run, sink)?;
    write_states(run, sink)?;
    write_wakes(run, sink)?;
    write_critical_path(run, sink)?;
    write_components(run, changes, sink)
}

/// Time since the beginning of the run.
fn time(timeline: &Timeline, at: Nanos) -> u64 {
    at.since(timeline.began).0
}

fn track_of(timeline: &Timeline, thread: ThreadId) -> Track {
    Track::Thread { process: timeline.thread(thread).leader.unwrap_or(thread), thread }
}

fn write_names(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    let mut named = BTreeSet::new();
    for (id, thread) in timeline.tree() {
        let end = thread.segments.last().map_or(timeline.ended, |segment| segment.to);
        let leader = thread.leader.unwrap_or(id);
        let pid = thread.process.unwrap_or(thread.tid).0;
        if named.insert(leader) {
            sink.process(leader, pid, &run.programs.thread_name(timeline, leader, end))?;
        }
        sink.thread(track_of(timeline, id), pid, thread.tid.0, &thread.name_at(end).to_string())?;
    }
    Ok(())
}

fn write_states(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    for (id, thread) in timeline.tree() {
        let track = track_of(timeline, id);
        for segment in &thread.segments {
            let (name, cpu) = match segment.state {
                State::Running { cpu } => ("running", Some(cpu.0)),
                State::Runnable => ("ready", None),
                State::Held(_) => ("held back", None),
                State::Blocked(wait) => (wait_name(cause_name(run.causes[wait.index()])), None),
            };
            sink.span(track, time(timeline, segment.from), time(timeline, segment.to), name, cpu)?;
        }
    }
    Ok(())
}

fn write_wakes(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    let in_tree = |thread: ThreadId| timeline.thread(thread).in_tree;
    for (wait, number) in timeline.waits.iter().zip(0_u64..).filter(|(wait, _)| in_tree(wait.thread)) {
        let waker = wait.wake.and_then(|wake| Some((wake.at, wake.by.thread().filter(|by| in_tree(*by))?)));
        if let Some((at, waker)) = waker {
            let (waker, woken) = (track_of(timeline, waker), track_of(timeline, wait.thread));
            sink.wake(number, time(timeline, at), waker, woken)?;
        }
    }
    Ok(())
}

fn write_critical_path(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    for activity in &run.path {
        let kind = match activity.kind {
            ActivityKind::Running => "running",
            ActivityKind::Ready => "ready",
            ActivityKind::Held(_) => "held back",
            ActivityKind::KernelWork => "work in the kernel",
            ActivityKind::Unknown => "unknown",
            ActivityKind::Waiting(wait) => wait_name(cause_name(run.causes[wait.index()])),
        };
        let command = |id| run.programs.thread_name(timeline, id, activity.from);
        let name = activity.thread.map_or_else(|| kind.to_owned(), |id| format!("{}: {kind}", command(id)));
        let (from, to) = (time(timeline, activity.from), time(timeline, activity.to));
        sink.span(Track::CriticalPath, from, to, &name, None)?;
    }
    Ok(())
}

/// Change of the number of CPUs of a component: time, component, change.
type ComponentChange = (Nanos, &'static str, f64);

fn write_components(
    run: &ExportedRun<'_>,
    mut changes: Vec<ComponentChange>,
    sink: &mut impl TrackSink,
) -> io::Result<()> {
    changes.sort_by_key(|(at, ..)| *at);
    let mut cpus: BTreeMap<&'static str, f64> = changes.iter().map(|(_, name, _)| (*name, 0.0)).collect();
    for simultaneous in changes.chunk_by(|one, next| one.0 == next.0) {
        for (_, name, change) in simultaneous {
            *cpus.entry(name).or_default() += change;
        }
        for value in cpus.values_mut() {
            // Sums of fractions do not return to zero exactly.
            *value = (*value * 1e9).round().max(0.0) / 1e9;
        }
        sink.cpus(time(&run.trace.timeline, simultaneous[0].0), &cpus)?;
    }
    Ok(())
}

fn component_changes(run: &ExportedRun<'_>) -> Vec<ComponentChange> {
    let timeline = &run.trace.timeline;
    let mut changes = Vec::new();
    let mut add = |from: Nanos, to: Nanos, name: &'static str, cpus: f64| {
        if cpus > 0.0 && from < to {
            changes.extend([(from, name, cpus), (to, name, -cpus)]);
        }
    };
    for cpu in timeline.cpus.iter().filter(|cpu| cpu.allotted) {
        for span in &cpu.spans {
            let interrupts = span.interrupts.0 as f64 / span.length().0.max(1) as f64;
            add(span.from, span.to, "interrupts", interrupts);
            let name = match span.occupant {
                // The idle rule divides the rest.
                Occupant::Idle => continue,
                Occupant::Unseen => "other processes",
                Occupant::Lost => "unknown",
                Occupant::Thread(id) => match timeline.thread(id) {
                    thread if thread.in_tree => "command",
                    thread if thread.tracer => "tracer",
                    _ => "other processes",
                },
            };
            add(span.from, span.to, name, 1.0 - interrupts);
        }
    }
    for span in run.idle_spans() {
        let length_s = span.to.since(span.from).as_secs_f64();
        for (cause, seconds) in span.times {
            add(span.from, span.to, idle_name(cause), seconds / length_s);
        }
    }
    changes
}

/// Name of the state of a thread that waits for a cause, as in the table of waits.
fn wait_name(cause: &str) -> &'static str {
    match cause {
        "thread" => "waits for a thread",
        "user_lock" => "waits for a lock",
        "kernel_lock" => "waits for a kernel lock",
        "disk" => "waits for a disk",
        "device" => "waits for a device",
        "rcu" => "waits for RCU",
        "uninterruptible" => "waits in the kernel",
        "peer" => "waits for another program",
        "timer" => "waits for a timer",
        "end_of_run" => "waits until the end",
        _ => "waits",
    }
}

/// Name of an idle component, by its cause as in the table of idle time.
fn idle_name(cause: &str) -> &'static str {
    match cause {
        "scheduling" => "idle: scheduling",
        "held" => "idle: held back",
        "pinned" => "idle: pinned",
        "kernel_lock" => "idle: kernel lock",
        "user_lock" => "idle: user lock",
        "disk" => "idle: disk",
        "peer" => "idle: another program",
        "device" => "idle: device",
        "rcu" => "idle: RCU",
        "uninterruptible" => "idle: kernel",
        "timer" => "idle: timer",
        _ => "idle: too little parallel work",
    }
}
