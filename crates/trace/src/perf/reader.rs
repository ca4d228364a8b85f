//! The thread that carries records from the kernel's buffers to the sink. It sleeps until the kernel has filled an eighth
//! of a buffer or it is told to stop, so that a quiet command is not disturbed at all and a busy one rarely. Then it takes
//! what all CPUs have by now, so that what the sink has got of one CPU is never far behind another's.

use std::io;
use std::os::fd::OwnedFd;

use morecores_study::trace::{CpuLoss, Event, Tid};
use morecores_study::{CpuId, Nanos};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::PerfError;
use super::buffer::Buffer;
use super::counter::Counter;
use super::decode::{Caller, Decoder};

/// The nice value of the threads that come first (sched(7)).
const HIGHEST_PRIORITY: i32 = -20;

/// The event of one CPU and its buffer. Dropped in this order, so that no record is written where none is read.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) counter: Counter,
    pub(super) buffer: Buffer,
}

/// How the reader is told to stop.
#[derive(Debug)]
pub(super) struct Stop(OwnedFd);

impl Stop {
    pub(super) fn new() -> Result<Self, Errno> {
        eventfd(0, EventfdFlags::CLOEXEC).map(Self)
    }

    /// The reader's end.
    pub(super) fn try_clone(&self) -> Result<Self, PerfError> {
        rustix::io::fcntl_dupfd_cloexec(&self.0, 0).map(Self).map_err(PerfError::Wait)
    }

    pub(super) fn set(&self) -> Result<(), PerfError> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).map(drop).map_err(PerfError::Wait)
    }
}

/// What the reader says in the end.
#[derive(Debug)]
pub(super) struct Drained {
    pub(super) root: Option<Tid>,
    pub(super) events: u64,
    pub(super) lost: Vec<CpuLoss>,
    pub(super) reader: Tid,
    pub(super) runtime: Nanos,
}

/// One CPU's way to the sink.
struct Lane {
    counter: Counter,
    buffer: Buffer,
    decoder: Decoder,
    /// Whether the kernel may still fill the buffer.
    open: bool,
}

/// Carries records to `sink` until `stop` is set, then switches the events off and carries the rest.
pub(super) fn drain<S>(
    channels: Vec<Channel>,
    caller: Caller,
    stop: &Stop,
    mut sink: S,
) -> Result<Drained, PerfError>
where
    S: FnMut(CpuId, &[Event]) -> io::Result<()>,
{
    // Where this user may, before the command's threads, so that these do not keep it from its work (setpriority(2) of
    // nobody means the calling thread). Others get their turn like any thread.
    let _ = rustix::process::setpriority_process(None, HIGHEST_PRIORITY);
    let lane = |Channel { counter, buffer }| {
        let decoder = Decoder::new(counter.cpu(), caller);
        Lane { counter, buffer, decoder, open: true }
    };
    let mut lanes: Vec<Lane> = channels.into_iter().map(lane).collect();
    let mut given = 0;
    let mut batch = Vec::new();
    let mut stopped = false;
    while !stopped {
        stopped = sleep(&mut lanes, stop)?;
        if stopped {
            lanes.iter().try_for_each(|lane| lane.counter.disable())?;
        }
        for lane in &mut lanes {
            given += lane.carry(&mut batch, &mut sink)?;
        }
    }
    for lane in &mut lanes {
        given += lane.account_for_losses(&mut batch, &mut sink)?;
    }
    let loss = |lane: &Lane| CpuLoss { cpu: lane.counter.cpu(), dropped: lane.decoder.lost };
    Ok(Drained {
        root: lanes.iter().filter_map(|lane| lane.decoder.root).min().map(|(_, root)| root),
        events: given,
        lost: lanes.iter().map(loss).filter(|loss| loss.dropped > 0).collect(),
        reader: Caller::this_thread().thread,
        runtime: now(ClockId::ThreadCPUTime),
    })
}

/// Sleeps until there is something to do. Whether that is to stop.
fn sleep(lanes: &mut [Lane], stop: &Stop) -> Result<bool, PerfError> {
    loop {
        let waiting =
            lanes.iter().filter(|lane| lane.open).map(|lane| PollFd::new(&lane.counter, PollFlags::IN));
        let mut awaited: Vec<PollFd<'_>> =
            std::iter::once(PollFd::new(&stop.0, PollFlags::IN)).chain(waiting).collect();
        match poll(&mut awaited, None) {
            Err(Errno::INTR) => continue,
            polled => polled.map_err(PerfError::Wait)?,
        };
        let stopped = !awaited[0].revents().is_empty();
        // The caller's thread and all its descendants are gone: nobody is left to be recorded, and poll would not sleep.
        let over = PollFlags::HUP | PollFlags::ERR;
        let open: Vec<bool> = awaited[1..].iter().map(|fd| !fd.revents().intersects(over)).collect();
        for (lane, open) in lanes.iter_mut().filter(|lane| lane.open).zip(open) {
            lane.open = open;
        }
        return Ok(stopped);
    }
}

impl Lane {
    /// Carries what there is by now, and returns how many events that was. What the kernel writes meanwhile waits for
    /// the next time: the reader must not run after its own tail.
    fn carry<S>(&mut self, batch: &mut Vec<Event>, sink: &mut S) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        let head = self.buffer.head();
        let mut given = 0;
        loop {
            batch.clear();
            let (decoder, events) = (&mut self.decoder, &mut *batch);
            if !self.buffer.take(head, |record| decoder.decode(record, events)) {
                return Ok(given);
            }
            given += self.give(batch, sink)?;
        }
    }

    /// Says what was lost since the last record, which no record follows.
    fn account_for_losses<S>(&mut self, batch: &mut Vec<Event>, sink: &mut S) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        batch.clear();
        if let Some(total) = self.counter.lost()? {
            self.decoder.lost_in_all(total, now(ClockId::Monotonic), batch);
        }
        self.give(batch, sink)
    }

    fn give<S>(&self, batch: &[Event], sink: &mut S) -> Result<u64, PerfError>
    where
        S: FnMut(CpuId, &[Event]) -> io::Result<()>,
    {
        if batch.is_empty() {
            return Ok(0);
        }
        let cpu = self.counter.cpu();
        sink(cpu, batch).map_err(|source| PerfError::Sink { cpu, source })?;
        Ok(batch.len() as u64)
    }
}

fn now(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock);
    Nanos(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}
