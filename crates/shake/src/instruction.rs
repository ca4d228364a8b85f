//! One instruction at a breakpoint: how a thread executes it although the breakpoint stands in its
//! place. Pure: addresses, bytes and registers in, bytes and registers out.
//!
//! A copy of the instruction stands in a *slot*, followed by a jump to the next instruction. The
//! thread continues there, so that the breakpoint stays in place for the other threads. A call has
//! no copy, because its return address must be the one in the program: unwinders read it.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use nix::libc::user_regs_struct;

/// Longest instruction of x86, in bytes.
pub(crate) const LONGEST: usize = 15;
/// Size of the part of a slot that this module fills, in bytes: the copy with its jump back, the
/// private copy of the data of an update, and the update of this copy with a breakpoint after it.
pub(crate) const EXECUTION_SIZE: u64 = 96;
/// Size of the copy of an instruction with its jump back, in bytes. The jump may need an address.
const COPY_SIZE: u64 = 48;
/// Offset of the private copy of the data in a slot.
const SPLIT_DATA: u64 = COPY_SIZE;
/// Offset of the update of this copy in a slot.
const SPLIT_CODE: u64 = SPLIT_DATA + 8;
/// Breakpoint instruction `int3`.
pub(crate) const BREAKPOINT: u8 = 0xcc;
/// Size of a return address, in bytes.
const RETURN_ADDRESS_SIZE: u64 = 8;

/// Decodes the instruction at an address. `None` if the bytes are no instruction.
pub(crate) fn decode(bytes: &[u8], address: u64) -> Option<Instruction> {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// Whether the instruction calls a function.
pub(crate) fn is_call(instruction: &Instruction) -> bool {
    // The decoder counts system calls as calls, too.
    let flow = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    flow && instruction.is_stack_instruction()
}

/// Way in which a thread executes the instruction at a breakpoint.
#[derive(Clone, Debug)]
pub(crate) enum Execution {
    /// In a slot, with this content.
    Slot(Vec<u8>),
    /// By the tracer: the instruction is a call.
    Call(Box<Instruction>),
}

impl Execution {
    /// Execution of an instruction, with its slot at `slot`. `None` if it cannot be executed
    /// elsewhere: a jump, a return, or one whose data are out of reach.
    pub(crate) fn new(instruction: &Instruction, slot: u64) -> Option<Self> {
        if is_call(instruction) {
            return Some(Self::Call(Box::new(*instruction)));
        }
        let flow = instruction.flow_control();
        let is_system_call = instruction.code() == Code::Syscall;
        if !matches!(flow, FlowControl::Next) && !is_system_call {
            return None;
        }
        let mut back = Instruction::with_branch(Code::Jmp_rel32_64, instruction.next_ip()).ok()?;
        // The encoder looks for the targets of branches among the moved instructions, by address.
        back.set_ip(instruction.next_ip().wrapping_add(1 << 40));
        let moved = [*instruction, back];
        let block = InstructionBlock::new(&moved, slot);
        let code = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?.code_buffer;
        (code.len() as u64 <= COPY_SIZE).then_some(Self::Slot(code))
    }
}

/// Update in two steps, with its private copy of the data in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    instruction: Instruction,
    /// Size of the data, in bytes.
    pub(crate) size: usize,
    /// Address of the private copy.
    pub(crate) data: u64,
    /// Address of the update of the copy.
    pub(crate) start: u64,
    /// Update of the copy, and a breakpoint.
    pub(crate) code: Vec<u8>,
    /// Address of this breakpoint.
    pub(crate) end: u64,
}

impl Split {
    /// Split of an update, with its slot at `slot`. `None` if the instruction is no update, or is
    /// one that no other CPU can divide.
    pub(crate) fn new(instruction: &Instruction, slot: u64) -> Option<Self> {
        if !is_unlocked_update(instruction) {
            return None;
        }
        let (data, start) = (slot + SPLIT_DATA, slot + SPLIT_CODE);
        let mut moved = *instruction;
        moved.set_segment_prefix(Register::None);
        moved.set_memory_base(Register::RIP);
        moved.set_memory_index(Register::None);
        moved.set_memory_index_scale(1);
        moved.set_memory_displ_size(8);
        moved.set_memory_displacement64(data);
        let moved = [moved];
        let block = InstructionBlock::new(&moved, start);
        let mut code = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?.code_buffer;
        let end = start + code.len() as u64;
        code.push(BREAKPOINT);
        let fits = SPLIT_CODE + code.len() as u64 <= EXECUTION_SIZE;
        let size = instruction.memory_size().size();
        fits.then_some(Self { instruction: *instruction, size, data, start, code, end })
    }

    /// Address of the data that the update changes.
    pub(crate) fn address(&self, registers: &user_regs_struct) -> Option<u64> {
        memory_address(&self.instruction, 0, registers)
    }

    /// Address of the instruction after the update.
    pub(crate) fn next(&self) -> u64 {
        self.instruction.next_ip()
    }
}

/// Whether the instruction reads and writes up to 8 bytes of memory that other threads may use, and
/// another CPU may write between the two.
pub(crate) fn is_unlocked_update(instruction: &Instruction) -> bool {
    let access = InstructionInfoFactory::new().info(instruction).op0_access();
    instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Memory
        && matches!(access, OpAccess::ReadWrite | OpAccess::ReadCondWrite)
        && !instruction.has_lock_prefix()
        // An exchange with memory is always atomic.
        && instruction.mnemonic() != Mnemonic::Xchg
        && !matches!(instruction.memory_base(), Register::RSP | Register::RBP)
        && matches!(instruction.memory_size().size(), 1 | 2 | 4 | 8)
}

/// Whether the instruction writes memory and does not wait until other CPUs can see that: a later
/// read may overtake the write. x86 changes no other order (Intel SDM, volume 3, section 9.2.2).
pub(crate) fn is_plain_store(instruction: &Instruction) -> bool {
    let access = InstructionInfoFactory::new().info(instruction).op0_access();
    instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Memory
        && matches!(access, OpAccess::Write | OpAccess::ReadWrite)
        && !instruction.has_lock_prefix()
        && instruction.mnemonic() != Mnemonic::Xchg
}

/// Registers after a call, and its return address with the address to which it is written. `None`
/// if the target cannot be read.
pub(crate) fn perform_call(
    call: &Instruction,
    registers: &user_regs_struct,
    read: impl Fn(u64) -> Option<u64>,
) -> Option<(user_regs_struct, u64, u64)> {
    let target = match call.op0_kind() {
        OpKind::NearBranch64 => call.near_branch_target(),
        OpKind::Register => register_value(call.op0_register(), registers)?,
        OpKind::Memory => read(memory_address(call, 0, registers)?)?,
        _ => return None,
    };
    let stack = registers.rsp.wrapping_sub(RETURN_ADDRESS_SIZE);
    let after = user_regs_struct { rip: target, rsp: stack, ..*registers };
    Some((after, call.next_ip(), stack))
}

/// Address of the first memory operand, if there is one.
pub(crate) fn first_memory_address(instruction: &Instruction, registers: &user_regs_struct) -> Option<u64> {
    let operand = instruction.op_kinds().position(|kind| kind == OpKind::Memory)?;
    memory_address(instruction, operand as u32, registers)
}

/// Address of a memory operand, by its number.
pub(crate) fn memory_address(
    instruction: &Instruction,
    operand: u32,
    registers: &user_regs_struct,
) -> Option<u64> {
    instruction.try_virtual_address(operand, 0, |register, _, _| register_value(register, registers))
}

/// Value of a general register of 64 bits, or the base of a segment.
fn register_value(register: Register, registers: &user_regs_struct) -> Option<u64> {
    Some(match register {
        Register::RAX => registers.rax,
        Register::RBX => registers.rbx,
        Register::RCX => registers.rcx,
        Register::RDX => registers.rdx,
        Register::RSI => registers.rsi,
        Register::RDI => registers.rdi,
        Register::RBP => registers.rbp,
        Register::RSP => registers.rsp,
        Register::R8 => registers.r8,
        Register::R9 => registers.r9,
        Register::R10 => registers.r10,
        Register::R11 => registers.r11,
        Register::R12 => registers.r12,
        Register::R13 => registers.r13,
        Register::R14 => registers.r14,
        Register::R15 => registers.r15,
        Register::FS => registers.fs_base,
        Register::GS => registers.gs_base,
        Register::CS | Register::DS | Register::ES | Register::SS => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u64 = 0x5555_5555_1000;
    const SLOT: u64 = 0x5555_5575_0000;

    fn registers() -> user_regs_struct {
        // SAFETY-free zero: every field is a number.
        let mut registers = user_regs_struct {
            r15: 0,
            r14: 0,
            r13: 0,
            r12: 0,
            rbp: 0,
            rbx: 0,
            r11: 0,
            r10: 0,
            r9: 0,
            r8: 0,
            rax: 0,
            rcx: 0,
            rdx: 0,
            rsi: 0,
            rdi: 0,
            orig_rax: 0,
            rip: 0,
            cs: 0,
            eflags: 0,
            rsp: 0,
            ss: 0,
            fs_base: 0,
            gs_base: 0,
            ds: 0,
            es: 0,
            fs: 0,
            gs: 0,
        };
        registers.rsp = 0x7fff_0000;
        registers.rbx = 0x9000;
        registers.rip = HERE;
        registers
    }

    fn instruction(bytes: &[u8]) -> Instruction {
        decode(bytes, HERE).unwrap()
    }

    /// mov eax, [rip+0x2e91]: the copy must read the same address.
    #[test]
    fn a_copy_reads_the_same_memory_and_jumps_back() {
        let original = instruction(&[0x8b, 0x05, 0x91, 0x2e, 0, 0]);
        let Some(Execution::Slot(code)) = Execution::new(&original, SLOT) else { panic!("a slot") };
        let copies: Vec<Instruction> =
            Decoder::with_ip(64, &code, SLOT, DecoderOptions::NONE).iter().collect();
        assert_eq!(copies[0].ip_rel_memory_address(), original.ip_rel_memory_address());
        assert_eq!(copies[1].near_branch_target(), HERE + 6);
    }

    #[test]
    fn far_jumps_back_fit_into_a_slot() {
        // add ecx, 1
        let original = instruction(&[0x83, 0xc1, 0x01]);
        let Some(Execution::Slot(code)) = Execution::new(&original, 0x1000) else { panic!("a slot") };
        assert!(code.len() as u64 <= COPY_SIZE, "{code:x?}");
    }

    #[test]
    fn jumps_and_returns_have_no_copy() {
        for bytes in [&[0xc3][..], &[0x75, 0x10], &[0xeb, 0x10], &[0xcc]] {
            assert!(Execution::new(&instruction(bytes), SLOT).is_none(), "{bytes:x?}");
        }
        assert!(matches!(Execution::new(&instruction(&[0x0f, 0x05]), SLOT), Some(Execution::Slot(_))));
    }

    #[test]
    fn updates_without_lock_can_be_split() {
        // add dword [rip+0x100],1; xadd [rdi+rcx*4],eax
        for (bytes, address) in [
            (&[0x83, 0x05, 0, 1, 0, 0, 1][..], HERE + 7 + 0x100),
            (&[0x0f, 0xc1, 0x04, 0x8f], 0x2000 + 4 * 3),
        ] {
            let update = instruction(bytes);
            let split = Split::new(&update, SLOT).unwrap();
            let registers = user_regs_struct { rdi: 0x2000, rcx: 3, ..registers() };
            assert_eq!(split.address(&registers), Some(address));
            assert_eq!((split.size, split.next()), (4, HERE + bytes.len() as u64));
            let copy = decode(&split.code, split.start).unwrap();
            assert_eq!((copy.mnemonic(), copy.ip_rel_memory_address()), (update.mnemonic(), split.data));
            assert_eq!((copy.next_ip(), split.code.last()), (split.end, Some(&BREAKPOINT)));
        }
        // lock add [rdi],1; xchg [rdi],eax; mov [rdi],eax; add eax,[rdi]; add dword [rsp],1
        for bytes in [
            &[0xf0, 0x83, 0x07, 0x01][..],
            &[0x87, 0x07],
            &[0x89, 0x07],
            &[0x03, 0x07],
            &[0x83, 0x04, 0x24, 0x01],
        ] {
            assert!(Split::new(&instruction(bytes), SLOT).is_none(), "{bytes:x?}");
        }
    }

    #[test]
    fn reads_overtake_plain_stores_alone() {
        // mov [rdi],eax; mov dword [rdi],1; mov eax,[rdi]; xchg [rdi],eax; lock add [rdi],1; call
        let is_store = |bytes: &[u8]| is_plain_store(&instruction(bytes));
        assert!(is_store(&[0x89, 0x07]) && is_store(&[0xc7, 0x07, 1, 0, 0, 0]));
        for bytes in [&[0x8b, 0x07][..], &[0x87, 0x07], &[0xf0, 0x83, 0x07, 0x01], &[0xff, 0xd3]] {
            assert!(!is_store(bytes), "{bytes:x?}");
        }
    }

    #[test]
    fn a_call_returns_into_the_program() {
        let returns_to = |bytes: &[u8], read: u64| {
            let call = instruction(bytes);
            assert!(matches!(Execution::new(&call, SLOT), Some(Execution::Call(_))));
            let (after, address, stack) =
                perform_call(&call, &registers(), |from| (from == read).then_some(0x4242)).unwrap();
            assert_eq!((address, stack), (HERE + bytes.len() as u64, 0x7fff_0000 - 8));
            assert_eq!(after.rsp, stack);
            after.rip
        };
        // call rip+0x10; call rbx; call [rbx+8]; call [rip+0x100]
        assert_eq!(returns_to(&[0xe8, 0x10, 0, 0, 0], 0), HERE + 5 + 0x10);
        assert_eq!(returns_to(&[0xff, 0xd3], 0), 0x9000);
        assert_eq!(returns_to(&[0xff, 0x53, 0x08], 0x9008), 0x4242);
        assert_eq!(returns_to(&[0xff, 0x15, 0, 1, 0, 0], HERE + 6 + 0x100), 0x4242);
    }
}
