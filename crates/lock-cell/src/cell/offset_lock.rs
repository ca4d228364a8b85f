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

use super::lock_under_test::LockUnderTest;
use morecores_workloads::WorkloadError;
use morecores_workloads::clock::Span;

/// Length of the file. No measurement reaches its end, which is a year away at a hundred gigabytes
/// per second. Every in-memory file system accepts this length.
const LENGTH: u64 = 1 << 61;

/// Maximum number of bytes that a turn copies: more than a millisecond's worth on any current
/// machine.
const MAX_BYTES: Bytes = Bytes::from_kib(64 * 1024);

/// Number of times that one number of bytes is timed; the fastest counts.
const READ_TRIALS: u32 = 30;

/// An open file that threads read.
#[derive(Debug)]
pub(super) struct OffsetLock(OwnedFd);

impl OffsetLock {
    pub(super) fn new() -> Result<Self, WorkloadError> {
        let call_error = |call: &'static str| {
            move |error: rustix::io::Errno| WorkloadError::ProgramFailed {
                program: format!("the system call {call}"),
                reason: error.to_string(),
            }
        };
        let memory_file =
            memfd_create("morecores-lock", MemfdFlags::CLOEXEC).map_err(call_error("memfd_create"))?;
        ftruncate(&memory_file, LENGTH).map_err(call_error("ftruncate"))?;
        // The second open by name is needed: the kernel locks the offset of a file that was opened
        // by name, but not of a file that was made without a name.
        let name = format!("/proc/self/fd/{}", memory_file.as_raw_fd());
        let file =
            open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(call_error("openat"))?;
        Ok(Self(file))
    }

    /// Current file offset; zero if the kernel does not report it.
    fn offset(&self) -> u64 {
        seek(&self.0, SeekFrom::Current(0)).unwrap_or(0)
    }

    /// Shortest time of a read of the buffer's length, in nanoseconds.
    fn fastest_read_ns(&self, buffer: &mut [u8]) -> f64 {
        let reads = (65_536 / buffer.len()).clamp(1, 100) as u64;
        let batch = |file: &Self, buffer: &mut [u8]| {
            let (span, ()) = Span::measure(|| (0..reads).for_each(|_| file.read(buffer)));
            span.end.since(span.start).0.max(1)
        };
        let best = (0..READ_TRIALS).map(|_| batch(self, buffer)).min().unwrap_or(1);
        best as f64 / reads as f64
    }

    /// Takes one turn. A failed read leaves the offset unchanged, so that the final check finds it.
    fn read(&self, buffer: &mut [u8]) {
        let _ = read(&self.0, buffer);
    }
}

impl LockUnderTest for OffsetLock {
    /// Bytes to copy.
    type Hold = usize;
    type ThreadState = Vec<u8>;

    /// The call itself is additional: it is part of the cost of a lock that is taken by a system
    /// call.
    fn calibrate_hold(time: Nanos) -> Result<usize, WorkloadError> {
        if time == Nanos::ZERO {
            return Ok(1);
        }
        let file = Self::new()?;
        bytes_for_hold(time, |bytes| file.fastest_read_ns(&mut vec![1; bytes]))
    }

    fn memory(hold: usize) -> Bytes {
        Bytes(hold as u64)
    }

    fn thread_state(hold: usize) -> Vec<u8> {
        // The buffer is written to, so that no page fault occurs under the lock.
        vec![1; hold]
    }

    #[inline(always)]
    fn take_turn(&self, buffer: &mut Vec<u8>) {
        self.read(buffer);
    }

    fn take_timed_turn(&self, buffer: &mut Vec<u8>) -> Option<Nanos> {
        self.read(buffer);
        None
    }

    #[inline(always)]
    fn take_shortest_turn(&self, buffer: &mut Vec<u8>) {
        self.read(&mut buffer[..1]);
    }

    fn turn_count(&self, hold: usize) -> u64 {
        self.offset() / hold as u64
    }
}

/// Number of bytes that takes `time` to copy, without the call itself. `fastest_read_ns` returns
/// the shortest time to read a number of bytes, in nanoseconds.
fn bytes_for_hold(time: Nanos, fastest_read_ns: impl Fn(usize) -> f64) -> Result<usize, WorkloadError> {
    let call = fastest_read_ns(1);
    // The start is so large that the call is small in comparison.
    let mut bytes = 65_536;
    for _ in 0..3 {
        let copying = (fastest_read_ns(bytes) - call).max(1.0);
        let needed = (bytes as f64 * time.0 as f64 / copying).round() as u64;
        if needed > MAX_BYTES.0 {
            return Err(WorkloadError::CannotRun(format!(
                "a lock of the kernel cannot be held for {} ms by one system call: hold it for less",
                time.0 as f64 / 1e6
            )));
        }
        bytes = (needed as usize).max(1);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_exclude_each_other() {
        const EACH: u64 = 20_000;
        let file = &OffsetLock::new().unwrap();
        let piece = || (0..EACH).for_each(|_| file.take_turn(&mut vec![1; 3]));
        morecores_workloads::team::run("lock", vec![piece; 4]).unwrap();
        assert_eq!(file.turn_count(3), 4 * EACH);
    }

    #[test]
    fn turns_are_counted_by_the_offset() {
        let file = OffsetLock::new().unwrap();
        let mut thread_state = OffsetLock::thread_state(7);
        for _ in 0..5 {
            file.take_turn(&mut thread_state);
        }
        assert_eq!((file.turn_count(7), file.offset()), (5, 35));
    }

    #[test]
    fn the_number_of_bytes_takes_the_requested_time() {
        assert_eq!(OffsetLock::calibrate_hold(Nanos::ZERO).unwrap(), 1);
        for (call, each) in [(200.0, 0.02), (1_000.0, 0.1), (300.0, 1.0)] {
            // Beyond a cache of 256 KiB a byte takes half as long again.
            let read_ns = |bytes: usize| {
                call + each * bytes as f64 + 0.5 * each * bytes.saturating_sub(256 << 10) as f64
            };
            for time in [2_000.0, 20_000.0, 200_000.0] {
                let bytes = bytes_for_hold(Nanos(time as u64), read_ns).unwrap();
                let error_ns = read_ns(bytes) - call - time;
                assert!(error_ns.abs() <= each + 0.01 * time, "{time} on {call} {each}: {error_ns}");
            }
        }
        let error = bytes_for_hold(Nanos::from_millis(60_000), |bytes| bytes as f64).unwrap_err();
        assert!(error.to_string().contains("hold it for less"), "{error}");
    }
}
