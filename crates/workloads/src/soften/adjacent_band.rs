//! Communication between two bands: rows, in buffers that go back and forth.
//!
//! This module is independent of the use of the rows.

use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One end of the boundary between two bands.
pub(super) struct AdjacentBand {
    sender: Sender<Vec<u8>>,
    receiver: Receiver<Vec<u8>>,
    /// Buffer of the last received rows, reused for the next send. No allocation is needed once
    /// both buffers are in use.
    free_buffer: Vec<u8>,
}

impl AdjacentBand {
    /// Both ends of a boundary.
    pub(super) fn pair() -> (Self, Self) {
        let (down, from_above) = channel();
        let (up, from_below) = channel();
        let end = |sender, receiver| Self { sender, receiver, free_buffer: Vec::new() };
        (end(down, from_below), end(up, from_above))
    }

    /// Sends these rows to the neighbour without waiting; `None` if the neighbour is gone.
    pub(super) fn send(&mut self, rows: &[u8]) -> Option<()> {
        let mut buffer = mem::take(&mut self.free_buffer);
        buffer.clear();
        buffer.extend_from_slice(rows);
        self.sender.send(buffer).ok()
    }

    /// Waits for the neighbour's rows; `None` if the neighbour is gone.
    pub(super) fn receive(&mut self, rows: &mut [u8]) -> Option<()> {
        self.free_buffer = self.receiver.recv().ok()?;
        rows.copy_from_slice(&self.free_buffer);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_both_ways_and_a_missing_neighbour_is_noticed() {
        let (mut one, mut other) = AdjacentBand::pair();
        let mut rows = [0; 2];
        for round in 1..4 {
            one.send(&[round, 1]).unwrap();
            other.send(&[round, 2]).unwrap();
            one.receive(&mut rows).unwrap();
            assert_eq!(rows, [round, 2]);
            other.receive(&mut rows).unwrap();
            assert_eq!(rows, [round, 1]);
        }
        drop(other);
        assert_eq!(one.send(&[0, 0]), None);
        assert_eq!(one.receive(&mut rows), None);
    }
}
