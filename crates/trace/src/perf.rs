//! The source of traces that needs no privilege: the context-switch records of perf events, which the kernel gives
//! every user for processes of its own (`perf_event_open(2)`; Linux 4.3).
//!
//! The events are opened on the thread that starts the command, for itself and all its descendants (`inherit`): whatever
//! a child makes of itself by threads, exec, a new session or a new pid namespace, it stays traced, until it runs a
//! program that gains privileges. Each CPU has a buffer of its own, since the kernel maps no buffer of an inherited event
//! that is for any CPU. Numbers of threads are those of the caller's pid namespace.
//!
//! What such records do not tell stands in [`PerfRecorded::untraced`]. This module records and translates; it must not
//! guess what was not told, with one exception that `decode` states.

mod buffer;
mod counter;
mod decode;
mod error;
mod reader;
mod untraced;

use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use buffer::Buffer;
use counter::Counter;
use decode::Caller;
use morecores_study::trace::{CpuLoss, Event, Tid, Untraced};
use morecores_study::{CpuId, CpuSet, Nanos};
use reader::{Channel, Drained, Stop};

pub(crate) use counter::open;
pub use error::PerfError;

/// Data bytes of a CPU's buffer where they may be had. A record of a switch takes 24 bytes, and two threads that wake each
/// other as fast as they can made 700,000 of them a second, so that the reader, woken by an eighth of it, has 100 ms to
/// come. A power of two, as the kernel wants.
const MOST_BYTES: usize = 2 << 20;

/// The least, 2,700 records: an eighth of what the kernel's default allows (`perf_event_mlock_kb`, 512 KiB and a page of
/// each CPU), for users who trace more than once at a time.
const LEAST_BYTES: usize = 64 << 10;

/// Data bytes of all buffers together where they may be had: what 32 CPUs with the most take. The kernel counts what it
/// allows an ordinary user by the CPU too, but this memory is locked, and taken from the command.
const MOST_BYTES_IN_ALL: usize = 64 << 20;

/// How often the reader is woken while a buffer is filled: seldom enough not to disturb the command, and early enough to
/// be in time where the command leaves it no CPU for a while.
const WAKES: usize = 8;

/// Records the context switches of one command.
#[derive(Debug)]
pub struct PerfTracer {
    cpus: CpuSet,
    /// Data bytes of each CPU's buffer.
    bytes: usize,
    running: Option<Running>,
}

/// A recording that has begun.
#[derive(Debug)]
struct Running {
    stop: Stop,
    reader: JoinHandle<Result<Drained, PerfError>>,
}

/// What was recorded beside the events themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfRecorded {
    /// The first process that the calling thread started; absent where it started none.
    pub root: Option<Tid>,
    /// How many events the sink was given.
    pub events: u64,
    /// What was lost, of each CPU that lost any. Up to Linux 5.19 a loss that no later record of its CPU followed is not
    /// told.
    pub lost: Vec<CpuLoss>,
    /// The thread that carried the events away; no event is about it.
    pub tracer: Vec<Tid>,
    /// CPU time of that thread.
    pub tracer_runtime: Nanos,
    /// What the events cannot tell.
    pub untraced: Vec<Untraced>,
}

impl PerfTracer {
    /// Finds out whether this user may trace, and with how much memory. The CPUs traced are those of `allotted` and all
    /// others that are online, since a program may set its own affinity.
    ///
    /// # Errors
    /// Where the kernel has no perf events, keeps them from this user, or has no memory for them.
    pub fn open(allotted: &CpuSet) -> Result<Self, PerfError> {
        let cpus = allotted.union(&online());
        let mut bytes = wanted_bytes(cpus.len());
        // A rehearsal with everything, so that what can fail does so here and not in the middle of a study.
        let rehearsed = open_channels(&cpus, &mut bytes)?;
        drop(rehearsed);
        Ok(Self { cpus, bytes, running: None })
    }

    /// Begins to record what descendants of the calling thread do that are made from now on. Must be called on the
    /// thread that starts the command; records of this process's own threads are dropped.
    ///
    /// `sink` is called on a thread of its own, with events of one CPU in the order in which they happened. While it
    /// works, buffers fill; when it fails, recording ends and [`end`](Self::end) returns its error.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and where no thread can be made, or a recording has begun already.
    pub fn begin<S>(&mut self, sink: S) -> Result<(), PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()> + Send + 'static,
    {
        if self.running.is_some() {
            return Err(PerfError::Begun);
        }
        let stop = Stop::new().map_err(PerfError::Wait)?;
        let stopped = stop.try_clone()?;
        let caller = Caller::this_thread();
        // The reader comes before the events: a thread made after them would be traced itself.
        let (hand_over, channels) = mpsc::sync_channel::<Vec<Channel>>(1);
        let reader = std::thread::Builder::new()
            .name("perf-reader".to_owned())
            // No channels, where they could not be opened, are drained at once: `stop` is set then.
            .spawn(move || reader::drain(channels.recv().unwrap_or_default(), caller, &stopped, sink))
            .map_err(PerfError::Thread)?;
        let mut bytes = self.bytes;
        let opened = open_channels(&self.cpus, &mut bytes).and_then(|channels| {
            channels.iter().try_for_each(|channel| channel.counter.enable())?;
            Ok(channels)
        });
        match opened {
            Ok(channels) => {
                // The reader holds its end until it has them, so that this cannot fail.
                let _ = hand_over.send(channels);
                self.running = Some(Running { stop, reader });
                Ok(())
            }
            Err(error) => {
                drop(hand_over);
                // The reader has nothing to read: whatever it says, the error is that of opening.
                let _ = Running { stop, reader }.finish();
                Err(error)
            }
        }
    }

    /// Ends the recording, of descendants that go on too, and gives the sink what is left. May be called on any thread.
    ///
    /// # Errors
    /// Where none has begun, the sink failed, or the kernel refused to go on.
    ///
    /// # Panics
    /// Where the sink panicked: with its panic.
    pub fn end(&mut self) -> Result<PerfRecorded, PerfError> {
        let drained = self.running.take().ok_or(PerfError::NotBegun)?.finish()?;
        Ok(PerfRecorded {
            root: drained.root,
            events: drained.events,
            lost: drained.lost,
            tracer: vec![drained.reader],
            tracer_runtime: drained.runtime,
            untraced: untraced::list(&online().difference(&self.cpus)),
        })
    }
}

impl Running {
    fn finish(self) -> Result<Drained, PerfError> {
        self.stop.set()?;
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for PerfTracer {
    /// A recording that was not ended is given up: its events are gone from the kernel when this returns.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let stopped = running.stop.set();
            if stopped.is_ok() {
                let _ = running.reader.join();
            }
        }
    }
}

/// The CPUs that are online; none where sysfs does not tell.
fn online() -> CpuSet {
    let list = std::fs::read_to_string(Path::new("/sys/devices/system/cpu/online"));
    list.ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// Data bytes to ask for a CPU of `cpus`.
fn wanted_bytes(cpus: usize) -> usize {
    let share = MOST_BYTES_IN_ALL / cpus.max(1);
    // Down to a power of two.
    let power = share.checked_ilog2().map_or(0, |bits| 1 << bits);
    power.clamp(LEAST_BYTES, MOST_BYTES)
}

/// Opens an event of the calling thread and its descendants for each CPU, with a buffer of `bytes` or, where the kernel
/// allows this user less memory, of half of that, and so on; `bytes` says in the end how many it became.
fn open_channels(cpus: &CpuSet, bytes: &mut usize) -> Result<Vec<Channel>, PerfError> {
    loop {
        match cpus.iter().map(|cpu| open_channel(cpu, *bytes)).collect() {
            Err(PerfError::MemoryLimit { .. }) if *bytes > LEAST_BYTES => *bytes /= 2,
            Err(PerfError::MemoryLimit { .. }) => {
                return Err(PerfError::MemoryLimit { kib: LEAST_BYTES / 1024, cpus: cpus.len() });
            }
            other => return other,
        }
    }
}

fn open_channel(cpu: CpuId, bytes: usize) -> Result<Channel, PerfError> {
    let counter = Counter::open(cpu, bytes / WAKES)?;
    let buffer = Buffer::map(&counter, bytes)?;
    Ok(Channel { counter, buffer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cpus_have_smaller_buffers() {
        let kib = [1, 2, 32, 33, 64, 128, 192, 1024, 8192].map(|cpus| wanted_bytes(cpus) / 1024);
        assert_eq!(kib, [2048, 2048, 2048, 1024, 1024, 512, 256, 64, 64]);
    }
}
