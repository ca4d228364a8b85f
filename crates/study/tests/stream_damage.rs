//! Tests that a cut or damaged stream yields all other events, reports the losses, and never
//! panics.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

mod support;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use morecores_study::trace::*;
use morecores_study::*;
use support::*;

/// Three frames of one CPU and two frames of another, alternating.
fn sample() -> (Vec<(u32, Vec<Event>)>, Vec<u8>) {
    let frames: Vec<_> = (0..5_u32)
        .map(|index| (index % 2, plain(index % 2, 100_000 * u64::from(index), 20 + u64::from(index))))
        .collect();
    let written = stream(&frames);
    (frames, written)
}

fn is_lost(event: &Event) -> bool {
    matches!(event.kind, EventKind::Lost { .. })
}

/// Number of lost events that the events report.
fn told(decoded: &Decoded) -> u64 {
    let lost = |event: &Event| if let EventKind::Lost { events } = event.kind { events } else { 0 };
    decoded.events.iter().map(lost).sum()
}

#[test]
fn a_stream_cut_at_any_byte_gives_the_frames_before() {
    let (frames, written) = sample();
    let starts = frame_starts(&written);
    for cut in 0..written.len() {
        let decoded = read_events(&written[..cut]).unwrap();
        let whole = starts.iter().skip(1).filter(|&&end| end <= cut).count();
        let events: usize = frames[..whole].iter().map(|frame| frame.1.len()).sum();
        assert_eq!(decoded.events.len(), events, "cut at {cut}");
        assert!(decoded.cut_off && decoded.damaged_frames == 0, "cut at {cut}");
    }
    assert!(!read_events(written.as_slice()).unwrap().cut_off);
}

#[test]
fn a_flipped_bit_loses_one_frame_and_is_counted() {
    let (frames, written) = sample();
    let starts = frame_starts(&written);
    let total: u64 = frames.iter().map(|frame| frame.1.len() as u64).sum();
    for bit in FILE_HEADER * 8..written.len() * 8 {
        let mut damaged = written.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let decoded = read_events(damaged.as_slice()).unwrap();
        let hit = starts.iter().rposition(|&start| start <= bit / 8).unwrap();
        assert_eq!(decoded.damaged_frames, 1, "bit {bit}");
        let kept = decoded.events.iter().filter(|event| !is_lost(event)).count() as u64;
        if let Some((_, lost)) = frames.get(hit) {
            assert_eq!(decoded.lost_events, lost.len() as u64, "bit {bit}");
            assert_eq!(told(&decoded), lost.len() as u64, "bit {bit}");
            assert_eq!(kept + decoded.lost_events, total, "bit {bit}");
            assert!(!decoded.cut_off && !decoded.is_complete(), "bit {bit}");
        } else {
            // The flipped bit is in the end of the stream.
            assert!(decoded.cut_off && kept == total, "bit {bit}");
        }
    }
}

#[test]
fn a_loss_is_reported_at_its_place_on_its_cpu() {
    let (frames, written) = sample();
    let starts = frame_starts(&written);
    // Damages the second frame of CPU 0, and the last frame of CPU 1.
    let mut damaged = written.clone();
    damaged[starts[2] + FRAME_HEADER + 3] ^= 1;
    damaged[starts[3] + 17] ^= 1;
    let decoded = read_events(damaged.as_slice()).unwrap();
    assert_eq!(decoded.damaged_frames, 2);
    let lost: Vec<&Event> = decoded.events.iter().filter(|event| is_lost(event)).collect();
    let latest = frames[4].1.last().unwrap().at;
    let expected = [
        Event { at: frames[4].1[0].at, cpu: CpuId(0), kind: EventKind::Lost { events: 22 } },
        // Only the end of the stream reports this loss.
        Event { at: latest, cpu: CpuId(1), kind: EventKind::Lost { events: 23 } },
    ];
    assert_eq!(lost, expected.iter().collect::<Vec<_>>());
    assert!(decoded.events.is_sorted_by_key(|event| event.at));
}

#[test]
fn missing_repeated_and_foreign_bytes_between_frames_are_skipped() {
    let (frames, written) = sample();
    let starts = frame_starts(&written);
    let part = |index: usize| &written[starts[index]..starts[index + 1]];
    let total: usize = frames.iter().map(|frame| frame.1.len()).sum();

    let missing = [&written[..starts[1]], &written[starts[3]..]].concat();
    let decoded = read_events(missing.as_slice()).unwrap();
    assert_eq!((decoded.damaged_frames, decoded.lost_events), (2, 21 + 22));

    let repeated = [&written[..starts[2]], part(1), &written[starts[2]..]].concat();
    let decoded = read_events(repeated.as_slice()).unwrap();
    assert_eq!((decoded.damaged_frames, decoded.lost_events, decoded.events.len()), (1, 0, total));

    for junk in [vec![0; 1], vec![0xf7; 4000], part(0)[..60].to_vec(), [0xf7, b'M', b'C'].repeat(50)] {
        let with_junk = [&written[..starts[2]], &junk, &written[starts[2]..]].concat();
        let decoded = read_events(with_junk.as_slice()).unwrap();
        // A whole header counts as a frame, and the frame after it is lost too.
        assert!(decoded.damaged_frames <= 2, "{} bytes", junk.len());
        assert!(decoded.events.len() + 23 >= total, "{} bytes", junk.len());
    }
}

/// Writer that accepts a given number of bytes and then fails like a killed process.
struct Killed<'a> {
    file: &'a mut Vec<u8>,
    left: usize,
}

impl Write for Killed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = bytes.len().min(self.left);
        self.left -= now;
        self.file.extend(&bytes[..now]);
        if now == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(now) }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_killed_writer_or_a_full_disk_leaves_whole_frames() {
    let (frames, written) = sample();
    for room in (0..written.len()).step_by(7) {
        let mut file = Vec::new();
        let failed = (|| {
            let mut writer = StreamWriter::new(Killed { file: &mut file, left: room })?;
            for (cpu, events) in &frames {
                writer.frame(CpuId(*cpu), events)?;
            }
            writer.finish().map(|_| ())
        })();
        assert!(failed.is_err());
        assert_eq!(file, written[..room]);
        assert!(read_events(file.as_slice()).unwrap().cut_off);
    }
}

#[test]
fn impossible_sizes_take_no_memory() {
    let huge = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let all_cpus = [0x0a, 0x01, 0x01, 0x03, 0xfe, 0x7f, 0x01].repeat(65_536);
    let hostile = [
        frame_of(RawFrame { events: u32::MAX, ..Default::default() }, 1 << 20, &huge),
        frame_of(RawFrame { events: 1, ..Default::default() }, u32::MAX, &huge),
        frame_of(RawFrame { events: 65_536, ..Default::default() }, 1 << 20, &huge),
        frame_of(RawFrame { events: 1, cpu: u32::MAX, ..Default::default() }, 1 << 20, &huge),
        frame(RawFrame { events: 65_536, ..Default::default() }, &all_cpus),
        frame(RawFrame { kind: 1, ..Default::default() }, &[0, 255, 255, 255, 255, 255, 255, 255, 255]),
    ];
    for frame in hostile {
        let decoded = read_events([file_header(), frame].concat().as_slice()).unwrap();
        assert_eq!((decoded.events.len(), decoded.damaged_frames), (0, 1));
    }
}

#[test]
fn the_largest_counts_do_not_overflow() {
    let lost = [0x0c, 0x01, 0x03];
    let header =
        RawFrame { events: 1, number: u32::MAX, before: u64::MAX, time: u64::MAX, ..Default::default() };
    let one = frame(header, &lost);
    let decoded = read_events([file_header(), one.clone(), one].concat().as_slice()).unwrap();
    assert_eq!(decoded.lost_events, u64::MAX);
}

/// Runs the fuzz target of fuzz/ for a second and without coverage. The target reads mutated
/// streams, and mutated content in frames with correct checksums.
#[test]
fn a_second_of_random_mutations() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % limit
    };
    let (_, written) = sample();
    let contents = contents_of_every_kind();
    let mut tried = 0;
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        let mut mutated = written.clone();
        for _ in 0..1 + next(8) {
            let at = next(mutated.len());
            match next(4) {
                0 => mutated[at] = next(256) as u8,
                1 => mutated[at] ^= 1 << next(8),
                2 => mutated.truncate(at.max(1)),
                _ => mutated.splice(at..at, (0..next(80)).map(|_| 0xf7).collect::<Vec<_>>()).for_each(drop),
            }
        }
        let _ = read_events(mutated.as_slice());

        let (events, content) = &contents[next(contents.len())];
        let mut content = content.clone();
        for _ in 0..1 + next(4) {
            let at = next(content.len());
            content[at] = next(256) as u8;
        }
        let header = RawFrame { events: *events, kind: u32::from(next(20) == 0), ..Default::default() };
        let decoded = read_events([file_header(), frame(header, &content)].concat().as_slice()).unwrap();
        assert!(decoded.events.is_sorted_by_key(|event| event.at));
        tried += 1;
    }
    assert!(tried > 100, "only {tried} mutations in a second");
}

/// Contents of frames of arbitrary events before compression, with the number of events.
fn contents_of_every_kind() -> Vec<(u32, Vec<u8>)> {
    use proptest::strategy::{Strategy, ValueTree};
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut contents = Vec::new();
    while contents.len() < 200 {
        let events = events(0).new_tree(&mut runner).unwrap().current();
        let written = stream(&[(0, events.clone())]);
        if events.is_empty() {
            continue;
        }
        let starts = frame_starts(&written);
        let content = &written[starts[0] + FRAME_HEADER..starts[1]];
        contents.push((events.len() as u32, zstd::bulk::decompress(content, 1 << 20).unwrap()));
    }
    contents
}
