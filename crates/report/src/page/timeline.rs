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

/// Starts and ends of stretches since the start of the run, each ascending.
#[derive(Clone, Copy, Debug)]
pub struct Stretches<'a> {
    /// Starts.
    pub starts: &'a [Nanos],
    /// Ends.
    pub ends: &'a [Nanos],
}

/// Stretches of a command.
#[derive(Clone, Copy, Debug)]
pub struct CommandStretches<'a> {
    /// Name of the command.
    pub name: &'a str,
    /// Stretches in which a thread of it ran.
    pub running: Stretches<'a>,
    /// Stretches in which it ran on the critical path.
    pub path: Stretches<'a>,
}

/// Timeline of a traced run on `cpus` CPUs with `n` for `{n}`: the running stretches of each
/// command, those of ready threads, and the stretches of each command on the critical path.
///
/// # Errors
///
/// Never fails in practice: writing to memory does not fail.
pub fn page_timeline(
    cpus: u32,
    n: u32,
    commands: &[CommandStretches<'_>],
    ready: Stretches<'_>,
) -> io::Result<PageTimeline> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let running = commands.iter().map(|command| command.running);
    let lists = running.chain([ready]).chain(commands.iter().map(|command| command.path));
    let mut stretches = Vec::new();
    for Stretches { starts, ends } in lists {
        stretches.push(starts.len() as u32);
        packed.write_all(&encode_differences(starts))?;
        packed.write_all(&encode_differences(ends))?;
    }
    Ok(PageTimeline {
        cpus,
        n,
        commands: commands.iter().map(|command| command.name.to_owned()).collect(),
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
        let both = Stretches { starts: &starts, ends: &ends };
        let one = Stretches { starts: &starts[..1], ends: &ends[..1] };
        let cc1 = CommandStretches { name: "cc1", running: both, path: one };
        let timeline = page_timeline(2, 4, &[cc1], one).unwrap();
        assert_eq!((timeline.cpus, timeline.n, timeline.stretches.as_slice()), (2, 4, &[2, 1, 1][..]));
        let packed = STANDARD.decode(&timeline.data).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [1, 1, 5, 0xa7, 2, 1, 5, 1, 5]);
    }
}
