//! Merge of all events of a stream in time order. Nothing here knows how the events are stored.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Read;
use std::vec;

use crate::trace::Event;
use crate::{CpuId, Nanos};

use super::{StreamError, StreamReader};

/// Content of a whole stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Events in time order; events of equal time are sorted by CPU, and those of one CPU keep the
    /// written order. Each loss from damage is shown in its place, as
    /// [`EventKind::Lost`](crate::trace::EventKind::Lost).
    pub events: Vec<Event>,
    /// Number of frames that could not be read.
    pub damaged_frames: u64,
    /// Number of events in the unreadable frames, as far as the rest of the stream reports it.
    pub lost_events: u64,
    /// Number of skipped events, whose kinds only a later version knows.
    pub unknown_events: u64,
    /// Whether the end of the stream is missing: its writer was killed, or is still writing.
    pub cut_off: bool,
}

impl Decoded {
    /// Returns whether no events are missing.
    pub const fn is_complete(&self) -> bool {
        self.damaged_frames == 0 && self.lost_events == 0 && !self.cut_off
    }
}

/// Reads a whole stream. The events take 88 bytes of memory each; [`StreamReader`] reads frame by
/// frame.
///
/// # Errors
/// [`StreamError`] if the stream cannot be read at all; damage within the stream is counted
/// instead.
pub fn read_events(input: impl Read) -> Result<Decoded, StreamError> {
    let mut reader = StreamReader::new(input)?;
    let mut lanes = BTreeMap::<CpuId, Lane>::new();
    for frame in &mut reader {
        let frame = frame?;
        lanes.entry(frame.cpu).or_default().push(frame.events);
    }
    Ok(Decoded {
        events: merge(lanes.into_values()),
        damaged_frames: reader.damaged_frames(),
        lost_events: reader.lost_events(),
        unknown_events: reader.unknown_events(),
        cut_off: reader.cut_off(),
    })
}

/// Events of one CPU, kept frame by frame, so that the memory of a merged frame is released.
#[derive(Default)]
struct Lane {
    frames: Vec<Vec<Event>>,
    latest: Nanos,
    /// Whether a frame holds an event that is earlier than an event of a previous frame.
    overlapping: bool,
}

impl Lane {
    fn push(&mut self, mut events: Vec<Event>) {
        // The event of an interrupt may precede the event that it interrupted.
        if !events.is_sorted_by_key(|event| event.at) {
            events.sort_by_key(|event| event.at);
        }
        if let [first, .., last] | [first @ last] = events.as_slice() {
            self.overlapping |= first.at < self.latest;
            self.latest = self.latest.max(last.at);
            self.frames.push(events);
        }
    }

    fn into_cursor(mut self) -> Cursor {
        if self.overlapping {
            let mut events: Vec<Event> = self.frames.into_iter().flatten().collect();
            events.sort_by_key(|event| event.at);
            self.frames = vec![events];
        }
        let mut cursor = Cursor { frame: Vec::new().into_iter(), later: self.frames.into_iter() };
        cursor.refill();
        cursor
    }
}

/// Position in a lane.
struct Cursor {
    frame: vec::IntoIter<Event>,
    later: vec::IntoIter<Vec<Event>>,
}

impl Cursor {
    /// Moves to the next frame after the last event of the current frame. No frame is empty.
    fn refill(&mut self) {
        if self.frame.as_slice().is_empty()
            && let Some(next) = self.later.next()
        {
            self.frame = next.into_iter();
        }
    }

    fn next_at(&self) -> Option<Nanos> {
        self.frame.as_slice().first().map(|event| event.at)
    }
}

fn merge(lanes: impl Iterator<Item = Lane>) -> Vec<Event> {
    let lanes: Vec<Lane> = lanes.collect();
    let mut merged = Vec::with_capacity(lanes.iter().flat_map(|lane| &lane.frames).map(Vec::len).sum());
    let mut cursors: Vec<Cursor> = lanes.into_iter().map(Lane::into_cursor).collect();
    // The lanes are in the order of their CPUs, so that their indices decide between equal times.
    let next = |(lane, cursor): (usize, &Cursor)| cursor.next_at().map(|at| Reverse((at, lane)));
    let mut heap: BinaryHeap<_> = cursors.iter().enumerate().filter_map(next).collect();
    while let Some(Reverse((_, lane))) = heap.pop() {
        let cursor = &mut cursors[lane];
        let until = heap.peek().map(|Reverse(other)| *other);
        let is_due = |event: &Event| until.is_none_or(|until| (event.at, lane) < until);
        let due = cursor.frame.as_slice().iter().take_while(|event| is_due(event)).count();
        merged.extend(cursor.frame.by_ref().take(due));
        cursor.refill();
        heap.extend(next((lane, cursor)));
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a size that the documentation of [`read_events`] states and from which the bounds of
    /// a frame are computed.
    #[test]
    fn an_event_in_memory_has_the_documented_size() {
        assert_eq!(size_of::<Event>(), 88);
    }
}
