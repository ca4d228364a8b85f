//! File of a trace's header: JSON, compressed with zstd, because the names of functions are many
//! and much alike. Older versions wrote the JSON as it is. This module must not know the folder.

use std::io;
use std::path::Path;

use crate::trace::TraceHeader;

/// Ending of the name of a header.
pub(super) const ENDING: &str = "json.zst";
/// Ending of the name of a header that an older version wrote.
const OLDER_ENDING: &str = "json";
/// Endings of the names of headers.
pub(super) const ENDINGS: [&str; 2] = [ENDING, OLDER_ENDING];

/// Compression level of zstd. The 281 kB of a compilation become 64 kB at level 3, 60 kB at this
/// level and 58 kB at level 9, each in less than 10 ms.
const LEVEL: i32 = 6;

/// Name of a trace by the path of its header; `None` if the path is of another file.
pub(super) fn stem(path: &Path) -> Option<&str> {
    let (stem, ending) = path.file_name()?.to_str()?.split_once('.')?;
    ENDINGS.contains(&ending).then_some(stem)
}

/// Content of a header's file.
pub(super) fn encode(header: &TraceHeader) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    // Otherwise a reader does not recognise every damage.
    encoder.include_checksum(true)?;
    serde_json::to_writer(&mut encoder, header)?;
    encoder.finish()
}

/// JSON in a header's file.
pub(super) fn decode(path: &Path, content: Vec<u8>) -> io::Result<Vec<u8>> {
    if path.extension().is_some_and(|ending| ending == OLDER_ENDING) {
        return Ok(content);
    }
    zstd::decode_all(content.as_slice())
}
