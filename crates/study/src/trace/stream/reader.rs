//! Reader of a stream, frame by frame. It skips damaged parts and counts them. It takes memory for
//! one frame, whatever sizes the file states.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};

use zstd::bulk::Decompressor;

use crate::cpu::MAX_CPU;
use crate::trace::{Event, EventKind};
use crate::{CpuId, Nanos};

use super::decode::decode;
use super::frame::{
    END, EVENTS, FRAME_HEADER_BYTES, FRAME_MAGIC, FrameHeader, MOST_RAW_BYTES, MOST_STORED_BYTES,
};
use super::varint::{ByteReader, DecodeError};
use super::{FILE_HEADER_BYTES, MAGIC, StreamError, VERSION};

/// Events of one CPU, in the order in which they were written. If previous frames of this CPU were
/// lost, the first event is an [`EventKind::Lost`] with the number of lost events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFrame {
    /// CPU of the events.
    pub cpu: CpuId,
    /// Events of the CPU.
    pub events: Vec<Event>,
}

/// Reader of an event stream: an iterator over its frames, in the order in which they were written.
/// The losses so far are available at any time, and are final after the last frame.
pub struct StreamReader<R> {
    input: Window<R>,
    decompressor: Decompressor<'static>,
    /// Content of a frame, and [`ByteReader::PADDING`].
    raw: Vec<u8>,
    /// Frames to return before the next frame is read: losses that only the end of the stream
    /// reveals.
    ready: VecDeque<EventFrame>,
    /// Number of events of each CPU that were read or are known to be lost.
    accounted: BTreeMap<u32, u64>,
    /// Number of the next frame, if no frame is lost.
    expected: u32,
    damaged_frames: u64,
    lost_events: u64,
    unknown_events: u64,
    ended: bool,
    exhausted: bool,
}

impl<R> std::fmt::Debug for StreamReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("expected", &self.expected)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl<R: Read> StreamReader<R> {
    /// Reads the beginning of a stream. `input` needs no buffer.
    ///
    /// # Errors
    /// [`StreamError`]. A file that is cut off within its first bytes is a stream without events.
    pub fn new(input: R) -> Result<Self, StreamError> {
        let mut input = Window::new(input);
        let beginning = input.want(FILE_HEADER_BYTES)?;
        let (magic, version) = beginning.split_at(beginning.len().min(MAGIC.len()));
        if !MAGIC.starts_with(magic) {
            return Err(StreamError::NotAStream);
        }
        match version.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) {
            None | Some(VERSION) => {}
            Some(0) => return Err(StreamError::NotAStream),
            Some(found) => return Err(StreamError::NewerVersion { found }),
        }
        input.skip(FILE_HEADER_BYTES);
        Ok(Self {
            input,
            decompressor: Decompressor::new()?,
            raw: vec![0; MOST_RAW_BYTES as usize + ByteReader::PADDING],
            ready: VecDeque::new(),
            accounted: BTreeMap::new(),
            expected: 0,
            damaged_frames: 0,
            lost_events: 0,
            unknown_events: 0,
            ended: false,
            exhausted: false,
        })
    }

    /// Number of frames that could not be read.
    pub const fn damaged_frames(&self) -> u64 {
        self.damaged_frames
    }

    /// Number of events in the unreadable frames, as far as later frames or the end of the stream
    /// report it. The events also show each loss in its place, as [`EventKind::Lost`].
    pub const fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// Number of skipped events, whose kinds only a later version knows.
    pub const fn unknown_events(&self) -> u64 {
        self.unknown_events
    }

    /// Returns whether the end of the stream is missing: its writer was killed, or is still
    /// writing.
    pub const fn cut_off(&self) -> bool {
        !self.ended
    }

    fn next_frame(&mut self) -> Result<Option<EventFrame>, StreamError> {
        while !self.ended {
            let Some(header) = self.next_header()? else { return Ok(None) };
            let content = self.input.want(header.stored as usize)?;
            if content.len() < header.stored as usize {
                // The stream is cut off within this frame.
                return Ok(None);
            }
            let intact = crc32fast::hash(content) == header.checksum
                // The content of a later version's frame kind may not even be compressed.
                && (!matches!(header.kind, EVENTS | END)
                    || expand(&mut self.decompressor, content, &header, &mut self.raw).is_some());
            let frame =
                if self.is_next(&header) && intact { self.content(&header) } else { Err(DecodeError) };
            self.input.skip(header.stored as usize);
            match frame {
                Ok(None) => {}
                Ok(Some(frame)) => return Ok(Some(frame)),
                Err(DecodeError) => self.damaged_frames += 1,
            }
        }
        Ok(None)
    }

    /// Counts the frames missing before this one. A frame whose number came before is not a frame
    /// of this stream.
    fn is_next(&mut self, header: &FrameHeader) -> bool {
        let Some(missing) = header.number.checked_sub(self.expected) else { return false };
        self.damaged_frames += u64::from(missing);
        self.expected = header.number.saturating_add(1);
        true
    }

    /// Events of the frame whose content was expanded; `None` if the frame holds no events.
    fn content(&mut self, header: &FrameHeader) -> Result<Option<EventFrame>, DecodeError> {
        let padded = &self.raw[..header.raw as usize + ByteReader::PADDING];
        match header.kind {
            EVENTS => {
                let (mut events, unknown) = decode(header, padded)?;
                self.unknown_events += unknown;
                let first = events.iter().map(|event| event.at).min().unwrap_or(Nanos(header.time));
                if let Some(lost) = self.missing(header.cpu, header.before, first) {
                    events.insert(0, lost);
                }
                let accounted = self.accounted.entry(header.cpu).or_default();
                *accounted = accounted.saturating_add(u64::from(header.events));
                Ok(Some(EventFrame { cpu: CpuId(header.cpu), events }))
            }
            END => {
                for (cpu, total) in totals(padded)? {
                    if let Some(lost) = self.missing(cpu, total, Nanos(header.time)) {
                        self.ready.push_back(EventFrame { cpu: CpuId(cpu), events: vec![lost] });
                    }
                }
                self.ended = true;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Event that reports a loss, if this CPU should have had `before` events until `at` and had
    /// fewer.
    fn missing(&mut self, cpu: u32, before: u64, at: Nanos) -> Option<Event> {
        let accounted = self.accounted.entry(cpu).or_default();
        let events = before.checked_sub(*accounted).filter(|&events| events > 0)?;
        *accounted = before;
        self.lost_events = self.lost_events.saturating_add(events);
        Some(Event { at, cpu: CpuId(cpu), kind: EventKind::Lost { events } })
    }

    /// Next intact header, after which the input is at the frame's content; `None` at the end of
    /// the input.
    fn next_header(&mut self) -> io::Result<Option<FrameHeader>> {
        let mut passed_over = false;
        loop {
            let bytes = self.input.want(FRAME_HEADER_BYTES)?;
            let Some(header) = bytes.first_chunk() else {
                // The number of skipped frames is unknown; it is at least one.
                self.damaged_frames += u64::from(passed_over);
                return Ok(None);
            };
            if let Some(header) = FrameHeader::parse(header) {
                self.input.skip(FRAME_HEADER_BYTES);
                return Ok(Some(header));
            }
            passed_over = true;
            let next = bytes[1..].windows(FRAME_MAGIC.len()).position(|four| four == FRAME_MAGIC);
            // Without a match, the last bytes may still be the beginning of the magic bytes.
            let skip = next.map_or(bytes.len() - FRAME_MAGIC.len() + 1, |at| at + 1);
            self.input.skip(skip);
        }
    }
}

impl<R: Read> Iterator for StreamReader<R> {
    type Item = Result<EventFrame, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(frame) = self.ready.pop_front() {
            return Some(Ok(frame));
        }
        if self.exhausted {
            return None;
        }
        match self.next_frame() {
            Ok(Some(frame)) => Some(Ok(frame)),
            Ok(None) => {
                self.exhausted = true;
                self.ready.pop_front().map(Ok)
            }
            Err(error) => {
                self.exhausted = true;
                Some(Err(error))
            }
        }
    }
}

/// Expands the content of a frame to the beginning of `padded`; `None` unless the length matches
/// the header.
fn expand(
    decompressor: &mut Decompressor<'_>,
    content: &[u8],
    header: &FrameHeader,
    padded: &mut [u8],
) -> Option<()> {
    let length = decompressor.decompress_to_buffer(content, &mut padded[..header.raw as usize]).ok()?;
    (length == header.raw as usize).then_some(())
}

/// Number of events of each CPU, as the end of a stream gives it.
fn totals(padded: &[u8]) -> Result<Vec<(u32, u64)>, DecodeError> {
    let mut input = ByteReader::new(padded);
    let cpus: u32 = input.small()?;
    if cpus > MAX_CPU + 1 {
        return Err(DecodeError);
    }
    let mut totals = Vec::with_capacity(cpus as usize);
    for _ in 0..cpus {
        let cpu = input.small()?;
        if cpu > MAX_CPU {
            return Err(DecodeError);
        }
        totals.push((cpu, input.number()?));
    }
    // A later version may write more here.
    Ok(totals)
}

/// Current section of the input; it allows a reader to return to a position after a false header.
struct Window<R> {
    input: R,
    bytes: Vec<u8>,
    /// Section of `bytes` that was read and not yet skipped.
    start: usize,
    end: usize,
}

impl<R: Read> Window<R> {
    fn new(input: R) -> Self {
        // The buffer holds two frames, so that the rest of a read is not moved at every frame.
        let size = 2 * (FRAME_HEADER_BYTES + MOST_STORED_BYTES as usize);
        Self { input, bytes: vec![0; size], start: 0, end: 0 }
    }

    /// Next `count` bytes, or fewer at the end of the input. `count` is at most the size of a
    /// frame.
    fn want(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.start + count > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < count {
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.bytes[self.start..self.end.min(self.start + count)])
    }

    /// Skips bytes that `want` returned before.
    fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }
}
