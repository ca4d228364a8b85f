//! `mmap` and `page-fault`: a page mapped and unmapped again, untouched or touched. Threads do it to one address space,
//! whose map has one lock; processes each have their own and do not meet.

use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::{Object, Tally, failed};
use crate::WorkloadError;

/// Bytes that are mapped: the kernel makes a page of it, of 4 KiB on x86-64.
const PAGE: usize = 4096;

/// One page in so many is touched where mapping alone is measured: enough to see that what was mapped is memory, and
/// too few to be measured.
const SELDOM: u64 = 64;

/// A page of this process's own. Not unmapped on drop, which would hide a failure.
struct Page(NonNull<AtomicU64>);

impl Page {
    fn map() -> Result<Self, WorkloadError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that is there.
        #[allow(unsafe_code)]
        let mapped = unsafe { mmap_anonymous(null_mut(), PAGE, access, MapFlags::PRIVATE) };
        let start = mapped.map_err(|error| failed("mmap", error))?;
        NonNull::new(start.cast()).map(Self).ok_or_else(|| failed("mmap", rustix::io::Errno::NOMEM))
    }

    /// Its first word.
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the mapping is page-aligned and zero at first, which is a valid word. Only `unmap` ends it, which
        // takes the value that this borrows.
        #[allow(unsafe_code)]
        unsafe {
            self.0.as_ref()
        }
    }

    fn unmap(self) -> Result<(), WorkloadError> {
        // SAFETY: mapped in `map`, so long; no reference to it outlives this value.
        #[allow(unsafe_code)]
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
        unmapped.map_err(|error| failed("munmap", error))
    }
}

/// The map of an address space.
pub(super) struct Map {
    /// One page in so many is touched.
    touched: u64,
}

impl Map {
    /// That is changed, and nothing else.
    pub(super) const fn changed() -> Self {
        Self { touched: SELDOM }
    }

    /// That is looked up as well, since every page is touched.
    pub(super) const fn changed_and_touched() -> Self {
        Self { touched: 1 }
    }
}

impl Object for Map {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let mut tally = Tally::default();
        for number in operations {
            let page = Page::map()?;
            if number % self.touched == 0 {
                // Gives another number in a page that is not fresh.
                page.word().fetch_add(number, Ordering::Relaxed);
                tally.add(page.word().load(Ordering::Relaxed));
            }
            page.unmap()?;
        }
        Ok(tally)
    }

    fn expected(&self, operations: u64) -> Tally {
        Tally::of((0..operations).step_by(self.touched as usize))
    }
}
