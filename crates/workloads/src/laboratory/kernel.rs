//! A kernel lock: the lock of an open file's offset (`f_pos_lock`), a mutex that `read` holds while
//! it copies.
//!
//! A turn is one `read` by any thread through one descriptor. The number of copied bytes determines
//! the hold time. The file is in memory and consists of a hole: it takes no memory and never ends.
//! The file's offset shows the number of turns, and is too small if two turns ran at once.
//!
//! The moment at which a call acquires the lock is invisible, so the wait for the lock cannot be
//! separated from the call.

use std::os::fd::{AsRawFd, OwnedFd};

use morecores_study::{Bytes, Nanos};
use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom, ftruncate, memfd_create, open, seek};
use rustix::io::read;

use super::post::Post;
use crate::WorkloadError;
use crate::clock::Span;

/// Length of the file. No contest reaches its end, which is a year away at a hundred gigabytes per
/// second. Every in-memory file system accepts this length.
const LENGTH: u64 = 1 << 61;

/// Maximum number of bytes that a turn copies: more than a millisecond's worth on any current
/// machine.
const MOST: Bytes = Bytes::from_kib(64 * 1024);

/// Number of times that one number of bytes is timed; the fastest counts.
const TRIES: u32 = 30;

/// An open file that threads read.
#[derive(Debug)]
pub(super) struct Offset(OwnedFd);

impl Offset {
    pub(super) fn new() -> Result<Self, WorkloadError> {
        let failed = |call: &'static str| {
            move |error: rustix::io::Errno| WorkloadError::Failed {
                program: format!("the system call {call}"),
                reason: error.to_string(),
            }
        };
        let made = memfd_create("morecores-lock", MemfdFlags::CLOEXEC).map_err(failed("memfd_create"))?;
        ftruncate(&made, LENGTH).map_err(failed("ftruncate"))?;
        // The second open by name is needed: the kernel locks the offset of a file that was opened
        // by name, but not of a file that was made without a name.
        let name = format!("/proc/self/fd/{}", made.as_raw_fd());
        let file = open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed("openat"))?;
        Ok(Self(file))
    }

    /// Current file offset; zero if the kernel does not report it.
    fn at(&self) -> u64 {
        seek(&self.0, SeekFrom::Current(0)).unwrap_or(0)
    }

    /// Shortest time of a read of the buffer's length, in nanoseconds.
    fn measured(&self, buffer: &mut [u8]) -> f64 {
        let reads = (65_536 / buffer.len()).clamp(1, 100) as u64;
        let batch = |file: &Self, buffer: &mut [u8]| {
            let (span, ()) = Span::of(|| (0..reads).for_each(|_| file.read(buffer)));
            span.to.since(span.from).0.max(1)
        };
        let best = (0..TRIES).map(|_| batch(self, buffer)).min().unwrap_or(1);
        best as f64 / reads as f64
    }

    /// Takes one turn. A failed read leaves the offset unchanged, so that the final check finds it.
    fn read(&self, buffer: &mut [u8]) {
        let _ = read(&self.0, buffer);
    }
}

impl Post for Offset {
    /// Bytes to copy.
    type Hold = usize;
    type Hand = Vec<u8>;

    /// The call itself is additional: it is part of the cost of a lock that is taken by a system
    /// call.
    fn hold(time: Nanos) -> Result<usize, WorkloadError> {
        if time == Nanos::ZERO {
            return Ok(1);
        }
        let file = Self::new()?;
        bytes_lasting(time, |bytes| file.measured(&mut vec![1; bytes]))
    }

    fn memory(hold: usize) -> Bytes {
        Bytes(hold as u64)
    }

    fn hand(hold: usize) -> Vec<u8> {
        // The buffer is written to, so that no page fault occurs under the lock.
        vec![1; hold]
    }

    #[inline(always)]
    fn turn(&self, buffer: &mut Vec<u8>) {
        self.read(buffer);
    }

    fn watched(&self, buffer: &mut Vec<u8>) -> Option<Nanos> {
        self.read(buffer);
        None
    }

    #[inline(always)]
    fn touch(&self, buffer: &mut Vec<u8>) {
        self.read(&mut buffer[..1]);
    }

    fn turns(&self, hold: usize) -> u64 {
        self.at() / hold as u64
    }
}

/// Number of bytes that takes `time` to copy, without the call itself. `measured` returns the
/// shortest time to read a number of bytes, in nanoseconds.
fn bytes_lasting(time: Nanos, measured: impl Fn(usize) -> f64) -> Result<usize, WorkloadError> {
    let call = measured(1);
    // The start is so large that the call is small in comparison.
    let mut bytes = 65_536;
    for _ in 0..3 {
        let copying = (measured(bytes) - call).max(1.0);
        let wanted = (bytes as f64 * time.0 as f64 / copying).round() as u64;
        if wanted > MOST.0 {
            return Err(WorkloadError::Unfit(format!(
                "a lock of the kernel cannot be held for {} ms by one system call: hold it for less",
                time.0 as f64 / 1e6
            )));
        }
        bytes = (wanted as usize).max(1);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_keep_each_other_out() {
        const EACH: u64 = 20_000;
        let file = &Offset::new().unwrap();
        let piece = || (0..EACH).for_each(|_| file.turn(&mut vec![1; 3]));
        crate::team::run("lock", vec![piece; 4]).unwrap();
        assert_eq!(file.turns(3), 4 * EACH);
    }

    #[test]
    fn turns_are_counted_by_the_offset() {
        let file = Offset::new().unwrap();
        let mut hand = Offset::hand(7);
        for _ in 0..5 {
            file.turn(&mut hand);
        }
        assert_eq!((file.turns(7), file.at()), (5, 35));
    }

    #[test]
    fn as_many_bytes_are_read_as_take_the_time_that_was_asked_for() {
        assert_eq!(Offset::hold(Nanos::ZERO).unwrap(), 1);
        for (call, each) in [(200.0, 0.02), (1_000.0, 0.1), (300.0, 1.0)] {
            // Beyond a cache of 256 KiB a byte takes half as long again.
            let takes = |bytes: usize| {
                call + each * bytes as f64 + 0.5 * each * bytes.saturating_sub(256 << 10) as f64
            };
            for time in [2_000.0, 20_000.0, 200_000.0] {
                let bytes = bytes_lasting(Nanos(time as u64), takes).unwrap();
                let off = takes(bytes) - call - time;
                assert!(off.abs() <= each + 0.01 * time, "{time} on {call} {each}: {off}");
            }
        }
        let error = bytes_lasting(Nanos::from_millis(60_000), |bytes| bytes as f64).unwrap_err();
        assert!(error.to_string().contains("hold it for less"), "{error}");
    }
}
