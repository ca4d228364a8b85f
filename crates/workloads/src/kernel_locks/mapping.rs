//! `mmap` and `page-fault`: a page mapped and unmapped again, untouched or touched. Threads share
//! one address space, whose map has one lock. Processes have separate address spaces and do not
//! contend.

use std::ops::Range;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::{SharedObject, Tally, call_error};
use crate::WorkloadError;

/// Bytes per mapping: the kernel rounds up to a page, which is 4 KiB on x86-64.
const PAGE: usize = 4096;

/// Interval between touched pages in the measurement of mapping alone. It is short enough to verify
/// that the mappings are memory, and too long to affect the measurement.
const RARE_TOUCH_INTERVAL: u64 = 64;

/// A page of this process. It is not unmapped on drop, which would hide a failure.
struct Page(NonNull<AtomicU64>);

impl Page {
    fn map() -> Result<Self, WorkloadError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice touches no existing mapping.
        #[allow(unsafe_code)]
        let mapping = unsafe { mmap_anonymous(null_mut(), PAGE, access, MapFlags::PRIVATE) };
        let start = mapping.map_err(|error| call_error("mmap", error))?;
        NonNull::new(start.cast()).map(Self).ok_or_else(|| call_error("mmap", rustix::io::Errno::NOMEM))
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
        let result = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
        result.map_err(|error| call_error("munmap", error))
    }
}

/// Address space of a process or of the threads of one process.
pub(super) struct AddressSpace {
    /// Interval between touched pages: one page in `touch_interval` is touched.
    touch_interval: u64,
}

impl AddressSpace {
    /// Address space whose map is only changed.
    pub(super) const fn with_rare_page_faults() -> Self {
        Self { touch_interval: RARE_TOUCH_INTERVAL }
    }

    /// Address space whose map is changed and also looked up, since every page is touched.
    pub(super) const fn with_page_faults() -> Self {
        Self { touch_interval: 1 }
    }
}

impl SharedObject for AddressSpace {
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
        let mut tally = Tally::default();
        for number in operations {
            let page = Page::map()?;
            if number % self.touch_interval == 0 {
                // A page that is not fresh yields another number.
                page.word().fetch_add(number, Ordering::Relaxed);
                tally.add(page.word().load(Ordering::Relaxed));
            }
            page.unmap()?;
        }
        Ok(tally)
    }

    fn expected_tally(&self, operations: u64) -> Tally {
        Tally::from_numbers((0..operations).step_by(self.touch_interval as usize))
    }
}
