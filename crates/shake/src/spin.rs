//! Code in which a thread waits busily before the instruction of a site. Pure: addresses in, bytes
//! out.
//!
//! In a *rendezvous* of two threads, the second one sets an instant, and both go on at this instant
//! by the time stamp counter, within some nanoseconds. What they do next overlaps as no hold can
//! make it. A thread with a real-time priority is held *busily*: it keeps its CPU, as the priority
//! promises.
//!
//! The code changes no register, no flag, and no memory that a leaf function may use below its
//! stack pointer.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, IcedError, Instruction, InstructionBlock, MemoryOperand,
    Register,
};

/// Size of the code, in bytes.
pub(crate) const SPIN_SIZE: u64 = 192;
/// Memory below the stack pointer that belongs to a leaf function (System V ABI), in bytes.
const RED_ZONE: i64 = 128;
/// Turns after which a thread that waits in vain goes on: about a millisecond.
const TURNS: u32 = 1_000_000;
/// Time from the arrival of the second thread until both go on, in cycles of the time stamp
/// counter: enough for the first one to see it.
const DELAY: i32 = 2_000;

/// Code with its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spin {
    pub(crate) code: Vec<u8>,
    /// Entry of the first thread of a rendezvous: the beginning of the code.
    pub(crate) first: u64,
    /// Entry of the second thread of a rendezvous.
    pub(crate) second: u64,
    /// Entry of a thread that is held busily.
    pub(crate) busy: u64,
}

impl Spin {
    /// Code at `address`, which ends with a jump to `next`. The number at `start`, of 64 bits, must
    /// be 0 when the first thread of a rendezvous enters. A thread that is held busily waits until
    /// the number at `hold`, of 32 bits, is 0.
    pub(crate) fn new(address: u64, next: u64, start: u64, hold: u64) -> Option<Self> {
        Self::encode(address, next, start, hold).ok().filter(|spin| spin.code.len() as u64 <= SPIN_SIZE)
    }

    fn encode(address: u64, next: u64, start: u64, hold: u64) -> Result<Self, IcedError> {
        let word = MemoryOperand::with_base(Register::RSI);
        let stack = |displacement| MemoryOperand::with_base_displ(Register::RSP, displacement);
        let saved = [Register::RAX, Register::RCX, Register::RDX, Register::RSI];
        let save = |lines: &mut Lines, number: u64| -> Result<u64, IcedError> {
            let first = lines.push(Instruction::with2(Code::Lea_r64_m, Register::RSP, stack(-RED_ZONE))?);
            lines.push(Instruction::with(Code::Pushfq));
            for register in saved {
                lines.push(Instruction::with1(Code::Push_r64, register)?);
            }
            lines.push(Instruction::with2(Code::Mov_r64_imm64, Register::RSI, number)?);
            Ok(first)
        };
        // RAX becomes the time stamp counter.
        let read_counter = |lines: &mut Lines| -> Result<u64, IcedError> {
            let first = lines.push(Instruction::with(Code::Rdtsc));
            lines.push(Instruction::with2(Code::Shl_rm64_imm8, Register::RDX, 32)?);
            lines.push(Instruction::with2(Code::Or_r64_rm64, Register::RAX, Register::RDX)?);
            Ok(first)
        };
        let is_zero = |code| Instruction::with2(code, word, 0);
        let mut lines = Lines::default();
        // The first thread of a rendezvous waits for the second.
        save(&mut lines, start)?;
        lines.push(Instruction::with2(Code::Mov_r32_imm32, Register::ECX, TURNS)?);
        let first_turn = lines.push(is_zero(Code::Cmp_rm64_imm8)?);
        let both_there = lines.push(Instruction::with_branch(Code::Jne_rel8_64, 0)?);
        lines.push(Instruction::with1(Code::Dec_rm32, Register::ECX)?);
        lines.push(Instruction::with_branch(Code::Jne_rel8_64, first_turn)?);
        let alone = lines.push(Instruction::with_branch(Code::Jmp_rel8_64, 0)?);
        // The second one sets the instant at which both go on.
        let second = save(&mut lines, start)?;
        read_counter(&mut lines)?;
        lines.push(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, DELAY)?);
        lines.push(Instruction::with2(Code::Mov_rm64_r64, word, Register::RAX)?);
        let both = read_counter(&mut lines)?;
        lines.set_target(both_there, both);
        lines.push(Instruction::with2(Code::Cmp_r64_rm64, Register::RAX, word)?);
        lines.push(Instruction::with_branch(Code::Jb_rel8_64, both)?);
        let mut leave = None;
        for register in saved.into_iter().rev() {
            let line = lines.push(Instruction::with1(Code::Pop_r64, register)?);
            leave.get_or_insert(line);
        }
        let leave = leave.unwrap_or_default();
        lines.set_target(alone, leave);
        lines.push(Instruction::with(Code::Popfq));
        lines.push(Instruction::with2(Code::Lea_r64_m, Register::RSP, stack(RED_ZONE))?);
        lines.push(Instruction::with_branch(Code::Jmp_rel32_64, next)?);
        // A thread that is held busily.
        let busy = save(&mut lines, hold)?;
        let busy_turn = lines.push(Instruction::with(Code::Pause));
        lines.push(is_zero(Code::Cmp_rm32_imm8)?);
        lines.push(Instruction::with_branch(Code::Jg_rel8_64, busy_turn)?);
        lines.push(Instruction::with_branch(Code::Jmp_rel8_64, leave)?);

        let block = InstructionBlock::new(&lines.0, address);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let entry = |label: u64| address + u64::from(encoded.new_instruction_offsets[label as usize - 1]);
        let (second, busy) = (entry(second), entry(busy));
        Ok(Self { code: encoded.code_buffer, first: address, second, busy })
    }
}

/// Instructions with labels: their numbers, from 1. The encoder takes them for addresses, which no
/// program has.
#[derive(Default)]
struct Lines(Vec<Instruction>);

impl Lines {
    /// Adds an instruction. Returns its label.
    fn push(&mut self, mut instruction: Instruction) -> u64 {
        let label = self.0.len() as u64 + 1;
        instruction.set_ip(label);
        self.0.push(instruction);
        label
    }

    /// Sets the target of the branch with a label.
    fn set_target(&mut self, branch: u64, target: u64) {
        self.0[branch as usize - 1].set_near_branch64(target);
    }
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    /// Instructions from an entry, with their addresses.
    fn decode(spin: &Spin, entry: u64) -> Vec<(u64, String)> {
        let bytes = &spin.code[(entry - spin.first) as usize..];
        let decoder = Decoder::with_ip(64, bytes, entry, DecoderOptions::NONE);
        decoder.into_iter().map(|line| (line.ip(), line.to_string())).collect()
    }

    #[test]
    fn every_way_out_restores_what_it_saved() {
        let spin = Spin::new(0x7000, 0x6f00, 0x7200, 0x7300).unwrap();
        let saved = ["lea rsp,[rsp-80h]", "pushfq", "push rax", "push rcx", "push rdx", "push rsi"];
        for (entry, number) in [(spin.first, "7200h"), (spin.second, "7200h"), (spin.busy, "7300h")] {
            let lines = decode(&spin, entry);
            let texts: Vec<&str> = lines.iter().map(|(_, text)| &**text).collect();
            assert_eq!(texts[..6], saved, "{lines:#?}");
            assert_eq!(texts[6], format!("mov rsi,{number}"));
        }
        let lines = decode(&spin, spin.first);
        let leave = lines.iter().position(|(_, text)| text == "pop rsi").unwrap();
        let restored = ["pop rsi", "pop rdx", "pop rcx", "pop rax", "popfq", "lea rsp,[rsp+80h]"];
        assert!(lines[leave..].iter().map(|(_, text)| &**text).take(6).eq(restored), "{lines:#?}");
        assert!(
            lines[leave + 6].1.starts_with("jmp ") && lines[leave + 6].1.ends_with("6F00h"),
            "{lines:#?}"
        );
        // All jumps lead to the way out, to the common instant, or back to a turn.
        let at = format!("{:X}h", lines[leave].0);
        let to_the_end = lines.iter().filter(|(_, text)| text.starts_with("jmp ") && text.ends_with(&at));
        assert_eq!(to_the_end.count(), 2, "{lines:#?}");
        let labels: Vec<u64> = lines.iter().map(|(address, _)| *address).collect();
        let conditional = lines.iter().filter(|(_, text)| text.starts_with('j') && !text.starts_with("jmp"));
        for (_, text) in conditional {
            let target = text.rsplit(' ').next().unwrap().trim_end_matches('h');
            assert!(labels.contains(&u64::from_str_radix(target, 16).unwrap()), "{text} {lines:#?}");
        }
    }
}
