//! The header of a frame: its layout, its checksum, and the bounds that keep a damaged or hostile file from taking
//! memory. Nothing here knows what is in a frame.

use crate::cpu::MAX_CPU;

/// The first bytes of a frame, by which a reader finds the next one behind damage. Neither text nor a
/// beginning of zstd's.
pub(super) const FRAME_MAGIC: [u8; 4] = [0xf7, b'M', b'C', 0x9e];

/// Length of a frame's header.
pub(super) const FRAME_HEADER_BYTES: usize = 52;

/// Where the part begins that the header's checksum covers.
const COVERED: usize = 8;

/// Most events of one frame. With the 88 bytes of an event in memory, 6 MiB.
pub(super) const MOST_EVENTS: u32 = 1 << 16;

/// Most bytes of one frame before compression.
pub(super) const MOST_RAW_BYTES: u32 = 1 << 20;

/// Most bytes of one frame after compression. zstd adds at most 1/256, and 64 bytes, to what it cannot compress
/// (`ZSTD_COMPRESSBOUND` in zstd.h).
pub(super) const MOST_STORED_BYTES: u32 = MOST_RAW_BYTES + MOST_RAW_BYTES / 256 + 64;

/// Most CPUs in all the sets of one frame.
pub(super) const MOST_CONFINED_CPUS: u32 = 1 << 20;

/// Fewest bytes of an event: its kind and its time.
const LEAST_EVENT_BYTES: u32 = 2;

/// A frame of events.
pub(super) const EVENTS: u32 = 0;
/// The end of the stream, written last.
pub(super) const END: u32 = 1;

/// What stands before a frame's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// CRC-32 of the stored content.
    pub(super) checksum: u32,
    /// [`EVENTS`], [`END`], or one to be passed over.
    pub(super) kind: u32,
    /// Bytes of content that follow.
    pub(super) stored: u32,
    /// Bytes of content before compression.
    pub(super) raw: u32,
    /// Events in the content.
    pub(super) events: u32,
    /// Whose.
    pub(super) cpu: u32,
    /// Frames before this one in the stream.
    pub(super) number: u32,
    /// Events of this CPU in the frames before.
    pub(super) before: u64,
    /// The time from which the first event's is counted.
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

    /// The header at the beginning of `bytes`; none where they are not one, or one that no writer writes.
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
