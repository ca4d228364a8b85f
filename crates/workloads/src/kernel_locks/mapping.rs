//! `mmap` and `page-fault`: a page mapped and unmapped again, untouched or touched. Threads share
//! one address space, whose map has one lock. Processes have separate address spaces and do not
//! contend.

use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::{Object, Tally, failed};
use crate::WorkloadError;

/// Bytes per mapping: the kernel rounds up to a page, which is 4 KiB on x86-64.
const PAGE: usize = 4096;

/// Interval between touched pages in the measurement of mapping alone. It is short enough to verify
/// that the mappings are memory, and too long to affect the measurement.
const SELDOM: u64 = 64;

/// A page of this process. It is not unmapped on drop, which would hide a failure.
struct Page(NonNull<AtomicU64>);

impl Page {
    fn map() -> Result<Self, WorkloadError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing mapping.
        #[allow(unsafe_code)]
        let mapped = unsafe { mmap_anonymous(null_mut(), PAGE, access, MapFlags::PRIVATE) };
        let start = mapped.map_err(|error| failed("mmap", error))?;
        NonNull::new(start.cast()).map(Self).ok_or_else(|| failed("mmap", rustix::io::Errno::NOMEM))
    }

    /// First word of the page.
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the mapping is page-aligned and starts as zeros, and zero is a valid word. Only
        // `unmap` ends the mapping, and `unmap` takes the value that this borrows.
        #[allow(unsafe_code)]
        unsafe {
            self.0.as_ref()
        }
    }

    fn unmap(self) -> Result<(), WorkloadError> {
        // SAFETY: `map` made the mapping with this length, and no reference to it outlives this
        // value.
        #[allow(unsafe_code)]
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
        unmapped.map_err(|error| failed("munmap", error))
    }
}

/// The map of an address space.
pub(super) struct Map {
    /// Interval between touched pages: one page in `touched` is touched.
    touched: u64,
}

impl Map {
    /// Map that is only changed.
    pub(super) const fn changed() -> Self {
        Self { touched: SELDOM }
    }

    /// Map that is changed and also looked up, since every page is touched.
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
                // A page that is not fresh yields another number.
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
