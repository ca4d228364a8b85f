//! The two ends of a pair's pipes, and the messages on them.
//!
//! This module has no processes and no clock.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::{WorkloadError, memory};

/// End of one process of a pair: it reads from one pipe and writes to the other.
#[derive(Debug)]
pub(super) struct PipeEnd {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl PipeEnd {
    /// Both ends of two pipes.
    pub(super) fn pair() -> io::Result<(Self, Self)> {
        let (forward, backward) = (pipe_with(PipeFlags::CLOEXEC)?, pipe_with(PipeFlags::CLOEXEC)?);
        Ok((Self { reader: backward.0, writer: forward.1 }, Self { reader: forward.0, writer: backward.1 }))
    }

    /// Sends all bytes; false if the other end is gone.
    pub(super) fn send(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match write(&self.writer, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Receives a message and compares it with `message`. A difference is returned as the first
    /// expected byte that differs and the received byte. `None` if the other end is gone.
    pub(super) fn receive(&self, message: &mut Message) -> Option<Result<(), (u8, u8)>> {
        let mut filled = 0;
        while filled < message.received.len() {
            match read(&self.reader, &mut message.received[filled..]) {
                Ok(0) => return None,
                Ok(length) => filled += length,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        if message.bytes == message.received {
            return Some(Ok(()));
        }
        let difference =
            message.bytes.iter().copied().zip(message.received.iter().copied()).find(|(a, b)| a != b);
        Some(difference.map_or(Ok(()), Err))
    }
}

/// Bytes to send or to expect, and the received bytes.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
    received: Vec<u8>,
}

impl Message {
    /// Message with room for `size` bytes.
    pub(super) fn new(size: u32) -> Result<Self, WorkloadError> {
        let buffer = || {
            let mut buffer = memory::reserve(size as usize, "--size")?;
            buffer.resize(size as usize, 0);
            Ok::<_, WorkloadError>(buffer)
        };
        Ok(Self { bytes: buffer()?, received: buffer()? })
    }

    /// Makes the message question `number`: words that count up from it, least significant byte
    /// first, with the last word truncated.
    pub(super) fn set_question(&mut self, number: u64) {
        for (word, bytes) in (number..).zip(self.bytes.chunks_mut(size_of::<u64>())) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    /// Makes the message the answer to question `number`: every bit of the question inverted, so
    /// that an echo does not pass for an answer.
    pub(super) fn set_answer(&mut self, number: u64) {
        self.set_question(number);
        self.bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }

    /// Bytes to send or to expect.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// First word of the received bytes, or its available part.
    pub(super) fn first_word(&self) -> &[u8] {
        &self.received[..self.received.len().min(size_of::<u64>())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_question_counts_on_and_its_answer_is_its_complement() {
        let mut message = Message::new(11).unwrap();
        message.set_question(0x01fe);
        assert_eq!(message.bytes(), [0xfe, 1, 0, 0, 0, 0, 0, 0, 0xff, 1, 0]);
        message.set_answer(0x01fe);
        assert_eq!(message.bytes(), [1, 0xfe, 255, 255, 255, 255, 255, 255, 0, 0xfe, 255]);
    }

    #[test]
    fn a_message_longer_than_a_pipe_arrives_whole_and_a_wrong_byte_of_it_is_found() {
        let size = 300_001;
        let (near, far) = PipeEnd::pair().unwrap();
        let mut sent = Message::new(size).unwrap();
        sent.set_question(5);
        let mut awaited = Message::new(size).unwrap();
        awaited.set_question(5);
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let first = far.send(sent.bytes());
                sent.bytes[200_000] ^= 3;
                first && far.send(sent.bytes())
            });
            assert_eq!(near.receive(&mut awaited), Some(Ok(())));
            assert_eq!(awaited.first_word(), 5u64.to_le_bytes());
            let right = awaited.bytes[200_000];
            assert_eq!(near.receive(&mut awaited), Some(Err((right, right ^ 3))));
            assert!(sender.join().unwrap());
        });
    }
}
