//! The memory into which the kernel writes the records of one CPU, and the removal of whole records
//! from it. This module knows the length of a record, not its meaning.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{perf_event_header, perf_event_mmap_page};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::PerfError;
use super::counter::Counter;

/// Length of the header that begins each record: type, flags and length (`struct
/// perf_event_header`).
const HEADER_BYTES: usize = size_of::<perf_event_header>();

/// Longest stretch that is removed at once, in bytes: 4,096 switch records.
const CHUNK_BYTES: u64 = 96 << 10;

/// A mapped buffer: a page with the kernel's write position and the reader's position, then the
/// data.
#[derive(Debug)]
pub(super) struct Buffer {
    mapping: NonNull<perf_event_mmap_page>,
    mapped: NonZeroUsize,
    /// Offset of the data from the beginning of the mapping, in bytes.
    offset: usize,
    /// Bytes of data, a power of two.
    bytes: usize,
    /// Read position, in bytes since the buffer was made.
    tail: u64,
    /// A record that wraps around the end of the data, joined.
    joined: Vec<u8>,
}

// SAFETY: the mapping belongs to the buffer alone and is bound to no thread.
#[allow(unsafe_code)]
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps a buffer of `bytes` bytes of data, a power of two and a multiple of the page size.
    pub(super) fn map(counter: &Counter, bytes: usize) -> Result<Self, PerfError> {
        let failed = |error| match error {
            Errno::PERM => PerfError::MemoryLimit { kib: bytes / 1024, cpus: 1 },
            error => PerfError::Map { cpu: counter.cpu(), kib: bytes / 1024, error },
        };
        let offset = rustix::param::page_size();
        let mapped = NonZeroUsize::new(offset + bytes).ok_or_else(|| failed(Errno::INVAL))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in
        // use.
        #[allow(unsafe_code)]
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), mapped.get(), protection, MapFlags::SHARED, counter, 0)
        };
        let mapping = address.and_then(|address| NonNull::new(address.cast()).ok_or(Errno::FAULT));
        let mapping = mapping.map_err(failed)?;
        Ok(Self { mapping, mapped, offset, bytes, tail: 0, joined: Vec::new() })
    }

    /// The kernel's present write position: the argument of [`take`](Self::take).
    pub(super) fn head(&self) -> u64 {
        // Acquire: the data that the kernel wrote before it moved its head is read after the head.
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_head)).load(Ordering::Acquire)
    }

    /// Passes the records between the previous position and `head` to `each`, up to some 96 KiB of
    /// them, and returns their space to the kernel. Returns whether there were any records.
    pub(super) fn take(&mut self, head: u64, mut each: impl FnMut(&[u8])) -> bool {
        let begin = self.tail;
        while self.tail < head && self.tail - begin < CHUNK_BYTES {
            let mut joined = std::mem::take(&mut self.joined);
            let Some(record) = self.record(self.tail, head, &mut joined) else {
                // Invalid record: the kernel never writes a record without a length. No later
                // record can be located.
                self.tail = head;
                self.joined = joined;
                break;
            };
            each(record);
            self.tail += record.len() as u64;
            self.joined = joined;
        }
        // Release: the records are read before the kernel may overwrite them.
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail))
            .store(self.tail, Ordering::Release);
        self.tail > begin
    }

    /// Passes the records between the previous position and `head` to `each`, and leaves them in
    /// the buffer.
    pub(super) fn peek(&mut self, head: u64, mut each: impl FnMut(&[u8])) {
        let mut joined = std::mem::take(&mut self.joined);
        let mut at = self.tail;
        while at < head {
            let Some(record) = self.record(at, head, &mut joined) else { break };
            each(record);
            at += record.len() as u64;
        }
        self.joined = joined;
    }

    /// Record at a position.
    fn record<'a>(&'a self, at: u64, head: u64, joined: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let (first, second) = self.written(at, head);
        // Lengths of records and of the buffer are multiples of 8 bytes, so that a header is never
        // split.
        let length = usize::from(u16::from_ne_bytes([*first.get(6)?, *first.get(7)?]));
        if length < HEADER_BYTES || length > first.len() + second.len() {
            return None;
        }
        if let Some(record) = first.get(..length) {
            return Some(record);
        }
        joined.clear();
        joined.extend_from_slice(first);
        joined.extend_from_slice(second.get(..length - first.len())?);
        Some(joined)
    }

    /// Data from a position at or after the tail to `head`, in two parts: up to the end of the
    /// data, and from its beginning.
    fn written(&self, at: u64, head: u64) -> (&[u8], &[u8]) {
        let start = (at % self.bytes as u64) as usize;
        let length = ((head - at) as usize).min(self.bytes);
        let first = length.min(self.bytes - start);
        // SAFETY: both stretches lie in the data part of the mapping, which lives as long as
        // `self`. The kernel wrote them before it moved its head past them. It writes there again
        // only after `take` has moved the tail, which needs `&mut self`. No other process has the
        // mapping.
        #[allow(unsafe_code)]
        unsafe {
            let data = self.mapping.cast::<u8>().add(self.offset);
            let from = |at: usize, length| std::slice::from_raw_parts(data.add(at).as_ptr(), length);
            (from(start, first), from(0, length - first))
        }
    }

    /// One of the positions in the first page.
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the two requested fields are aligned 64-bit numbers within the mapped first page,
        // which lives as long as `self`. The kernel and this process read and write them as a
        // whole.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU64::from_ptr(self.mapping.cast::<u8>().add(offset).cast().as_ptr())
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is unchanged since its creation, and nothing borrowed from it
        // outlives the buffer.
        #[allow(unsafe_code)]
        let unmapped = unsafe { rustix::mm::munmap(self.mapping.as_ptr().cast(), self.mapped.get()) };
        // This call fails only for arguments that are no mapping.
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}
