//! `pipe` and `socket`: numbered messages through one channel whose two ends all workers share.
//! Each worker writes a message and then reads one, its own or another's, so that there is always
//! one to read.

use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{SharedObject, Tally, call_error};
use crate::WorkloadError;

/// Channel of complete eight-byte messages: no boundary of a kernel buffer splits a message.
pub(super) struct Channel {
    writer: OwnedFd,
    reader: OwnedFd,
}

impl Channel {
    pub(super) fn pipe() -> Result<Self, WorkloadError> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| call_error("pipe2", error))?;
        Ok(Self { writer, reader })
    }

    /// A stream socket, since a queue of datagrams is full after ten.
    pub(super) fn socket() -> Result<Self, WorkloadError> {
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (reader, writer) = pair.map_err(|error| call_error("socketpair", error))?;
        Ok(Self { writer, reader })
    }
}

impl SharedObject for Channel {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let mut tally = Tally::default();
        for number in operations {
            rustix::io::write(&self.writer, &number.to_ne_bytes())
                .map_err(|error| call_error("write", error))?;
            let mut message = [0; 8];
            if rustix::io::read(&self.reader, &mut message).map_err(|error| call_error("read", error))?
                == message.len()
            {
                tally.add(u64::from_ne_bytes(message));
            }
        }
        Ok(tally)
    }
}
