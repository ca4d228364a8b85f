//! The memory into which the kernel writes the records of one CPU, and the taking of whole records out of it. Knows
//! their length, not their meaning.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{perf_event_header, perf_event_mmap_page};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use super::PerfError;
use super::counter::Counter;

/// Length of the header that begins each record: type, flags and length (`struct perf_event_header`).
const HEADER_BYTES: usize = size_of::<perf_event_header>();

/// Longest stretch that is taken out at once, in bytes: 4,096 records of switches.
const CHUNK_BYTES: u64 = 96 << 10;

/// A mapped buffer: a page that tells how far the kernel has written and we have read, then the data.
#[derive(Debug)]
pub(super) struct Buffer {
    mapping: NonNull<perf_event_mmap_page>,
    mapped: NonZeroUsize,
    /// Where the data begins, in bytes from the beginning.
    offset: usize,
    /// Bytes of data, a power of two.
    bytes: usize,
    /// How far we have read, in bytes since the buffer was made.
    tail: u64,
    /// A record that goes over the end of the data, put together.
    joined: Vec<u8>,
}

// SAFETY: the mapping belongs to the buffer alone and is bound to no thread.
#[allow(unsafe_code)]
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps one of `bytes` bytes of data, a power of two and of whole pages.
    pub(super) fn map(counter: &Counter, bytes: usize) -> Result<Self, PerfError> {
        let failed = |source| match source {
            Errno::PERM => PerfError::MemoryLimit { kib: bytes / 1024, cpus: 1 },
            source => PerfError::Map { cpu: counter.cpu(), kib: bytes / 1024, source },
        };
        let offset = rustix::param::page_size();
        let mapped = NonZeroUsize::new(offset + bytes).ok_or_else(|| failed(Errno::INVAL))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that is in use.
        #[allow(unsafe_code)]
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), mapped.get(), protection, MapFlags::SHARED, counter, 0)
        };
        let mapping = address.and_then(|address| NonNull::new(address.cast()).ok_or(Errno::FAULT));
        let mapping = mapping.map_err(failed)?;
        Ok(Self { mapping, mapped, offset, bytes, tail: 0, joined: Vec::new() })
    }

    /// How far the kernel has written by now: what to give [`take`](Self::take).
    pub(super) fn head(&self) -> u64 {
        // Acquire: what was written before the kernel moved its head is read after we have seen it moved.
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_head)).load(Ordering::Acquire)
    }

    /// Gives `each` the records between what was taken before and `head`, up to some 96 KiB of them, and their room
    /// back to the kernel. Whether there were any.
    pub(super) fn take(&mut self, head: u64, mut each: impl FnMut(&[u8])) -> bool {
        let begin = self.tail;
        while self.tail < head && self.tail - begin < CHUNK_BYTES {
            let mut joined = std::mem::take(&mut self.joined);
            let Some(record) = self.record(head, &mut joined) else {
                // Not a record: the kernel never writes one without a length. Nothing behind it can be told apart.
                self.tail = head;
                self.joined = joined;
                break;
            };
            each(record);
            self.tail += record.len() as u64;
            self.joined = joined;
        }
        // Release: the records were read before the kernel may write over them.
        self.position(std::mem::offset_of!(perf_event_mmap_page, data_tail))
            .store(self.tail, Ordering::Release);
        self.tail > begin
    }

    /// The record at the tail.
    fn record<'a>(&'a self, head: u64, joined: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let (first, second) = self.written(head);
        // Records are multiples of 8 bytes long and so is the buffer, so that a header is never parted.
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

    /// What is written from the tail to `head`: up to the end of the data, and from its beginning on.
    fn written(&self, head: u64) -> (&[u8], &[u8]) {
        let start = (self.tail % self.bytes as u64) as usize;
        let length = ((head - self.tail) as usize).min(self.bytes);
        let first = length.min(self.bytes - start);
        // SAFETY: both stretches lie in the data part of the mapping, which lives as long as `self`. The kernel has
        // written them before it moved its head there, and writes there again only once `take` has moved the tail,
        // for which it needs `self` alone; no other process has the mapping.
        #[allow(unsafe_code)]
        unsafe {
            let data = self.mapping.cast::<u8>().add(self.offset);
            let from = |at: usize, length| std::slice::from_raw_parts(data.add(at).as_ptr(), length);
            (from(start, first), from(0, length - first))
        }
    }

    /// One of the positions in the first page.
    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the two fields asked for are aligned 64-bit numbers within the mapped first page, which lives as long
        // as `self`, and are read and written by the kernel and by us in whole.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU64::from_ptr(self.mapping.cast::<u8>().add(offset).cast().as_ptr())
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is as it was made, and nothing borrowed from it outlives the buffer.
        #[allow(unsafe_code)]
        let unmapped = unsafe { rustix::mm::munmap(self.mapping.as_ptr().cast(), self.mapped.get()) };
        // It fails only for arguments that are no mapping.
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}
