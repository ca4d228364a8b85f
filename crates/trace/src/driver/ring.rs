//! The buffers that the BPF programs fill: one for each CPU, in shared memory without a lock.
//!
//! Copies of user stacks have a second buffer of pages for each CPU. A record in the first buffer
//! gives the pages of a copy. The driver returns pages in the order of the records.
//!
//! Each buffer has one writer, its CPU, and one reader, this driver. The writer publishes a record
//! by storing the lap in the record's first slot, after all other stores. The driver stores its
//! read position and writes nothing else. Neither an event nor a batch of events needs a system
//! call.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use morecores_study::trace::Tid;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::wire::{PAGE_BYTES, SLOT_SIZE, Slot, StackRecord, slot_count};

/// `MAX_CPUS`.
pub(crate) const MAX_CPUS: u32 = 1024;

/// `MAX_PIDS`.
const MAX_PIDS: u32 = 4 << 20;

/// The part of `struct cpu` that both sides use; its other members belong to the programs.
#[repr(C)]
pub(crate) struct CpuState {
    read: AtomicU64,
    stack_read: AtomicU64,
    _pad: [u64; 6],
    written: AtomicU64,
    dropped: AtomicU64,
    _programs: [u64; 24],
    stack_written: AtomicU64,
    _shares: [u64; 13],
}

const _: () = {
    use crate::driver::skel::types::cpu;
    use std::mem::offset_of;

    assert!(size_of::<CpuState>() == size_of::<cpu>());
    assert!(offset_of!(CpuState, stack_read) == offset_of!(cpu, stack_read));
    assert!(offset_of!(CpuState, dropped) == offset_of!(cpu, dropped));
    assert!(offset_of!(CpuState, stack_written) == offset_of!(cpu, stack_written));
};

/// All buffers, mapped.
#[derive(Debug)]
pub(crate) struct Buffers {
    slots: Mapped,
    /// Bytes of one CPU's buffer.
    stride: usize,
    /// Pages of stack memory.
    stack_memory: Mapped,
    states: NonNull<CpuState>,
    tree: NonNull<AtomicU64>,
    bits: u32,
    /// Binary logarithm of the number of pages of stack memory of each CPU.
    stack_bits: u32,
}

/// Memory of a map, mapped for reading.
#[derive(Debug)]
struct Mapped {
    start: NonNull<u8>,
    length: usize,
}

impl Mapped {
    #[allow(unsafe_code)]
    fn new(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, length })
    }
}

impl Drop for Mapped {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no reference to it remains.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// The maps of the buffers, and the binary logarithms of the numbers of slots and pages of a CPU.
pub(crate) struct BufferMaps<'f> {
    pub(crate) slots: BorrowedFd<'f>,
    pub(crate) slot_bits: u32,
    pub(crate) stack_memory: BorrowedFd<'f>,
    pub(crate) stack_bits: u32,
}

// SAFETY: the pointers are to memory that is shared with the kernel and read by one thread at a
// time: the methods take `&mut self`.
#[allow(unsafe_code)]
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps the buffers of this number of CPUs. `states` is the array `cpus`, and `tree` the array
    /// of this name.
    ///
    /// # Safety
    /// `states` must stay mapped, with [`MAX_CPUS`] elements, for the lifetime of the result. So
    /// must `tree`, with a bit for each of [`MAX_PIDS`] numbers.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn map(
        maps: &BufferMaps<'_>,
        cpus: u32,
        states: NonNull<CpuState>,
        tree: NonNull<AtomicU64>,
    ) -> io::Result<Self> {
        let (bits, stack_bits) = (maps.slot_bits, maps.stack_bits);
        let stride = SLOT_SIZE << bits;
        let slots = Mapped::new(maps.slots, stride * cpus as usize)?;
        let stack_memory =
            Mapped::new(maps.stack_memory, ((PAGE_BYTES as usize) << stack_bits) * cpus as usize)?;
        Ok(Self { slots, stride, stack_memory, states, tree, bits, stack_bits })
    }

    #[allow(unsafe_code)]
    fn state(&self, cpu: u32) -> &CpuState {
        debug_assert!(cpu < MAX_CPUS);
        // SAFETY: `map` requires this many elements; they are atomics, which the kernel may change
        // concurrently.
        unsafe { self.states.add(cpu as usize).as_ref() }
    }

    /// Number of records without room in this CPU's buffer, so far.
    pub(crate) fn dropped(&self, cpu: u32) -> u64 {
        self.state(cpu).dropped.load(Ordering::Relaxed)
    }

    /// Discards the contents and the drop count of this CPU's buffer, while the programs are not
    /// attached.
    pub(crate) fn discard(&mut self, cpu: u32) {
        let state = self.state(cpu);
        state.read.store(state.written.load(Ordering::Acquire), Ordering::Release);
        state.dropped.store(0, Ordering::Relaxed);
        state.stack_read.store(state.stack_written.load(Ordering::Acquire), Ordering::Release);
    }

    /// Write position of this CPU.
    pub(crate) fn written(&self, cpu: u32) -> u64 {
        self.state(cpu).written.load(Ordering::Acquire)
    }

    /// Number of this CPU's slots that are not yet read.
    pub(crate) fn unread_slots(&self, cpu: u32) -> u64 {
        let state = self.state(cpu);
        state.written.load(Ordering::Acquire) - state.read.load(Ordering::Relaxed)
    }

    /// Whether the thread with this number belongs to the command.
    #[allow(unsafe_code)]
    pub(crate) fn is_in_tree(&self, tid: Tid) -> bool {
        let (word, bit) = (tid.0 / 64, tid.0 % 64);
        // SAFETY: `map` requires a bit for each number below the limit. The words are atomics: the
        // kernel may change them concurrently.
        let read = || unsafe { self.tree.add(word as usize).as_ref() }.load(Ordering::Relaxed);
        tid.0 < MAX_PIDS && read() >> bit & 1 == 1
    }

    /// Number of slots of a CPU's buffer.
    pub(crate) fn capacity(&self) -> u64 {
        1 << self.bits
    }

    #[allow(unsafe_code)]
    fn slot(&self, cpu: u32, position: u64) -> NonNull<Slot> {
        let index = (position & ((1 << self.bits) - 1)) as usize;
        // SAFETY: within the mapping: `cpu` is below the number of values, `index` below the number
        // of slots.
        unsafe { self.slots.start.add(self.stride * cpu as usize + SLOT_SIZE * index).cast() }
    }

    /// Appends whole records to `to`, oldest first. It stops at `end`, an earlier value of
    /// [`written`](Self::written), at about `limit` slots, or at a record that is still being
    /// written. Returns true if more records may follow before `end`.
    #[allow(unsafe_code)]
    pub(crate) fn drain(&mut self, cpu: u32, end: u64, limit: usize, to: &mut Vec<Slot>) -> bool {
        let mut position = self.state(cpu).read.load(Ordering::Relaxed);
        while position < end && to.len() < limit {
            let at = self.slot(cpu, position);
            let lap = ((position >> self.bits) + 1) as u8;
            // SAFETY: `commit` writes the last four bytes of a slot as one word.
            let tag = unsafe { AtomicU32::from_ptr(at.as_ptr().cast::<u32>().add(SLOT_SIZE / 4 - 1)) };
            if (tag.load(Ordering::Acquire) >> 24) as u8 != lap {
                break;
            }
            // SAFETY: a whole slot that the programs do not write again before `read` returns it to
            // them.
            let slot = unsafe { at.as_ptr().read_volatile() };
            to.push(slot);
            position += 1;
            for _ in 1..slot_count(slot.kind) {
                // SAFETY: as above; the slot was written before its record's first lap.
                to.push(unsafe { self.slot(cpu, position).as_ptr().read_volatile() });
                position += 1;
            }
        }
        self.state(cpu).read.store(position, Ordering::Release);
        position < end && to.len() >= limit
    }

    /// Share of the buffer of stack memory that is full.
    pub(crate) fn stack_fill(&self, cpu: u32) -> f64 {
        let state = self.state(cpu);
        let unread = state.stack_written.load(Ordering::Acquire) - state.stack_read.load(Ordering::Relaxed);
        unread as f64 / (1_u64 << self.stack_bits) as f64
    }

    /// Appends the memory of a stack of this CPU, which its record has published.
    #[allow(unsafe_code)]
    pub(crate) fn copy_stack(&mut self, cpu: u32, record: &StackRecord, to: &mut Vec<u8>) {
        let mask = (1 << self.stack_bits) - 1;
        for index in 0..record.pages {
            let bytes = record.page(index);
            let length = (bytes.end - bytes.start).min(PAGE_BYTES) as usize;
            let page = (record.position.wrapping_add(u64::from(index)) & mask) as usize;
            let offset = ((cpu as usize) << self.stack_bits | page) * PAGE_BYTES as usize;
            // SAFETY: within the mapping: `cpu` is below the number of values, `page` below the
            // number of pages, and the length at most a page. The programs do not write the page
            // before `stack_read` returns it to them.
            let memory = unsafe { self.stack_memory.start.add(offset) };
            let start = to.len();
            to.resize(start + length, 0);
            // SAFETY: as above, and `to` has this many bytes from `start` on.
            unsafe { ptr::copy_nonoverlapping(memory.as_ptr(), to[start..].as_mut_ptr(), length) };
        }
    }

    /// Returns the pages before this position to the programs.
    pub(crate) fn free_stack_pages(&mut self, cpu: u32, position: u64) {
        let read = &self.state(cpu).stack_read;
        read.store(position.max(read.load(Ordering::Relaxed)), Ordering::Release);
    }

    /// Buffer of one CPU that holds these records of one slot each, 2^`bits` of them, and had no
    /// room for `dropped` records.
    #[cfg(test)]
    #[allow(unsafe_code)]
    pub(crate) fn full(bits: u32, mut record: impl FnMut(u64) -> Slot, dropped: u64) -> io::Result<Self> {
        use std::io::Write as _;
        use std::os::fd::AsFd as _;

        let mut file = tempfile::tempfile()?;
        for position in 0..1 << bits {
            let Slot { time, tid, other, value, extra, detail, kind, .. } = record(position);
            file.write_all(&time.to_ne_bytes())?;
            file.write_all(&[tid, other].map(u32::to_ne_bytes).concat())?;
            file.write_all(&value.to_ne_bytes())?;
            file.write_all(&extra.to_ne_bytes())?;
            file.write_all(&detail.to_ne_bytes())?;
            file.write_all(&[kind, 1])?;
        }
        let state = CpuState {
            read: AtomicU64::new(0),
            stack_read: AtomicU64::new(0),
            _pad: [0; 6],
            written: AtomicU64::new(1 << bits),
            dropped: AtomicU64::new(dropped),
            _programs: [0; 24],
            stack_written: AtomicU64::new(0),
            _shares: [0; 13],
        };
        let stack_memory = tempfile::tempfile()?;
        stack_memory.set_len(PAGE_BYTES)?;
        let maps = BufferMaps {
            slots: file.as_fd(),
            slot_bits: bits,
            stack_memory: stack_memory.as_fd(),
            stack_bits: 0,
        };
        let tree: Vec<u64> = vec![0; MAX_PIDS as usize / 64];
        let tree = NonNull::from(&mut *tree.leak()).cast();
        // SAFETY: the state of the only CPU and the tree are leaked and never freed.
        unsafe { Self::map(&maps, 1, NonNull::from(Box::leak(Box::new(state))), tree) }
    }
}
