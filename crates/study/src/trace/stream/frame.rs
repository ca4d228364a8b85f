//! Header of a frame: its layout, its checksum, and its bounds. The bounds prevent a damaged or
//! hostile file from taking memory. Nothing here knows the content of a frame.

use crate::cpu::MAX_CPU;

/// First bytes of a frame, by which a reader finds the next frame after damage. They are neither
/// text nor the beginning of zstd data.
pub(super) const FRAME_MAGIC: [u8; 4] = [0xf7, b'M', b'C', 0x9e];

/// Length of a frame's header.
pub(super) const FRAME_HEADER_BYTES: usize = 52;

/// Start of the part that the header's checksum covers.
const COVERED: usize = 8;

/// Maximum number of events in one frame. With the 88 bytes of an event in memory, this is 6 MiB.
pub(super) const MOST_EVENTS: u32 = 1 << 16;

/// Maximum length of one frame before compression, in bytes.
pub(super) const MOST_RAW_BYTES: u32 = 1 << 20;

/// Maximum length of one frame after compression, in bytes. For data that zstd cannot compress, it
/// adds at most 1/256 and 64 bytes (`ZSTD_COMPRESSBOUND` in zstd.h).
pub(super) const MOST_STORED_BYTES: u32 = MOST_RAW_BYTES + MOST_RAW_BYTES / 256 + 64;

/// Maximum number of CPUs in all sets of one frame together.
pub(super) const MOST_CONFINED_CPUS: u32 = 1 << 20;

/// Minimum length of an event, in bytes: its kind and its time.
const LEAST_EVENT_BYTES: u32 = 2;

/// Frame of events.
pub(super) const EVENTS: u32 = 0;
/// End of the stream, written last.
pub(super) const END: u32 = 1;

/// Header before a frame's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// CRC-32 of the stored content.
    pub(super) checksum: u32,
    /// Kind of the frame: [`EVENTS`], [`END`], or a kind to be skipped.
    pub(super) kind: u32,
    /// Bytes of content that follow.
    pub(super) stored: u32,
    /// Bytes of content before compression.
    pub(super) raw: u32,
    /// Number of events in the content.
    pub(super) events: u32,
    /// CPU of the events.
    pub(super) cpu: u32,
    /// Number of previous frames in the stream.
    pub(super) number: u32,
    /// Number of this CPU's events in the previous frames.
    pub(super) before: u64,
    /// Time from which the first event's time is counted.
    pub(super) time: u64,
}

impl FrameHeader {
    pub(super) fn to_bytes(self) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        let words = [self.checksum, self.kind, self.stored, self.raw, self.events, self.cpu, self.number];
        for (to, word) in bytes[COVERED..36].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[36..44].copy_from_slice(&self.before.to_le_bytes());
        bytes[44..].copy_from_slice(&self.time.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[COVERED..]);
        bytes[4..COVERED].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Parses the header at the beginning of `bytes`; `None` if they are not a header, or if no
    /// writer writes such a header.
    pub(super) fn parse(bytes: &[u8; FRAME_HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().map(|chunk| u32::from_le_bytes(*chunk));
        let long = |at: usize| bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        if !bytes.starts_with(&FRAME_MAGIC) || word(4)? != crc32fast::hash(&bytes[COVERED..]) {
            return None;
        }
        let header = Self {
            checksum: word(8)?,
            kind: word(12)?,
            stored: word(16)?,
            raw: word(20)?,
            events: word(24)?,
            cpu: word(28)?,
            number: word(32)?,
            before: long(36)?,
            time: long(44)?,
        };
        header.is_bounded().then_some(header)
    }

    fn is_bounded(&self) -> bool {
        self.stored <= MOST_STORED_BYTES
            && self.raw <= MOST_RAW_BYTES
            && self.events <= MOST_EVENTS.min(self.raw / LEAST_EVENT_BYTES)
            && self.cpu <= MAX_CPU
    }
}
