//! Writing a stream, while a run is being measured: buffers and the compressor's memory are made once and used for
//! every frame, and a frame is one write.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use zstd::bulk::Compressor;

use crate::CpuId;
use crate::cpu::MAX_CPU;
use crate::trace::{Event, EventKind};

use super::encode::{Encoder, LONGEST_EVENT};
use super::frame::{
    END, EVENTS, FRAME_HEADER_BYTES, FrameHeader, MOST_CONFINED_CPUS, MOST_EVENTS, MOST_RAW_BYTES,
    MOST_STORED_BYTES,
};
use super::varint::Out;
use super::{FILE_HEADER_BYTES, MAGIC, VERSION};

/// How hard zstd tries. By `cargo bench -p morecores-study --bench stream`, whose events are like a build's, level 1 takes
/// 6.3 bytes and 26 ns an event, encoding included; level -1 7.3 bytes and the same time, level -7 7.4 bytes and 22 ns; level 3
/// 6.1 bytes and 42 ns.
const LEVEL: i32 = 1;

/// A frame is ended where the next event might not fit.
const FULL: usize = MOST_RAW_BYTES as usize - LONGEST_EVENT;

/// Writes an event stream.
///
/// Every frame is one write of at most a mebibyte, so `w` needs no buffer of its own, and a kill cuts at most one
/// frame.
pub struct StreamWriter<W: Write> {
    output: W,
    compressor: Compressor<'static>,
    /// Content of the frame being written.
    raw: Out,
    /// The frame as it is stored: header and compressed content.
    stored: Box<[u8]>,
    /// Frames so far.
    frames: u32,
    /// Events of each CPU so far.
    events: BTreeMap<u32, u64>,
    /// The latest time so far.
    latest: u64,
}

impl<W: Write> fmt::Debug for StreamWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("frames", &self.frames).field("events", &self.events).finish()
    }
}

impl<W: Write> StreamWriter<W> {
    /// Begins a stream.
    ///
    /// # Errors
    /// Those of writing to `output`, and want of memory.
    pub fn new(output: W) -> io::Result<Self> {
        Self::with_level(output, LEVEL)
    }

    /// The same with a compression level of zstd's, for the bench that chooses it.
    #[doc(hidden)]
    pub fn with_level(mut output: W, level: i32) -> io::Result<Self> {
        let mut header = [0; FILE_HEADER_BYTES];
        header[..MAGIC.len()].copy_from_slice(&MAGIC);
        header[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
        output.write_all(&header)?;
        Ok(Self {
            output,
            compressor: Compressor::new(level)?,
            raw: Out::new(MOST_RAW_BYTES as usize),
            stored: vec![0; FRAME_HEADER_BYTES + MOST_STORED_BYTES as usize].into_boxed_slice(),
            frames: 0,
            events: BTreeMap::new(),
            latest: 0,
        })
    }

    /// Writes the events that one CPU has had since its frame before, in their order; where they are many, as several
    /// frames. Which CPU is told by `cpu`; what the events say of it is not written. Allocates at a
    /// CPU's first frame, and zstd's memory at the first ones; never per event.
    ///
    /// # Errors
    /// Those of writing: what was not written counts as lost, a reader says so, and later frames may still be written.
    /// [`io::ErrorKind::InvalidInput`] for a CPU whose number no kernel gives.
    pub fn frame(&mut self, cpu: CpuId, events: &[Event]) -> io::Result<()> {
        if cpu.0 > MAX_CPU {
            return Err(impossible_cpu());
        }
        let mut rest = events;
        while let [first, ..] = rest {
            let time = first.at.0;
            let count = self.encode(time, rest)?;
            let (now, later) = rest.split_at(count);
            rest = later;
            let before = self.events.entry(cpu.0).or_default();
            // `count` is at most MOST_EVENTS.
            let header = FrameHeader {
                kind: EVENTS,
                events: count as u32,
                cpu: cpu.0,
                before: *before,
                time,
                ..Default::default()
            };
            *before += count as u64;
            self.latest = now.iter().fold(self.latest, |latest, event| latest.max(event.at.0));
            self.store(header)?;
        }
        Ok(())
    }

    /// Says that nothing follows. Without it a reader takes the stream for cut off.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> io::Result<W> {
        self.raw.clear();
        self.raw.number(self.events.len() as u64);
        for (&cpu, &events) in &self.events {
            self.raw.number(u64::from(cpu));
            self.raw.number(events);
        }
        self.store(FrameHeader { kind: END, time: self.latest, ..Default::default() })?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Encodes as many events as one frame holds, and returns how many those were.
    fn encode(&mut self, time: u64, events: &[Event]) -> io::Result<usize> {
        self.raw.clear();
        let mut encoder = Encoder::new(&mut self.raw, time);
        let mut confined = 0;
        for (count, event) in events.iter().take(MOST_EVENTS as usize).enumerate() {
            if let EventKind::Confined { allowed, .. } = &event.kind {
                if allowed.iter().next_back().is_some_and(|last| last.0 > MAX_CPU) {
                    return Err(impossible_cpu());
                }
                confined += allowed.len();
                if confined > MOST_CONFINED_CPUS as usize {
                    return Ok(count);
                }
            }
            if encoder.length() > FULL {
                return Ok(count);
            }
            encoder.event(event);
        }
        Ok(events.len().min(MOST_EVENTS as usize))
    }

    /// Compresses what was encoded and writes it behind its header.
    fn store(&mut self, header: FrameHeader) -> io::Result<()> {
        let number = self.frames;
        self.frames += 1;
        let (raw, content) = (self.raw.written(), &mut self.stored[FRAME_HEADER_BYTES..]);
        let stored = self.compressor.compress_to_buffer(raw, content)?;
        let header = FrameHeader {
            checksum: crc32fast::hash(&content[..stored]),
            // Both fit: the buffers are no larger than their bounds, which are of this type.
            stored: stored as u32,
            raw: raw.len() as u32,
            number,
            ..header
        };
        self.stored[..FRAME_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        self.output.write_all(&self.stored[..FRAME_HEADER_BYTES + stored])
    }
}

fn impossible_cpu() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("Linux numbers CPUs up to {MAX_CPU}"))
}
