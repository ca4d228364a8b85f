//! Samples of the command's threads: the settings of their clock, and the layout of their records
//! (include/uapi/linux/perf_event.h, `PERF_RECORD_SAMPLE`). This module makes no system call and
//! unwinds nothing.

use morecores_study::Nanos;
use morecores_study::trace::Tid;
use morecores_symbols::UserRegisters;
use perf_event_open_sys::bindings as sys;

use super::record::Fields;
use crate::user_stacks::CopiedStack;

/// Fields of a sample besides thread and time.
pub(super) const SAMPLE_FIELDS: u64 =
    (sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER) as u64;

/// Registers of a sample, one bit each. The kernel writes them in the order of the bits: frame
/// pointer, stack pointer, instruction pointer (arch/x86/include/uapi/asm/perf_regs.h).
pub(super) const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// Largest number of bytes of stack memory in a sample. A record holds less than 64 KiB. Half of
/// this keeps most stacks complete, and copying it takes some microseconds.
const MAX_STACK_BYTES: usize = 32 << 10;

/// Number of samples that fit into a buffer at least. The reader may then be late by 160 ms. The
/// kernel reserves the whole size for each sample, whatever the depth of the stack.
const SAMPLES_PER_BUFFER: usize = 32;

/// Samples that the events of a command make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sampling {
    /// None: the kernel does not copy registers and stacks.
    #[default]
    Off,
    /// Samples in user mode with stack memory.
    Stacks {
        /// Bytes of stack memory in each sample.
        bytes: u32,
    },
}

impl Sampling {
    /// Samples that fit into a buffer with this number of data bytes.
    pub(super) fn for_buffer(bytes: usize) -> Self {
        let bytes = (bytes / SAMPLES_PER_BUFFER).min(MAX_STACK_BYTES);
        // The unwinder knows the registers of x86-64 only.
        if cfg!(target_arch = "x86_64") { Self::Stacks { bytes: bytes as u32 } } else { Self::Off }
    }
}

/// Parts of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleRecord<'a> {
    pub(super) process: Tid,
    pub(super) thread: Tid,
    pub(super) at: Nanos,
    /// Sampled instruction.
    pub(super) address: u64,
    /// Stack of the thread; `None` for a thread in 32-bit mode.
    pub(super) stack: Option<SampledStack<'a>>,
}

/// Registers and stack memory of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampledStack<'a> {
    pub(super) registers: UserRegisters,
    /// Memory from the stack pointer on.
    pub(super) memory: &'a [u8],
}

impl<'a> SampleRecord<'a> {
    /// Splits a record of a sample; `None` if it is another record, or shorter than it says.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        let (kind, _) = (fields.u32()?, fields.u32()?);
        if kind != sys::PERF_RECORD_SAMPLE {
            return None;
        }
        let address = fields.u64()?;
        let (process, thread, at) = (fields.tid()?, fields.tid()?, Nanos(fields.u64()?));
        let mode = fields.u64()?;
        let mut registers = None;
        if mode != u64::from(sys::PERF_SAMPLE_REGS_ABI_NONE) {
            let (bp, sp, ip) = (fields.u64()?, fields.u64()?, fields.u64()?);
            registers =
                (mode == u64::from(sys::PERF_SAMPLE_REGS_ABI_64)).then_some(UserRegisters { ip, sp, bp });
        }
        let memory = match fields.u64()? {
            0 => &[][..],
            size => {
                let memory = fields.take(usize::try_from(size).ok()?)?;
                // The kernel has skipped the rest, where the stack ends or is not in memory.
                let copied = usize::try_from(fields.u64()?).ok()?;
                memory.get(..copied)?
            }
        };
        let stack = registers.map(|registers| SampledStack { registers, memory });
        Some(Self { process, thread, at, address, stack })
    }
}

/// Copy of a stack in the memory of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StackCopy {
    registers: UserRegisters,
    /// Offset of the first byte in the memory of the batch.
    start: usize,
    /// Number of bytes.
    length: usize,
}

impl StackCopy {
    /// Copies a stack to the end of `memory`.
    pub(super) fn append(stack: &SampledStack<'_>, memory: &mut Vec<u8>) -> Self {
        let start = memory.len();
        memory.extend_from_slice(stack.memory);
        Self { registers: stack.registers, start, length: stack.memory.len() }
    }
}

impl CopiedStack for StackCopy {
    fn registers(&self) -> UserRegisters {
        self.registers
    }

    fn read(&self, memory: &[u8], address: u64) -> Option<u64> {
        let offset = usize::try_from(address.checked_sub(self.registers.sp)?).ok()?;
        let copied = memory.get(self.start..)?.get(..self.length)?;
        copied.get(offset..)?.first_chunk().copied().map(u64::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sample of thread 7 in mode `abi`, with `size` bytes of stack of which `copied` count.
    fn sample(abi: u64, size: usize, copied: u64) -> Vec<u8> {
        let ids = [70_u32, 7].map(u32::to_ne_bytes).concat();
        let registers: &[u64] = if abi == 0 { &[] } else { &[0x7100, 0x7000, 0x4010] };
        let mut body = [0x4010_u64.to_ne_bytes().to_vec(), ids, 99_u64.to_ne_bytes().to_vec()].concat();
        body.extend(std::iter::once(&abi).chain(registers).flat_map(|number| number.to_ne_bytes()));
        body.extend((size as u64).to_ne_bytes());
        if size > 0 {
            body.extend((0..size).map(|byte| byte as u8));
            body.extend(copied.to_ne_bytes());
        }
        let length = (8 + body.len()) as u16;
        let header = [2_u16, length].map(u16::to_ne_bytes).concat();
        [sys::PERF_RECORD_SAMPLE.to_ne_bytes().to_vec(), header, body].concat()
    }

    #[test]
    fn a_sample_has_its_thread_its_registers_and_its_stack() {
        let bytes = sample(2, 32, 24);
        let sample = SampleRecord::parse(&bytes).expect("a sample");
        assert_eq!((sample.process, sample.thread, sample.at), (Tid(70), Tid(7), Nanos(99)));
        assert_eq!(sample.address, 0x4010);
        let stack = sample.stack.expect("64 bits");
        assert_eq!(stack.registers, UserRegisters { ip: 0x4010, sp: 0x7000, bp: 0x7100 });
        let expected: Vec<u8> = (0..24).collect();
        assert_eq!(stack.memory, expected);
    }

    #[test]
    fn threads_without_64_bit_registers_have_no_stack() {
        for (abi, size) in [(0, 0), (0, 16), (1, 16)] {
            let bytes = sample(abi, size, 16);
            let sample = SampleRecord::parse(&bytes).expect("a sample");
            assert_eq!((sample.address, sample.stack), (0x4010, None));
        }
        // A stack that begins at no memory of the process is empty.
        let empty = sample(2, 0, 0);
        let stack = SampleRecord::parse(&empty).and_then(|sample| sample.stack).expect("registers");
        assert!(stack.memory.is_empty());
    }

    #[test]
    fn hostile_lengths_give_no_sample() {
        let whole = sample(2, 32, 24);
        for length in 0..whole.len() {
            assert_eq!(SampleRecord::parse(&whole[..length]), None, "{length}");
        }
        for copied in [33, u64::MAX] {
            assert_eq!(SampleRecord::parse(&sample(2, 32, copied)), None);
        }
        // The size of the stack is after the header, three numbers, the mode and the registers.
        let at = 8 + 24 + 8 + 24;
        for size in [24_u64, 40, 1 << 40, u64::MAX] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&size.to_ne_bytes());
            let parsed = SampleRecord::parse(&bytes).and_then(|sample| sample.stack);
            assert!(parsed.is_none_or(|stack| stack.memory.len() <= 24), "{size}");
        }
        // No single wrong byte causes a panic.
        for (place, byte) in (0..whole.len()).flat_map(|place| [0, 0xff, 0x80].map(|byte| (place, byte))) {
            let mut bytes = whole.clone();
            bytes[place] = byte;
            let _ = SampleRecord::parse(&bytes);
        }
    }

    #[test]
    fn memory_outside_a_copy_cannot_be_read() {
        let words: Vec<u8> = (0_u64..4).flat_map(u64::to_ne_bytes).collect();
        let registers = UserRegisters { ip: 1, sp: 0x7000, bp: 0 };
        let mut memory = vec![0xff; 8];
        let copy = StackCopy::append(&SampledStack { registers, memory: &words }, &mut memory);
        memory.extend([0xff; 8]);
        let read = |address| copy.read(&memory, address);
        assert_eq!([0x7000, 0x7008, 0x7018].map(read), [Some(0), Some(1), Some(3)]);
        assert_eq!([0x6ff8, 0x7019, 0x7020, 0, u64::MAX].map(read), [None; 5]);
    }

    #[test]
    fn small_buffers_have_small_samples() {
        let kib = [2048, 1024, 512, 64].map(|kib| match Sampling::for_buffer(kib << 10) {
            Sampling::Off => 0,
            Sampling::Stacks { bytes } => bytes / 1024,
        });
        let expected = if cfg!(target_arch = "x86_64") { [32, 32, 16, 2] } else { [0; 4] };
        assert_eq!(kib, expected);
    }
}
