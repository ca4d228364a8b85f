//! Memory that processes share. Its words are atomic, so that sharing them is safe.

use std::io;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

use morecores_study::Bytes;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::{WorkloadError, memory};

/// Words that this process shares with the processes it makes afterwards, all zero at first. A page
/// stays untouched until a process writes to it.
#[derive(Debug)]
pub(crate) struct SharedWords {
    words: NonNull<AtomicU64>,
    len: usize,
}

impl SharedWords {
    /// Allocates `len` words. `arguments` names the arguments to change where the memory is not
    /// available.
    pub(crate) fn new(len: usize, arguments: &'static str) -> Result<Self, WorkloadError> {
        let needed = Bytes(size_of::<AtomicU64>() as u64 * len as u64);
        memory::require(needed, arguments)?;
        let memory_refused = |_| WorkloadError::MemoryRefused { needed, arguments };
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing mapping.
        #[allow(unsafe_code)]
        let mapping = unsafe {
            mmap_anonymous(
                null_mut(),
                mapping_bytes(len),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )
        };
        let words = mapping.map_err(io::Error::from).map_err(memory_refused)?.cast::<AtomicU64>();
        let words = NonNull::new(words).ok_or(WorkloadError::MemoryRefused { needed, arguments })?;
        Ok(Self { words, len })
    }
}

/// Bytes of a mapping: at least one word, since a mapping cannot be empty.
const fn mapping_bytes(words: usize) -> usize {
    size_of::<AtomicU64>() * if words == 0 { 1 } else { words }
}

impl Deref for SharedWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping lives as long as this value, is page-aligned and has this size. It
        // starts as zeros, and zero is a valid word. Others write to it through atomics only, as
        // everything in this module does.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.words.as_ptr(), self.len)
        }
    }
}

// SAFETY: the value is a slice of atomics that it owns.
#[allow(unsafe_code)]
unsafe impl Send for SharedWords {}
// SAFETY: the value is a slice of atomics that it owns.
#[allow(unsafe_code)]
unsafe impl Sync for SharedWords {}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: `new` made the mapping with this length, and no reference into it outlives this
        // value.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.words.as_ptr().cast(), mapping_bytes(self.len)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_process_reads_the_words_of_the_others() {
        let shared = SharedWords::new(3, "--size").unwrap();
        let cells = &shared;
        let work = (0..3).map(|i| move || Ok([cells[i].fetch_add(i as u64 + 1, Relaxed)])).collect();
        assert_eq!(processes::run(work).unwrap(), [[0]; 3]);
        assert_eq!(shared.iter().map(|cell| cell.load(Relaxed)).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(SharedWords::new(0, "--size").unwrap().is_empty());
    }
}
