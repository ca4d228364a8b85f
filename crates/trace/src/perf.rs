//! The source of traces that needs no privilege: the records of perf events, which the kernel gives
//! every user for the user's own processes (`perf_event_open(2)`; Linux 4.3). They show context
//! switches, mappings of code, and samples with registers and stack memory.
//!
//! The events are opened on the thread that starts the command, for itself and all its descendants
//! (`inherit`). A descendant stays traced after it makes threads, calls exec, or starts a new
//! session or pid namespace, until it runs a program that gains privileges. Each CPU has its own
//! buffer, since the kernel maps no buffer for an inherited event that covers all CPUs. Thread
//! numbers belong to the caller's pid namespace.
//!
//! [`PerfSummary::untraced`] lists the information that is missing from such records. This module
//! records and translates. It must not guess missing information, with one exception that `decode`
//! states.

mod buffer;
mod code;
mod counter;
mod decode;
mod error;
mod mappings;
mod reader;
mod record;
mod samples;
mod untraced;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

use buffer::Buffer;
use counter::{Counter, Records};
use decode::Caller;
use morecores_study::trace::{CpuLoss, Event, Module, Tid, UntracedFact};
use morecores_study::{CpuId, CpuSet, Nanos};
use reader::{Channel, ChannelSet, StopSignal};
use samples::Sampling;

pub(crate) use counter::{ALL_THREADS, open};
pub use error::PerfError;
pub(crate) use mappings::{MappingReader, ReadMappings};

/// Data bytes of a CPU's buffer if the kernel permits them. A switch record takes 24 bytes. Two
/// threads that wake each other at full speed made 700,000 records a second. The kernel wakes the
/// reader when an eighth of the buffer is full, which leaves the reader 100 ms. The size is a power
/// of two, as the kernel requires.
const MAX_BYTES: usize = 2 << 20;

/// Smallest data size, 2,700 records: an eighth of the kernel's default limit
/// (`perf_event_mlock_kb`, 512 KiB and a page for each CPU), for users who trace more than once at
/// a time.
const MIN_BYTES: usize = 64 << 10;

/// Data bytes of all buffers together if the kernel permits them: enough for 32 CPUs with the
/// largest buffer. The kernel's limit for an ordinary user also grows with the CPUs, but this
/// memory is locked and taken from the command.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// Number of reader wake-ups per filled buffer: rare enough not to disturb the command, and early
/// enough for a reader that gets no CPU for a while.
const WAKES_PER_BUFFER: usize = 8;

/// Tracer that records the context switches and samples of one command.
#[derive(Debug)]
pub struct PerfTracer {
    cpus: CpuSet,
    settings: Settings,
    active: Option<ActiveRecording>,
}

/// A recording in progress.
#[derive(Debug)]
struct ActiveRecording {
    stop: StopSignal,
    reader: JoinHandle<Result<PerfSummary, PerfError>>,
}

/// Settings of the events, as far as the kernel permits them.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Data bytes of each CPU's buffer.
    bytes: usize,
    /// Whether the kernel makes samples with registers and stack memory.
    has_samples: bool,
}

/// Header data of a recording.
#[derive(Debug)]
pub struct PerfSummary {
    /// First process that the calling thread started; absent if it started none.
    pub root: Option<Tid>,
    /// Number of events given to the sink.
    pub events: u64,
    /// Losses of each CPU that lost any records. Up to Linux 5.19, a loss without a later record on
    /// its CPU is not reported.
    pub lost: Vec<CpuLoss>,
    /// Thread that carried the events to the sink; no event concerns it.
    pub tracer: Vec<Tid>,
    /// CPU time of that thread.
    pub tracer_runtime: Nanos,
    /// Time between two samples of a thread; absent without samples.
    pub sample_period: Option<Nanos>,
    /// Files that the processes mapped as code.
    pub modules: Vec<Module>,
    /// Files among them in other mount namespaces, by their number. They were located while their
    /// processes lived.
    pub located: HashMap<u32, OwnedFd>,
    /// Information that the events lack.
    pub untraced: Vec<UntracedFact>,
}

impl PerfTracer {
    /// Checks that this user may trace, and how much memory the buffers may have. The trace covers
    /// the CPUs of `allotted` and all other online CPUs, since a program may set its own affinity.
    ///
    /// # Errors
    /// Fails if the kernel has no perf events, denies them to this user, or has no memory for them.
    pub fn open(allotted: &CpuSet) -> Result<Self, PerfError> {
        let cpus = allotted.union(&online_cpus());
        let mut settings = Settings { bytes: buffer_bytes(cpus.len()), has_samples: true };
        // A rehearsal with all channels, so that a failure occurs here and not in the middle of a
        // study.
        let channels = open_channels(&cpus, &mut settings)?;
        drop(channels);
        Ok(Self { cpus, settings, active: None })
    }

    /// Begins to record the descendants of the calling thread that are made from now on. The caller
    /// must call it on the thread that starts the command. Records of this process's own threads
    /// are dropped.
    ///
    /// The recording calls `sink` on a thread of its own, with events of one CPU in the order of
    /// their occurrence. Buffers fill while the sink works. If the sink fails, recording ends and
    /// [`end`](Self::end) returns its error.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open). Also fails if no thread can be made, or if a
    /// recording has already begun.
    pub fn begin<S>(&mut self, sink: S) -> Result<(), PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()> + Send + 'static,
    {
        if self.active.is_some() {
            return Err(PerfError::AlreadyRunning);
        }
        let stop = StopSignal::new().map_err(PerfError::Wait)?;
        let reader_stop = stop.try_clone()?;
        let caller = Caller::this_thread();
        // The reader starts before the events, since a thread made after them would be traced
        // itself.
        let (channel_sender, channels) = mpsc::sync_channel::<ChannelSet>(1);
        let reader = std::thread::Builder::new()
            .name("perf-reader".to_owned())
            // If the channels could not be opened, the reader drains none and returns at once,
            // because `stop` is set.
            .spawn(move || reader::drain(channels.recv().unwrap_or_default(), caller, &reader_stop, sink))
            .map_err(PerfError::Thread)?;
        let mut settings = self.settings;
        let opened = open_channels(&self.cpus, &mut settings).and_then(|channels| {
            channels.channels.iter().try_for_each(|channel| channel.counter.enable())?;
            Ok(channels)
        });
        match opened {
            Ok(channels) => {
                // The reader keeps its end until it has the channels, so that this send cannot
                // fail.
                let _ = channel_sender.send(channels);
                self.active = Some(ActiveRecording { stop, reader });
                Ok(())
            }
            Err(error) => {
                drop(channel_sender);
                // The reader has nothing to read. The error of opening is the one to report.
                let _ = ActiveRecording { stop, reader }.finish();
                Err(error)
            }
        }
    }

    /// Ends the recording, also of descendants that are still running, and gives the remaining
    /// events to the sink. Any thread may call it.
    ///
    /// # Errors
    /// Fails if no recording has begun, the sink failed, or the kernel refused to continue.
    ///
    /// # Panics
    /// Panics with the sink's panic if the sink panicked.
    pub fn end(&mut self) -> Result<PerfSummary, PerfError> {
        self.active.take().ok_or(PerfError::NotRunning)?.finish()
    }
}

impl ActiveRecording {
    fn finish(self) -> Result<PerfSummary, PerfError> {
        self.stop.set()?;
        self.reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for PerfTracer {
    /// Abandons a recording that was not ended: its kernel events are gone when this returns.
    fn drop(&mut self) {
        if let Some(active) = self.active.take() {
            let stopped = active.stop.set();
            if stopped.is_ok() {
                let _ = active.reader.join();
            }
        }
    }
}

/// Online CPUs; none if sysfs does not list them.
fn online_cpus() -> CpuSet {
    let list = std::fs::read_to_string(Path::new("/sys/devices/system/cpu/online"));
    list.ok().and_then(|list| list.parse().ok()).unwrap_or_default()
}

/// Data bytes to request for each of `cpus` CPUs.
fn buffer_bytes(cpus: usize) -> usize {
    let share = MAX_TOTAL_BYTES / cpus.max(1);
    // Rounds down to a power of two.
    let power = share.checked_ilog2().map_or(0, |bits| 1 << bits);
    power.clamp(MIN_BYTES, MAX_BYTES)
}

/// Opens an event of the calling thread and its descendants for each CPU. If the kernel allows this
/// user less memory, it halves the size of the buffers repeatedly; a kernel without samples gives
/// context switches alone. On return, `settings` are the final ones.
fn open_channels(cpus: &CpuSet, settings: &mut Settings) -> Result<ChannelSet, PerfError> {
    loop {
        let Settings { bytes, .. } = *settings;
        let sampling = settings.sampling();
        match cpus.iter().map(|cpu| Channel::open(cpu, Records::Command(sampling), bytes)).collect() {
            Ok(channels) => return Ok(ChannelSet { channels, sampling }),
            Err(PerfError::MemoryLimit { .. }) if bytes > MIN_BYTES => settings.bytes /= 2,
            Err(PerfError::MemoryLimit { .. }) => {
                return Err(PerfError::MemoryLimit { kib: MIN_BYTES / 1024, cpus: cpus.len() });
            }
            Err(PerfError::TooOld | PerfError::Absent) if settings.has_samples => {
                settings.has_samples = false;
            }
            Err(error) => return Err(error),
        }
    }
}

impl Settings {
    fn sampling(self) -> Sampling {
        if self.has_samples { Sampling::for_buffer(self.bytes) } else { Sampling::Off }
    }
}

impl Channel {
    /// Opens an event of a CPU, with a buffer of `bytes`.
    fn open(cpu: CpuId, records: Records, bytes: usize) -> Result<Self, PerfError> {
        let counter = Counter::open(cpu, records, bytes / WAKES_PER_BUFFER)?;
        let buffer = Buffer::map(&counter, bytes)?;
        Ok(Self { counter, buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cpus_have_smaller_buffers() {
        let kib = [1, 2, 32, 33, 64, 128, 192, 1024, 8192].map(|cpus| buffer_bytes(cpus) / 1024);
        assert_eq!(kib, [2048, 2048, 2048, 1024, 1024, 512, 256, 64, 64]);
    }
}
