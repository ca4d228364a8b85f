//! Threads that spend a known share of their CPU time in page faults: each touches its own memory
//! and returns it, repeatedly.
//!
//! Of a fault of 4 KiB (some 0.7 µs) a seventh is the hardware's entry and exit. A tick that comes
//! during the exit, while interrupts are off, is delivered in user mode: no clock divides that time
//! between the two modes. The faults are therefore long instead of many: clearing a page of 2 MiB
//! takes some 100 µs with interrupts on, which makes entry and exit negligible. If the kernel has
//! no large pages to give, the program uses small ones, and the judgement says so.
//!
//! Each thread is a process of its own: in one address space they would wait for each other's
//! `mmap_lock`.

use std::ptr::null_mut;

use clap::Args;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};

use super::KnownProgram;
use super::calls::{command_arguments, expected_division};
use super::work_parts::alternate;
use crate::clock::{thread_cpu, tree_cpu};
use crate::wait::{fork, wait};
use crate::{AccuracyError, ExpectedReport, Truth};

/// Size of the large page on most architectures.
const LARGE_BYTES: usize = 2 << 20;

/// Smallest page of any architecture that Linux supports.
const SMALL_BYTES: usize = 4096;

/// Small pages at a time, if there are no large ones: some 50 µs of faults.
const SMALL_PAGES: usize = 64;

/// Note of a judgement without large pages.
const SMALL_NOTE: &str = "no large pages here (see /sys/kernel/mm/transparent_hugepage/enabled): short faults, of which some \
     2 points are told as user work";

/// See the module.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Faults {
    /// Share of the CPU time in the kernel
    #[arg(long)]
    pub percent: f64,
    /// CPU time of all work, in seconds
    #[arg(long)]
    pub work_s: f64,
    /// Processes that share it: as many as CPUs, so that none is idle
    #[arg(long)]
    pub threads: u32,
}

impl KnownProgram for Faults {
    fn run(&self) -> Result<Truth, AccuracyError> {
        let each_s = self.work_s / f64::from(self.threads);
        // Forked processes have copies of the memory, and each touches its own copy.
        let memory = Memory::map().map_err(AccuracyError::system("map memory"))?;
        let work = |seed| {
            alternate(
                each_s,
                self.percent,
                seed,
                |end| while thread_cpu() < end && memory.fault().is_ok() {},
            );
        };
        let children: Result<Vec<_>, _> =
            (0..self.threads).map(|seed| fork(|| work(u64::from(seed)))).collect();
        children?.into_iter().try_for_each(wait)?;
        Ok(Truth { cpu_s: tree_cpu().as_secs_f64(), large_pages: Some(memory.large), ..Truth::default() })
    }

    fn expected(&self, truth: &Truth, _: u32, _: f64) -> ExpectedReport {
        let note = (truth.large_pages == Some(false)).then_some(SMALL_NOTE);
        ExpectedReport { note, ..expected_division(self.percent, self.work_s) }
    }

    fn arguments(&self) -> Vec<String> {
        command_arguments("faults", self.percent, self.work_s, self.threads)
    }
}

/// Place of one large page; mapped until the program ends.
struct Memory {
    place: *mut u8,
    large: bool,
}

impl Memory {
    /// Maps the memory, and tests it here, where a failure can be reported.
    fn map() -> Result<Self, Errno> {
        let readable = ProtFlags::READ | ProtFlags::WRITE;
        // A mapping of twice the size contains an aligned place.
        // SAFETY: the mapping is new, at an address of the kernel's choice; nothing else points
        // into it.
        #[allow(unsafe_code)]
        let mapped = unsafe { mmap_anonymous(null_mut(), 2 * LARGE_BYTES, readable, MapFlags::PRIVATE) }?;
        let mapped = mapped.cast::<u8>();
        let place = mapped.wrapping_add(mapped.align_offset(LARGE_BYTES));
        let mut memory = Self { place, large: false };
        // A kernel without large pages refuses; `is_large` below detects that.
        memory.advise(Advice::LinuxHugepage).ok();
        memory.touch(1);
        memory.large = memory.is_large();
        memory.advise(Advice::LinuxDontNeed)?;
        Ok(memory)
    }

    /// Causes one large fault, or small faults that take about as long; returns the memory to the
    /// kernel.
    fn fault(&self) -> Result<(), Errno> {
        self.touch(if self.large { 1 } else { SMALL_PAGES });
        self.advise(Advice::LinuxDontNeed)
    }

    fn touch(&self, pages: usize) {
        for page in 0..pages {
            // SAFETY: the page is inside the mapping made in `map`, which may be written and is
            // never unmapped.
            #[allow(unsafe_code)]
            unsafe {
                self.place.add(page * SMALL_BYTES).write_volatile(1);
            }
        }
    }

    fn advise(&self, advice: Advice) -> Result<(), Errno> {
        // SAFETY: the range is inside the mapping made in `map`; no code reads its contents.
        #[allow(unsafe_code)]
        unsafe {
            madvise(self.place.cast(), LARGE_BYTES, advice)
        }
    }

    /// Whether one touch brought the whole page: its last part is present too.
    fn is_large(&self) -> bool {
        let mut there = [0_u8; LARGE_BYTES / SMALL_BYTES];
        // SAFETY: the range is inside the mapping made in `map`; one byte is written for each of
        // its pages, which are no smaller than `SMALL_BYTES`.
        #[allow(unsafe_code)]
        let failed = unsafe { libc::mincore(self.place.cast(), LARGE_BYTES, there.as_mut_ptr()) };
        let pages = LARGE_BYTES / rustix::param::page_size();
        failed == 0 && there[..pages].iter().all(|page| page & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pages_are_reported() {
        let program = Faults { percent: 30.0, work_s: 20.0, threads: 1 };
        let note = |large| {
            program.expected(&Truth { large_pages: Some(large), ..Truth::default() }, 1, 20.0).note.is_some()
        };
        assert_eq!([note(true), note(false)], [false, true]);
    }

    #[test]
    fn returned_memory_faults_again() {
        let memory = Memory::map().unwrap();
        memory.touch(1);
        assert_eq!(memory.is_large(), memory.large);
        memory.advise(Advice::LinuxDontNeed).unwrap();
        assert!(!memory.is_large());
    }
}
