//! A lock of the kernel's: the one of an open file's offset (`f_pos_lock`), a mutex that `read` holds while it copies.
//!
//! A turn is one `read`, by whichever thread, through one descriptor. How long the lock is held is how many bytes are
//! copied. The file is in memory and all hole: it takes no memory, and never ends. Where its offset has come to says how
//! many turns there were, and it falls short where two of them were at it at once.
//!
//! When a call has got the lock is out of sight: the wait for it cannot be told from the call.

use std::os::fd::{AsRawFd, OwnedFd};

use morecores_study::{Bytes, Nanos};
use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom, ftruncate, memfd_create, open, seek};
use rustix::io::read;

use super::post::Post;
use crate::WorkloadError;
use crate::clock::Span;

/// Length of the file: no contest comes to its end, which at a hundred gigabytes a second is a year away, and every file
/// system in memory takes it.
const LENGTH: u64 = 1 << 61;

/// Bytes that a turn copies at most: more than a millisecond's on any machine of today.
const MOST: Bytes = Bytes::from_kib(64 * 1024);

/// How often a number of bytes is timed; the fastest counts.
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
        // Opened once more by its name: the kernel locks the offset of a file that was opened, and not of one that was made
        // without a name.
        let name = format!("/proc/self/fd/{}", made.as_raw_fd());
        let file = open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed("openat"))?;
        Ok(Self(file))
    }

    /// Where the next read begins; nothing where the kernel does not say.
    fn at(&self) -> u64 {
        seek(&self.0, SeekFrom::Current(0)).unwrap_or(0)
    }

    /// What a read of so many bytes takes at best, in nanoseconds.
    fn measured(&self, buffer: &mut [u8]) -> f64 {
        let reads = (65_536 / buffer.len()).clamp(1, 100) as u64;
        let batch = |file: &Self, buffer: &mut [u8]| {
            let (span, ()) = Span::of(|| (0..reads).for_each(|_| file.read(buffer)));
            span.to.since(span.from).0.max(1)
        };
        let best = (0..TRIES).map(|_| batch(self, buffer)).min().unwrap_or(1);
        best as f64 / reads as f64
    }

    /// One turn. One that fails leaves no trace in the offset, and so is found in the end.
    fn read(&self, buffer: &mut [u8]) {
        let _ = read(&self.0, buffer);
    }
}

impl Post for Offset {
    /// Bytes.
    type Hold = usize;
    type Hand = Vec<u8>;

    /// The call itself comes on top: it is what a lock costs that is met by a system call.
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
        // Written to, so that no page of it is met for the first time under the lock.
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

/// Bytes whose copying takes so long, the call itself left out; `measured` returns what reading some takes at best, in
/// nanoseconds.
fn bytes_lasting(time: Nanos, measured: impl Fn(usize) -> f64) -> Result<usize, WorkloadError> {
    let call = measured(1);
    // From so many that the call is little beside them.
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
