//! All events of a stream in order of time. Nothing here knows how they are stored.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Read;
use std::vec;

use crate::trace::Event;
use crate::{CpuId, Nanos};

use super::{StreamError, StreamReader};

/// All that a stream tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// In order of time; at one time by CPU, and of one CPU as they were written. What damage has cost is told in place,
    /// as [`EventKind::Lost`](crate::trace::EventKind::Lost).
    pub events: Vec<Event>,
    /// Frames that could not be read.
    pub damaged_frames: u64,
    /// Events in those, as far as the rest of the stream tells.
    pub lost_events: u64,
    /// Events of kinds that only a later version knows, passed over.
    pub unknown_events: u64,
    /// Whether the end of the stream is missing: its writer was killed, or is still writing.
    pub cut_off: bool,
}

impl Decoded {
    /// Whether the events are all there are.
    pub const fn is_whole(&self) -> bool {
        self.damaged_frames == 0 && self.lost_events == 0 && !self.cut_off
    }
}

/// Reads a whole stream. Takes 88 bytes of memory per event; [`StreamReader`] reads frame by frame.
///
/// # Errors
/// [`StreamError`] where it cannot be read at all; damage within it is counted instead.
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

/// The events of one CPU, kept frame by frame so that a merged frame's memory is free again.
#[derive(Default)]
struct Lane {
    frames: Vec<Vec<Event>>,
    latest: Nanos,
    /// Whether a frame holds something earlier than one before it.
    overlapping: bool,
}

impl Lane {
    fn push(&mut self, mut events: Vec<Event>) {
        // An interrupt's event may stand before that of what it interrupted.
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

/// A place in a lane.
struct Cursor {
    frame: vec::IntoIter<Event>,
    later: vec::IntoIter<Vec<Event>>,
}

impl Cursor {
    /// Goes on to the next frame where this one is used up. No frame is empty.
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

    /// Said of [`read_events`], and what the bounds of a frame are computed from.
    #[test]
    fn an_event_in_memory_is_as_large_as_is_said() {
        assert_eq!(size_of::<Event>(), 88);
    }
}
