//! Decodes arbitrary bytes as an event stream. After an even first byte the rest is the file
//! itself. After an odd first byte the rest is the content of a frame with correct checksums,
//! because a fuzzer would hardly ever guess the checksums.

#![no_main]

use libfuzzer_sys::fuzz_target;
use morecores_study::trace::read_events;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let stream = if choice % 2 == 0 { data.to_vec() } else { around(choice, data) };
    if let Ok(decoded) = read_events(stream.as_slice()) {
        assert!(decoded.events.is_sorted_by_key(|event| event.at));
    }
});

/// Stream of one frame with this content, by docs/format.md. The frame ends the stream for one
/// choice in eight. Otherwise it holds events, and the first two bytes give their number.
fn around(choice: u8, data: &[u8]) -> Vec<u8> {
    let (count, raw) = data.split_at(data.len().min(2));
    let events = count.iter().fold(0, |count, &byte| count << 8 | u32::from(byte));
    let kind = u32::from(choice >> 1 & 7 == 7);
    let content = zstd::bulk::compress(raw, 1).unwrap_or_default();
    let words =
        [crc32fast::hash(&content), kind, content.len() as u32, raw.len() as u32, events, 0, 0, 0, 0, 9, 0];
    let covered: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let header = [b"MCEVENTS".as_slice(), &[1, 0, 0, 0, 0xf7, b'M', b'C', 0x9e]].concat();
    [header.as_slice(), &crc32fast::hash(&covered).to_le_bytes(), &covered, &content].concat()
}
