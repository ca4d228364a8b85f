//! Candidates for holds in the code of a file: calls that create, join, lock, wait or wake, atomic
//! instructions, and accesses to memory near them. Pure: bytes in, offsets out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, OpKind,
    Register,
};

use crate::imports::{CodeSection, Imports};
use crate::instruction::is_call;

/// Beginnings of the names of functions that order threads.
const THREAD_FUNCTIONS: [&str; 16] = [
    "pthread_",
    "sem_",
    "mtx_",
    "cnd_",
    "thrd_",
    "__cxa_guard_",
    "_ZNSt6thread",
    "_ZNSt18condition",
    "sched_yield",
    // Go: channels, new goroutines, locks, and pauses.
    "runtime.chan",
    "runtime.closechan",
    "runtime.select",
    "runtime.newproc",
    "sync.(*",
    "internal/sync.(*",
    "time.Sleep",
];
/// Instructions before and after an atomic one, or a call, within which an access to memory is a
/// candidate.
const NEAR: usize = 8;

/// Reason for which an instruction is a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// An access that races, or another one to the same variable.
    Race,
    /// The instruction after it, or an access near it.
    NearRace,
    /// A call of a function that orders threads, or the instruction after it.
    ThreadCall,
    /// An atomic instruction, or the one after it.
    Atomic,
    /// An access to memory near such a call or instruction.
    NearAccess,
}

/// Scope of the search in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Calls, atomic instructions, races, and accesses near these.
    All,
    /// Races, and accesses near these.
    Races,
}

/// Candidates in an ELF file, by their offsets in the file. `races` are the offsets of accesses
/// that race. Empty for another kind of file.
pub(crate) fn candidates(file: &[u8], races: &BTreeSet<u64>, scope: Scope) -> BTreeMap<u64, Reason> {
    let Ok(file) = object::File::parse(file) else { return BTreeMap::new() };
    let imports = Imports::read(&file);
    let orders_threads = |call: &Instruction| {
        let name = imports.called_function(call);
        name.is_some_and(|name| THREAD_FUNCTIONS.iter().any(|start| name.starts_with(start)))
    };
    let sections: Vec<(&CodeSection<'_>, Vec<Instruction>)> =
        imports.sections().iter().map(|section| (section, decode(section))).collect();
    // The address of a calling frame lies inside its call.
    let has_race = |section: &CodeSection<'_>, instruction: &Instruction| {
        let offset = section.offset_at(instruction.ip());
        races.range(offset..offset + instruction.len() as u64).next().is_some()
    };
    let racing = sections.iter().flat_map(|(section, code)| {
        code.iter().filter(|instruction| has_race(section, instruction)).filter_map(variable)
    });
    let variables: Vec<Range<u64>> = racing.collect();
    let mut found = BTreeMap::new();
    for (section, code) in &sections {
        let reason = |index: usize| match &code[index] {
            access if has_race(section, access) || uses_any(access, &variables) => Some(Reason::Race),
            _ if scope == Scope::Races => None,
            call if is_call(call) && orders_threads(call) => Some(Reason::ThreadCall),
            instruction => is_atomic(instruction).then_some(Reason::Atomic),
        };
        for (index, reason) in select(code, reason) {
            let offset = section.offset_at(code[index].ip());
            found
                .entry(offset)
                .and_modify(|known: &mut Reason| *known = reason.min(*known))
                .or_insert(reason);
        }
    }
    found
}

/// Variable at a fixed address that an instruction of the same file writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenVariable {
    /// Size in bytes: 1, 2, 4 or 8.
    pub(crate) size: u64,
    /// Offset of the instruction in the file.
    pub(crate) user_offset: u64,
    /// Address of the instruction.
    pub(crate) user_address: u64,
}

/// Variables that the instructions of a file write, by their addresses. Each lies at a multiple of
/// its size.
pub(crate) fn written_variables(file: &[u8]) -> BTreeMap<u64, WrittenVariable> {
    let Ok(file) = object::File::parse(file) else { return BTreeMap::new() };
    let mut factory = InstructionInfoFactory::new();
    let mut found = BTreeMap::new();
    for (user_offset, instruction) in instructions(&Imports::read(&file)) {
        let Some(Range { start, end }) = variable(&instruction) else { continue };
        let size = end - start;
        let is_written = writes(&mut factory, &instruction);
        if is_written && matches!(size, 1 | 2 | 4 | 8) && start % size == 0 {
            found.insert(start, WrittenVariable { size, user_offset, user_address: instruction.ip() });
        }
    }
    found
}

/// Instructions of a file that access memory by a register, but for the stack and thread-local
/// memory: their offsets, and whether they write.
pub(crate) fn indirect_accesses(file: &[u8]) -> BTreeMap<u64, bool> {
    let Ok(file) = object::File::parse(file) else { return BTreeMap::new() };
    let mut factory = InstructionInfoFactory::new();
    let mut found = BTreeMap::new();
    for (offset, instruction) in instructions(&Imports::read(&file)) {
        let is_indirect = !instruction.is_ip_rel_memory_operand() && is_shared_access(&instruction);
        if is_indirect && instruction.flow_control() == FlowControl::Next {
            found.insert(offset, writes(&mut factory, &instruction));
        }
    }
    found
}

/// Whether the instruction writes memory.
fn writes(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> bool {
    factory
        .info(instruction)
        .used_memory()
        .iter()
        .any(|memory| !matches!(memory.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess))
}

/// Offsets of the instructions that end at these offsets of a file.
pub(crate) fn instructions_before(file: &[u8], ends: &BTreeSet<u64>) -> BTreeSet<u64> {
    let Ok(file) = object::File::parse(file) else { return BTreeSet::new() };
    instructions(&Imports::read(&file))
        .filter(|(offset, instruction)| ends.contains(&(offset + instruction.len() as u64)))
        .map(|(offset, _)| offset)
        .collect()
}

/// Instructions in all code of a file, with their offsets in the file.
fn instructions(imports: &Imports<'_>) -> impl Iterator<Item = (u64, Instruction)> {
    imports.sections().iter().flat_map(|section| {
        decode(section).into_iter().map(|instruction| (section.offset_at(instruction.ip()), instruction))
    })
}

fn decode(section: &CodeSection<'_>) -> Vec<Instruction> {
    Decoder::with_ip(64, section.bytes, section.address, DecoderOptions::NONE).iter().collect()
}

/// Addresses of the variable that an instruction uses, if it has a fixed address.
fn variable(instruction: &Instruction) -> Option<Range<u64>> {
    let size = instruction.memory_size().size() as u64;
    // The address of a variable alone has no size.
    let is_fixed = instruction.is_ip_rel_memory_operand() && size > 0;
    let start = instruction.ip_rel_memory_address();
    is_fixed.then_some(start..start + size)
}

/// Whether the instruction uses a part of one of these variables. Helgrind does not report every
/// access to a variable that races, and none of another size.
fn uses_any(instruction: &Instruction, variables: &[Range<u64>]) -> bool {
    variable(instruction).is_some_and(|used| {
        variables.iter().any(|variable| used.start < variable.end && variable.start < used.end)
    })
}

/// Positions of the candidates in a sequence of instructions: those with a `reason` by their
/// position, the instructions after them, and the accesses near them.
fn select(code: &[Instruction], reason: impl Fn(usize) -> Option<Reason>) -> Vec<(usize, Reason)> {
    let mut found = Vec::new();
    for index in 0..code.len() {
        let Some(reason) = reason(index) else { continue };
        let (after, nearby) = match reason {
            Reason::Race => (Reason::NearRace, Reason::NearRace),
            reason => (reason, Reason::NearAccess),
        };
        found.push((index, reason));
        if index + 1 < code.len() {
            found.push((index + 1, after));
        }
        let near = index.saturating_sub(NEAR)..(index + NEAR + 1).min(code.len());
        found.extend(near.filter(|near| is_shared_access(&code[*near])).map(|near| (near, nearby)));
    }
    found
}

/// Whether the instruction changes memory atomically. `xchg` with memory needs no prefix.
fn is_atomic(instruction: &Instruction) -> bool {
    let exchanges = matches!(
        instruction.code(),
        Code::Xchg_rm8_r8 | Code::Xchg_rm16_r16 | Code::Xchg_rm32_r32 | Code::Xchg_rm64_r64
    );
    instruction.has_lock_prefix() || exchanges && instruction.op0_kind() == OpKind::Memory
}

/// Whether the instruction reads or writes memory that other threads may use: not by the stack
/// pointer or the frame pointer, nor thread-local memory. An instruction that only computes an
/// address (`lea`, a long `nop`) accesses nothing.
fn is_shared_access(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    factory.info(instruction).used_memory().iter().any(|memory| {
        memory.access() != OpAccess::NoMemAccess
            && !matches!(memory.base(), Register::RSP | Register::RBP)
            && memory.segment() != Register::FS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Vec<Instruction> {
        super::decode(&CodeSection { address: 0x1000, offset: 0, bytes })
    }

    #[test]
    fn accesses_near_an_atomic_instruction_are_candidates() {
        // mov eax,[rdi]; mov [rsp],eax; lock inc dword [rdi]; nop; mov ecx,fs:[0]; mov [rdi],ecx;
        // lea eax,[rdi+8]; nop dword [rax]
        let code = decode(&[
            0x8b, 0x07, 0x89, 0x04, 0x24, 0xf0, 0xff, 0x07, 0x90, 0x64, 0x8b, 0x0c, 0x25, 0, 0, 0, 0, 0x89,
            0x0f, 0x8d, 0x47, 0x08, 0x0f, 0x1f, 0x00,
        ]);
        let found: BTreeSet<(usize, Reason)> =
            select(&code, |index| is_atomic(&code[index]).then_some(Reason::Atomic)).into_iter().collect();
        let near = |index| (index, Reason::NearAccess);
        let atomic = |index| (index, Reason::Atomic);
        assert_eq!(found, BTreeSet::from([near(0), atomic(2), near(2), atomic(3), near(5)]));
    }

    #[test]
    fn parts_of_a_variable_are_the_same_variable() {
        // mov [rip],ebx; mov [rip-2],ebx (its next 4 bytes); mov rax,[rip-13]; lea rax,[rip-20]
        let code = decode(&[
            0x89, 0x1d, 0, 0, 0, 0, 0x89, 0x1d, 0xfe, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x05, 0xf3, 0xff, 0xff,
            0xff, 0x48, 0x8d, 0x05, 0xec, 0xff, 0xff, 0xff,
        ]);
        let variables: Vec<_> = code.iter().filter_map(variable).collect();
        assert_eq!(variables, [0x1006..0x100a, 0x100a..0x100e, 0x1006..0x100e]);
        assert!(uses_any(&code[2], &variables[..1]) && uses_any(&code[1], &variables[2..]));
        assert!(!uses_any(&code[0], &variables[1..2]) && !uses_any(&code[3], &variables));
    }

    #[test]
    fn a_plain_exchange_of_registers_is_not_atomic() {
        // xchg ecx,edx; xchg [rdi],edx
        let code = decode(&[0x87, 0xd1, 0x87, 0x17]);
        assert_eq!(code.iter().map(is_atomic).collect::<Vec<_>>(), [false, true]);
    }

    /// This test program creates threads, and its standard library has atomic instructions.
    #[test]
    fn a_real_program_has_candidates_of_every_kind() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = candidates(&program, &BTreeSet::new(), Scope::All);
        let reasons: BTreeSet<Reason> = found.values().copied().collect();
        assert_eq!(reasons, BTreeSet::from([Reason::ThreadCall, Reason::Atomic, Reason::NearAccess]));
        assert!(candidates(b"#!/bin/sh\n", &BTreeSet::new(), Scope::All).is_empty());
        // A race alone brings only itself and what is near. Each is the start of an instruction.
        let race = *found.first_key_value().unwrap().0;
        let near = candidates(&program, &BTreeSet::from([race]), Scope::Races);
        assert_eq!(near.get(&race), Some(&Reason::Race));
        assert!(near.len() < found.len(), "{near:?}");
        let inside = candidates(&program, &BTreeSet::from([race + 1]), Scope::Races);
        assert_eq!(inside, near);
    }
}
