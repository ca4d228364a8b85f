//! The event stream: how the events of a trace are kept in a file.
//!
//! ```text
//! magic, version
//! frame: header, compressed events of one CPU      as many as there were
//! end: the number of events of each CPU            absent where the writer was killed
//! ```
//!
//! A frame says all that is needed to read it, so that a file cut off by a kill, or damaged in one place, loses the
//! frames there and no others, and what is lost is known by number. docs/format.md gives every byte. Nothing here knows what events mean,
//! or in which directory the file is.

mod decode;
mod encode;
mod frame;
mod merge;
mod reader;
mod state;
mod varint;
mod writer;

pub use merge::{Decoded, read_events};
pub use reader::{EventFrame, StreamReader};
pub use writer::StreamWriter;

/// The first bytes of a stream.
const MAGIC: [u8; 8] = *b"MCEVENTS";

/// The version of the format. A new kind of event or of frame does not change it: readers pass over those.
const VERSION: u32 = 1;

/// Bytes before the first frame: [`MAGIC`] and the version.
const FILE_HEADER_BYTES: usize = 12;

/// Why a stream cannot be read at all. What is damaged within a stream is counted instead.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// It does not begin like one.
    #[error("this is no event stream of morecores: trace again")]
    NotAStream,
    /// It was written by a later version.
    #[error("the event stream has version {found}; this morecores reads up to {VERSION}: use a newer one")]
    NewerVersion {
        /// What it says of itself.
        found: u32,
    },
    /// A system call failed.
    #[error("cannot read the event stream: {0}")]
    Io(#[from] std::io::Error),
}
