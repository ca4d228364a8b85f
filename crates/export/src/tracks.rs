//! The tracks of a traced run, for viewers of traces: the states of each thread of the command,
//! arrows from the threads that woke others, and the results of morecores on tracks of their own:
//! the critical path, the serial phases, the allotted CPUs by component, and the threads that wait
//! for each lock.
//!
//! This module knows no format: a [`TrackSink`] writes the tracks. Times are nanoseconds since the
//! beginning of the run. The tracks of results have at most [`RESOLUTION`] steps, so that a trace
//! of any size remains one that a viewer can draw.

mod counters;
mod critical_path;

use std::collections::{BTreeSet, HashMap};
use std::io;

use morecores_explain::serial_phases;
use morecores_explain::trace::{
    ActivityKind, Cause, FutexId, State, ThreadId, Timeline, WaitId, awaited_futex,
};
use morecores_study::Nanos;

pub(crate) use counters::{Counter, CounterGroup};

use crate::ExportedRun;

/// Number of equal parts of the run that the tracks of results distinguish: more than any screen
/// has columns.
const RESOLUTION: u64 = 100_000;
/// Least length of such a part.
const LEAST_STEP: u64 = 1_000;

/// Track with spans that do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Serial phases of the run.
    SerialPhases,
}

/// Receiver of the tracks of a run: a format.
pub(crate) trait TrackSink {
    /// Receives the name of a process, known by its first thread, and its number.
    fn process(&mut self, process: ThreadId, pid: u32, name: &str) -> io::Result<()>;

    /// Receives the name of a thread of the command, and its number.
    fn thread(&mut self, track: Track, pid: u32, tid: u32, name: &str) -> io::Result<()>;

    /// Receives a remark on all results if there is one, and the counters.
    fn results(&mut self, remark: Option<&str>, counters: &[Counter]) -> io::Result<()>;

    /// Receives a span of a track. `cpu` is the CPU of a running thread.
    fn span(&mut self, track: Track, from: u64, to: u64, name: &str, cpu: Option<u32>) -> io::Result<()>;

    /// Receives the value of each counter from an instant on.
    fn values(&mut self, at: u64, values: &[f64]) -> io::Result<()>;
}

/// Receiver that also draws arrows.
pub(crate) trait ArrowSink: TrackSink {
    /// Receives a wake-up; each has another `number`.
    fn wake(&mut self, number: u64, at: u64, waker: Track, woken: Track) -> io::Result<()>;
}

/// Length of the shortest step in the tracks of results, in nanoseconds.
pub(crate) fn step(timeline: &Timeline) -> u64 {
    timeline.elapsed().0.div_ceil(RESOLUTION).max(LEAST_STEP)
}

/// Time since the beginning of the run.
pub(crate) fn time(timeline: &Timeline, at: Nanos) -> u64 {
    at.since(timeline.began).0
}

/// Track of a thread.
pub(crate) fn track_of(timeline: &Timeline, thread: ThreadId) -> Track {
    Track::Thread { process: timeline.thread(thread).leader.unwrap_or(thread), thread }
}

/// Passes the names of the threads and the tracks of results to a sink. `lost_events` is the number
/// of events that the trace lost.
///
/// # Errors
///
/// Those of the sink.
pub(crate) fn write_results(
    run: &ExportedRun<'_>,
    lost_events: u64,
    sink: &mut impl TrackSink,
) -> io::Result<()> {
    let counters = counters::counters(run);
    let lossy = format!("lost {lost_events} events: times around the losses are wrong");
    let remark = (lost_events > 0).then_some(lossy.as_str());
    sink.results(remark, &counters.names)?;
    write_names(run, sink)?;
    critical_path::write_critical_path(run, sink)?;
    write_serial_phases(run, sink)?;
    counters.write(sink)
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

fn write_serial_phases(run: &ExportedRun<'_>, sink: &mut impl TrackSink) -> io::Result<()> {
    for phase in serial_phases(run.trace, &run.programs, &run.idle().blocked_periods) {
        let from = Nanos::from_secs_f64(phase.start_s).0;
        let to = from + Nanos::from_secs_f64(phase.duration_s).0;
        let name = match phase.cause {
            None => format!("only {} ran", phase.culprit),
            Some(_) => format!("all waited: {}", phase.culprit),
        };
        sink.span(Track::SerialPhases, from, to, &name, None)?;
    }
    Ok(())
}

/// Passes the states of all threads and the wake-ups to a sink.
///
/// # Errors
///
/// Those of the sink.
pub(crate) fn write_states(run: &ExportedRun<'_>, sink: &mut impl ArrowSink) -> io::Result<()> {
    let timeline = &run.trace.timeline;
    let names = StateNames::new(run);
    for (id, thread) in timeline.tree() {
        let track = track_of(timeline, id);
        for segment in &thread.segments {
            let cpu = match segment.state {
                State::Running { cpu } => Some(cpu.0),
                _ => None,
            };
            let (from, to) = (time(timeline, segment.from), time(timeline, segment.to));
            sink.span(track, from, to, names.name(segment.state.into()), cpu)?;
        }
    }
    write_wakes(run, sink)
}

fn write_wakes(run: &ExportedRun<'_>, sink: &mut impl ArrowSink) -> io::Result<()> {
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

/// Names of the states of threads.
pub(crate) struct StateNames<'r> {
    run: &'r ExportedRun<'r>,
    /// Names of the waits for locks.
    of_locks: HashMap<FutexId, String>,
}

impl<'r> StateNames<'r> {
    pub(crate) fn new(run: &'r ExportedRun<'r>) -> Self {
        let names = run.lock_names().iter();
        Self { run, of_locks: names.map(|(futex, name)| (*futex, format!("waits for {name}"))).collect() }
    }

    /// Name of a state.
    pub(crate) fn name(&self, kind: ActivityKind) -> &str {
        match kind {
            ActivityKind::Running => "running",
            ActivityKind::Ready => "ready",
            ActivityKind::Held(_) => "held back",
            ActivityKind::KernelWork => "work in the kernel",
            ActivityKind::Unknown => "unknown",
            ActivityKind::Waiting(wait) => self.wait_name(wait),
        }
    }

    fn wait_name(&self, wait: WaitId) -> &str {
        let timeline = &self.run.trace.timeline;
        let lock = || self.of_locks.get(&awaited_futex(timeline, timeline.wait(wait))?);
        match self.run.causes[wait.index()] {
            Cause::UserLock => lock().map_or("waits for a lock", String::as_str),
            Cause::Thread(_) => "waits for a thread",
            Cause::KernelLock => "waits for a kernel lock",
            Cause::Disk => "waits for a disk",
            Cause::Device => "waits for a device",
            Cause::Rcu => "waits for RCU",
            Cause::Uninterruptible => "waits in the kernel",
            Cause::Peer => "waits for another program",
            Cause::Timer => "waits for a timer",
            Cause::Endless => "waits until the end",
            Cause::Unknown => "waits",
        }
    }
}
