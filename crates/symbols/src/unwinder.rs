//! User stacks, unwound from copies of registers and stack memory by the unwind tables of the
//! mapped files. This module names nothing and locates nothing in processes.
//!
//! `framehop` applies the unwind tables. It knows one address space; here each file has a range of
//! its own in it, whatever processes have the file mapped. So a file is read once, and the rules
//! found for one process serve all others. A rule for x86-64 depends on registers and stack memory,
//! not on the place of the code.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::OwnedFd;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Error, ExplicitModuleSectionInfo, FrameAddress, Unwinder as _};
use morecores_study::trace::{CodeAddress, Module, StackEnd};

use crate::SymbolError;
use crate::elf::{ElfFile, TableSection, UnwindTables};
use crate::reader_panic::catch_reader_panic;
use crate::symbolizer::checked_file;

/// Largest number of frames of a stack. A deeper stack ends as one whose memory is missing.
const MOST_FRAMES: usize = 1024;
/// Binary logarithm of the size of a file's range of addresses.
const RANGE_BITS: u32 = 36;
/// Largest number of ranges.
const MOST_RANGES: u32 = 1 << (63 - RANGE_BITS);

/// Registers from which a stack is unwound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserRegisters {
    /// Next instruction.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer, or any other value.
    pub bp: u64,
}

/// Files of a trace.
#[derive(Clone, Copy, Debug)]
pub struct MappedFiles<'f> {
    /// Modules by their number.
    pub modules: &'f [Module],
    /// Located files of other mount namespaces, by the number of their module.
    pub located: &'f HashMap<u32, OwnedFd>,
}

/// Unwound stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Code of each frame, the innermost first: the next instruction, and for each caller the last
    /// byte of its call.
    pub frames: Vec<CodeAddress>,
    /// Reason for which the stack has no further frame.
    pub end: StackEnd,
}

/// Unwinder for the stacks of all processes of a trace. It keeps the unwind tables of the files
/// that it has read.
#[derive(Default)]
pub struct Unwinder {
    rules: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
    files: HashMap<u32, Result<UnwindFile, SymbolError>>,
}

/// Unwind tables of a file.
#[derive(Debug)]
struct UnwindFile {
    elf: ElfFile,
    /// First address of the file's range.
    base: u64,
}

/// Way to find the caller of a frame.
enum Step {
    /// Unwind table that covers this address in the ranges of the files.
    Table(u64),
    /// Frame pointer, in code of a module that has no unwind table at all.
    FramePointer,
    /// First instructions of a program, or a frame pointer of zero in a file without an unwind
    /// table: there is no caller.
    Entry,
    /// None of these.
    Unknown,
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unwinder").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Unwinder {
    /// Unwinder that has read no file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Unwinds a stack. `files` are the files of the trace, `locate` returns the code at an
    /// address of the process, and `read` the eight bytes at an address of the stack.
    pub fn unwind(
        &mut self,
        registers: UserRegisters,
        files: &MappedFiles<'_>,
        locate: impl Fn(u64) -> Option<CodeAddress>,
        mut read: impl FnMut(u64) -> Option<u64>,
    ) -> Stack {
        let UserRegisters { ip, sp, bp } = registers;
        let mut registers = UnwindRegsX86_64::new(ip, sp, bp);
        let mut frames = Vec::new();
        let mut address = ip;
        let end = loop {
            // A return address may belong to the function after the caller's.
            let before = u64::from(!frames.is_empty());
            let Some(code) = address.checked_sub(before).and_then(&locate) else {
                break StackEnd::UnknownCode;
            };
            frames.push(code);
            if frames.len() == MOST_FRAMES {
                break StackEnd::MissingMemory;
            }
            let next = match self.step(code, files, registers.bp()) {
                Step::Table(place) => {
                    registers.set_ip(place + before);
                    let frame = match before {
                        0 => FrameAddress::from_instruction_pointer(place),
                        _ => FrameAddress::from_return_address(place + before)
                            .unwrap_or(FrameAddress::from_instruction_pointer(place)),
                    };
                    let Some(next) = self.apply_rule(frame, &mut registers, &mut read) else {
                        self.files.insert(code.module, Err(damaged(files.modules, code.module)));
                        break StackEnd::UnknownCode;
                    };
                    next
                }
                Step::FramePointer => match follow_frame_pointer(&mut registers, &mut read) {
                    Some(caller) if locate(caller.wrapping_sub(1)).is_some() => Ok(Some(caller)),
                    _ => break StackEnd::UnknownCode,
                },
                Step::Entry => break StackEnd::Outermost,
                Step::Unknown => break StackEnd::UnknownCode,
            };
            address = match next {
                Ok(None | Some(0)) | Err(Error::ReturnAddressIsNull) => break StackEnd::Outermost,
                Ok(Some(caller)) => caller,
                Err(Error::CouldNotReadStack(_)) => break StackEnd::MissingMemory,
                Err(_) => break StackEnd::UnknownCode,
            };
        };
        Stack { frames, end }
    }

    /// Reason why the stacks that pass through a module end there, if they do.
    pub fn failures(&self) -> impl Iterator<Item = &SymbolError> {
        self.files.values().filter_map(|file| file.as_ref().err())
    }

    /// Applies the unwind table to a frame; `None` at a damaged table.
    fn apply_rule(
        &mut self,
        frame: FrameAddress,
        registers: &mut UnwindRegsX86_64,
        read: &mut impl FnMut(u64) -> Option<u64>,
    ) -> Option<Result<Option<u64>, Error>> {
        let (rules, cache) = (&self.rules, &mut self.cache);
        let mut read = |address| read(address).ok_or(());
        // gimli 0.33 panics at some damaged tables. It holds no lock then, and the stack ends.
        catch_reader_panic(|| rules.unwind_frame(frame, registers, cache, &mut read))
    }

    fn step(&mut self, code: CodeAddress, mapped: &MappedFiles<'_>, frame_pointer: u64) -> Step {
        let (files, rules) = (&mut self.files, &mut self.rules);
        let number = files.len() as u32;
        let file = files.entry(code.module).or_insert_with(|| {
            let module = mapped.modules.get(code.module as usize);
            let unknown = || SymbolError::NoFile { name: format!("module {}", code.module) };
            let module = module.ok_or_else(unknown)?;
            UnwindFile::open(module, mapped.located.get(&code.module), number, rules)
        });
        match file {
            Ok(file) if file.elf.has_functions() => {
                let address = file.elf.address(code.offset);
                let covered = address.filter(|address| file.elf.function(*address).is_some());
                match (covered, address) {
                    (Some(address), _) => Step::Table(file.base + address),
                    (None, Some(address)) if file.elf.is_entry(address) => Step::Entry,
                    (None, _) => Step::Unknown,
                }
            }
            // The first functions of Go's stacks have no caller's frame pointer. Code that is made
            // at run time may use the register for something else.
            Ok(_) if frame_pointer == 0 => Step::Entry,
            // The compiler of Go and those of code at run time keep frame pointers.
            Ok(_) | Err(SymbolError::NoFile { .. }) => Step::FramePointer,
            Err(_) => Step::Unknown,
        }
    }
}

impl UnwindFile {
    /// Opens the file of a module, and adds its tables to `rules` as range `number`.
    fn open(
        module: &Module,
        located: Option<&OwnedFd>,
        number: u32,
        rules: &mut UnwinderX86_64<Vec<u8>>,
    ) -> Result<Self, SymbolError> {
        let unreadable = |why| SymbolError::Unreadable { path: module.path.clone(), why };
        let (path, elf) = checked_file(module, located)?;
        let tables = UnwindTables::read(&path).map_err(unreadable)?;
        let size = elf.end();
        if number >= MOST_RANGES || size >= 1 << RANGE_BITS {
            return Err(unreadable("it is too large".to_owned()));
        }
        // The first range stays free: address 0 is no code.
        let base = u64::from(number + 1) << RANGE_BITS;
        rules.add_module(framehop::Module::new(
            module.path.clone(),
            base..base + size,
            base,
            sections(tables),
        ));
        Ok(Self { elf, base })
    }
}

/// Reason for a module whose unwind table cannot be used.
fn damaged(modules: &[Module], number: u32) -> SymbolError {
    let path = modules.get(number as usize).map_or_else(String::new, |module| module.path.clone());
    SymbolError::Unreadable { path, why: "its unwind table is damaged".to_owned() }
}

fn sections(tables: UnwindTables) -> ExplicitModuleSectionInfo<Vec<u8>> {
    let range = |section: &Option<TableSection>| {
        section.as_ref().map(|section| -> Range<u64> {
            section.address..section.address.saturating_add(section.data.len() as u64)
        })
    };
    ExplicitModuleSectionInfo {
        eh_frame_svma: range(&tables.frames),
        eh_frame_hdr_svma: range(&tables.index),
        eh_frame: tables.frames.map(|section| section.data),
        eh_frame_hdr: tables.index.map(|section| section.data),
        ..ExplicitModuleSectionInfo::default()
    }
}

/// Moves to the caller by the frame pointer, and returns the return address. The frame must lie
/// above the stack pointer, and the caller's frame above it.
fn follow_frame_pointer(
    registers: &mut UnwindRegsX86_64,
    read: &mut impl FnMut(u64) -> Option<u64>,
) -> Option<u64> {
    let (sp, bp) = (registers.sp(), registers.bp());
    if bp < sp || bp % 8 != 0 {
        return None;
    }
    let (caller_bp, return_address) = (read(bp)?, read(bp.checked_add(8)?)?);
    if caller_bp != 0 && caller_bp <= bp {
        return None;
    }
    registers.set_sp(bp.checked_add(16)?);
    registers.set_bp(caller_bp);
    Some(return_address)
}
