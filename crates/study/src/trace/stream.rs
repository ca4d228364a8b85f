//! Event stream: the file format for the events of a trace.
//!
//! ```text
//! magic, version
//! frame: header, compressed events of one CPU      any number of times
//! end: the number of events of each CPU            absent if the writer was killed
//! ```
//!
//! Each frame holds all data needed to read it. A file that is cut off by a kill, or damaged in one
//! place, loses only the frames at that place. The number of lost events is known. docs/format.md
//! gives every byte. Nothing here knows the meaning of events, or the directory of the file.

mod decode;
mod encode;
mod frame;
mod merge;
mod reader;
mod state;
mod varint;
mod writer;

use std::io;

use super::event::Event;
use crate::CpuId;

pub use merge::{Decoded, read_events};
pub use reader::{EventFrame, StreamReader};
pub use writer::StreamWriter;

/// Receiver of the events of one CPU, in the order of recording. A tracer calls it on a thread of
/// its own while the command runs, so it must be quick. An error ends the trace.
pub type EventSink = Box<dyn FnMut(CpuId, &[Event]) -> io::Result<()> + Send>;

/// First bytes of a stream.
const MAGIC: [u8; 8] = *b"MCEVENTS";

/// Version of the format. A new kind of event or frame does not change the version, because readers
/// skip unknown kinds.
const VERSION: u32 = 1;

/// Bytes before the first frame: [`MAGIC`] and the version.
const FILE_HEADER_BYTES: usize = 12;

/// Reason why a stream cannot be read at all. Damage within a stream is counted instead.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file does not begin like a stream.
    #[error("this is no event stream of morecores: trace again")]
    NotAStream,
    /// A later version wrote the stream.
    #[error("the event stream has version {found}; this morecores reads up to {VERSION}: use a newer one")]
    NewerVersion {
        /// Version that the stream names.
        found: u32,
    },
    /// A system call failed.
    #[error("cannot read the event stream: {0}")]
    Io(io::Error),
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
