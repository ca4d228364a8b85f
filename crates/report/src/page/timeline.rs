//! A traced run over time in the page's format: differences in microseconds as LEB128, compressed,
//! in base64.
//!
//! A million stretches take some 4 MB in this format, and browsers can decode it:
//! `DecompressionStream`.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use morecores_study::Nanos;
use morecores_view::page::PageTimeline;

/// Nanoseconds in one unit of the page's times.
const MICROSECOND: u64 = 1_000;

/// Timeline of a traced run on `cpus` CPUs with `n` for `{n}`. For each command, and last for the
/// ready threads, it holds the starts and the ends of the stretches since the start of the run,
/// each ascending.
///
/// # Errors
///
/// Never fails in practice: writing to memory does not fail.
pub fn page_timeline(
    cpus: u32,
    n: u32,
    commands: &[(&str, &[Nanos], &[Nanos])],
    ready: (&[Nanos], &[Nanos]),
) -> io::Result<PageTimeline> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let lists = commands.iter().map(|(_, starts, ends)| (*starts, *ends)).chain([ready]);
    let mut stretches = Vec::new();
    for (starts, ends) in lists {
        stretches.push(starts.len() as u32);
        packed.write_all(&encode_differences(starts))?;
        packed.write_all(&encode_differences(ends))?;
    }
    Ok(PageTimeline {
        cpus,
        n,
        commands: commands.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        stretches,
        data: STANDARD.encode(packed.finish()?),
    })
}

fn encode_differences(times: &[Nanos]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * times.len());
    let mut before = 0;
    for time in times {
        let now = time.0 / MICROSECOND;
        push_leb128(now - before, &mut bytes);
        before = now;
    }
    bytes
}

/// Appends `value` to `into` as unsigned LEB128 (DWARF 5, section 7.6).
fn push_leb128(mut value: u64, into: &mut Vec<u8>) {
    while value >= 128 {
        into.push((value % 128) as u8 | 128);
        value /= 128;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn times_are_differences_in_microseconds() {
        let times = [0, 1_999, 130_000, 130_000, 5_000_000_000].map(Nanos);
        assert_eq!(encode_differences(&times), [0, 1, 0x81, 1, 0, 0xbe, 0x95, 0xb1, 2]);
    }

    #[test]
    fn every_list_is_present() {
        let (starts, ends) = ([Nanos(1_000), Nanos(2_000)], [Nanos(5_000), Nanos(300_000)]);
        let timeline = page_timeline(2, 4, &[("cc1", &starts, &ends)], (&starts[..1], &ends[..1])).unwrap();
        assert_eq!((timeline.cpus, timeline.n, timeline.stretches.as_slice()), (2, 4, &[2, 1][..]));
        let packed = STANDARD.decode(&timeline.data).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [1, 1, 5, 0xa7, 2, 1, 5]);
    }
}
