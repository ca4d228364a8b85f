//! Writer of a stream during a measured run. The buffers and the compressor's memory are allocated
//! once and reused for every frame, and a frame is one write.

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
use super::varint::ByteWriter;
use super::{FILE_HEADER_BYTES, MAGIC, VERSION};

/// Compression level of zstd. Costs per event by `cargo bench -p morecores-study --bench stream`,
/// whose events are like a build's, encoding included:
///
/// - level 3: 6.1 bytes and 42 ns
/// - level 1: 6.3 bytes and 26 ns
/// - level -1: 7.3 bytes and the same time as level 1
/// - level -7: 7.4 bytes and 22 ns
const LEVEL: i32 = 1;

/// Length from which a frame is ended, because the next event might not fit.
const FULL: usize = MOST_RAW_BYTES as usize - LONGEST_EVENT;

/// Writer of an event stream.
///
/// Every frame is one write of at most a mebibyte. The output therefore needs no buffer of its own,
/// and a kill cuts at most one frame.
pub struct StreamWriter<W: Write> {
    output: W,
    compressor: Compressor<'static>,
    /// Content of the frame being written.
    raw: ByteWriter,
    /// Frame as it is stored: header and compressed content.
    stored: Box<[u8]>,
    /// Number of frames so far.
    frames: u32,
    /// Number of events of each CPU so far.
    events: BTreeMap<u32, u64>,
    /// Latest time so far.
    latest: u64,
}

impl<W: Write> fmt::Debug for StreamWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("frames", &self.frames).field("events", &self.events).finish()
    }
}

impl<W: Write> StreamWriter<W> {
    /// Starts a stream.
    ///
    /// # Errors
    /// Errors of writing to `output`, and lack of memory.
    pub fn new(output: W) -> io::Result<Self> {
        Self::with_level(output, LEVEL)
    }

    /// Starts a stream with a given compression level of zstd, for the benchmark that chooses the
    /// level.
    #[doc(hidden)]
    pub fn with_level(mut output: W, level: i32) -> io::Result<Self> {
        let mut header = [0; FILE_HEADER_BYTES];
        header[..MAGIC.len()].copy_from_slice(&MAGIC);
        header[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
        output.write_all(&header)?;
        Ok(Self {
            output,
            compressor: Compressor::new(level)?,
            raw: ByteWriter::new(MOST_RAW_BYTES as usize),
            stored: vec![0; FRAME_HEADER_BYTES + MOST_STORED_BYTES as usize].into_boxed_slice(),
            frames: 0,
            events: BTreeMap::new(),
            latest: 0,
        })
    }

    /// Writes the events of one CPU since its previous frame, in their order; many events take
    /// several frames. `cpu` names the CPU; the CPU numbers in the events are not written. The call
    /// allocates memory for the first frame of a CPU, and zstd's memory for the first frames, but
    /// never per event.
    ///
    /// # Errors
    /// Errors of writing. Events that were not written count as lost, a reader reports them, and
    /// later frames may still be written. [`io::ErrorKind::InvalidInput`] for a CPU whose number no
    /// kernel gives.
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
            // `count` is at most `MOST_EVENTS`.
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

    /// Writes the end of the stream. Without it, a reader treats the stream as cut off.
    ///
    /// # Errors
    /// Errors of writing.
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

    /// Encodes as many events as one frame holds, and returns their number.
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

    /// Compresses the encoded events and writes them after their header.
    fn store(&mut self, header: FrameHeader) -> io::Result<()> {
        let number = self.frames;
        self.frames += 1;
        let (raw, content) = (self.raw.written(), &mut self.stored[FRAME_HEADER_BYTES..]);
        let stored = self.compressor.compress_to_buffer(raw, content)?;
        let header = FrameHeader {
            checksum: crc32fast::hash(&content[..stored]),
            // Both values fit: the buffers are no larger than their bounds, which have this type.
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
