//! The thread that carries records from the kernel's buffers to the sink. It sleeps until the
//! kernel has filled an eighth of a buffer or until it has to stop. A quiet command is therefore
//! not disturbed, and a busy one rarely. After a wake-up, the reader takes the present records of
//! all CPUs, so that no CPU's events in the sink lag far behind another's.

use std::io;
use std::os::fd::OwnedFd;

use morecores_machine::clock;
use morecores_study::CpuId;
use morecores_study::trace::{CpuLoss, Event};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use super::buffer::Buffer;
use super::code::{Batch, CommandCode};
use super::counter::Counter;
use super::decode::{Caller, Decoder};
use super::samples::Sampling;
use super::untraced::list_untraced;
use super::{PerfError, PerfSummary, online_cpus};
use crate::SAMPLE_PERIOD;

/// The nice value of the highest priority (sched(7)).
const HIGHEST_PRIORITY: i32 = -20;

/// The event of one CPU and its buffer. The event is dropped first, so that the kernel writes no
/// record after the buffer is gone.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) counter: Counter,
    pub(super) buffer: Buffer,
}

/// The events of all CPUs.
#[derive(Debug, Default)]
pub(super) struct ChannelSet {
    pub(super) channels: Vec<Channel>,
    pub(super) sampling: Sampling,
}

/// Stop signal for the reader.
#[derive(Debug)]
pub(super) struct StopSignal(OwnedFd);

impl StopSignal {
    pub(super) fn new() -> Result<Self, Errno> {
        eventfd(0, EventfdFlags::CLOEXEC).map(Self)
    }

    /// The reader's copy of the signal.
    pub(super) fn try_clone(&self) -> Result<Self, PerfError> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 0).map(Self).map_err(PerfError::Wait)
    }

    pub(super) fn set(&self) -> Result<(), PerfError> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).map(drop).map_err(PerfError::Wait)
    }
}

/// One CPU's path to the sink.
struct CpuStream {
    counter: Counter,
    buffer: Buffer,
    decoder: Decoder,
    /// Whether the kernel may still fill the buffer.
    open: bool,
}

/// Carries records to `sink` until `stop` is set, then disables the events and carries the
/// remaining records.
pub(super) fn drain<S>(
    ChannelSet { channels, sampling }: ChannelSet,
    caller: Caller,
    stop: &StopSignal,
    mut sink: S,
) -> Result<PerfSummary, PerfError>
where
    S: FnMut(CpuId, &[Event]) -> io::Result<()>,
{
    // If this user may, the reader gets a higher priority than the command's threads, so that they
    // do not delay it (setpriority(2) without a process means the calling thread). Otherwise it
    // gets its turn like any thread.
    let _ = rustix::process::setpriority_process(None, HIGHEST_PRIORITY);
    let stream = |Channel { counter, buffer }| {
        let decoder = Decoder::new(counter.cpu(), caller);
        CpuStream { counter, buffer, decoder, open: true }
    };
    let mut streams: Vec<CpuStream> = channels.into_iter().map(stream).collect();
    let mut delivered = 0;
    let mut batch = Batch::default();
    let mut code = CommandCode::new(caller);
    let mut stopped = false;
    while !stopped {
        stopped = wait_for_records(&mut streams, stop)?;
        if stopped {
            streams.iter().try_for_each(|stream| stream.counter.disable())?;
        }
        // The files and processes of all CPUs come before the stacks of any: a thread may have
        // changed CPUs.
        let heads: Vec<u64> = streams.iter().map(|stream| stream.buffer.head()).collect();
        for (stream, head) in streams.iter_mut().zip(&heads) {
            stream.buffer.peek(*head, |record| code.note_change(record));
        }
        code.apply_changes();
        for (stream, head) in streams.iter_mut().zip(heads) {
            delivered += stream.read_records(head, &mut code, &mut batch, &mut sink)?;
        }
    }
    for stream in &mut streams {
        delivered += stream.report_losses(&mut batch, &mut sink)?;
    }
    let loss = |stream: &CpuStream| CpuLoss { cpu: stream.counter.cpu(), dropped: stream.decoder.lost };
    let (modules, located) = code.into_files();
    let traced = streams.iter().map(|stream| stream.counter.cpu()).collect();
    Ok(PerfSummary {
        root: streams.iter().filter_map(|stream| stream.decoder.root).min().map(|(_, root)| root),
        events: delivered,
        lost: streams.iter().map(loss).filter(|loss| loss.dropped > 0).collect(),
        tracer: vec![Caller::this_thread().thread],
        tracer_runtime: clock::thread_cpu(),
        sample_period: (sampling != Sampling::Off).then_some(SAMPLE_PERIOD),
        modules,
        located,
        untraced: list_untraced(sampling, &online_cpus().difference(&traced)),
    })
}

/// Sleeps until there is work. Returns whether the reader has to stop.
fn wait_for_records(streams: &mut [CpuStream], stop: &StopSignal) -> Result<bool, PerfError> {
    loop {
        let waiting = streams
            .iter()
            .filter(|stream| stream.open)
            .map(|stream| PollFd::new(&stream.counter, PollFlags::IN));
        let mut poll_fds: Vec<PollFd<'_>> =
            std::iter::once(PollFd::new(&stop.0, PollFlags::IN)).chain(waiting).collect();
        match poll(&mut poll_fds, None) {
            Err(Errno::INTR) => continue,
            polled => polled.map_err(PerfError::Wait)?,
        };
        let stopped = !poll_fds[0].revents().is_empty();
        // The caller's thread and all its descendants are gone. Nothing is left to record, and poll
        // would return at once.
        let closed = PollFlags::HUP | PollFlags::ERR;
        let open: Vec<bool> = poll_fds[1..].iter().map(|fd| !fd.revents().intersects(closed)).collect();
        for (stream, open) in streams.iter_mut().filter(|stream| stream.open).zip(open) {
            stream.open = open;
        }
        return Ok(stopped);
    }
}

impl CpuStream {
    /// Carries the records up to `head` and returns the number of their events. Records that the
    /// kernel writes in the meantime wait for the next call: otherwise the reader would chase its
    /// own records.
    fn read_records<S>(
        &mut self,
        head: u64,
        code: &mut CommandCode,
        batch: &mut Batch,
        sink: &mut S,
    ) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        let mut delivered = 0;
        loop {
            batch.clear();
            let decoder = &mut self.decoder;
            if !self.buffer.take(head, |record| code.decode(decoder, record, batch)) {
                return Ok(delivered);
            }
            code.unwind(batch);
            delivered += self.deliver(&batch.events, sink)?;
        }
    }

    /// Reports the losses since the last record, which no later record reports.
    fn report_losses<S>(&mut self, batch: &mut Batch, sink: &mut S) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        batch.clear();
        if let Some(total) = self.counter.read_lost_records()? {
            self.decoder.report_total_loss(total, clock::monotonic(), &mut batch.events);
        }
        self.deliver(&batch.events, sink)
    }

    fn deliver<S>(&self, events: &[Event], sink: &mut S) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        if events.is_empty() {
            return Ok(0);
        }
        let cpu = self.counter.cpu();
        sink(cpu, events).map_err(|error| PerfError::Sink { cpu, error })?;
        Ok(events.len() as u64)
    }
}
