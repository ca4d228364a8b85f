//! Breakpoints in one address space: where the sites are, what stands there, and the slots in which
//! threads execute the instructions.
//!
//! Memory is written through `/proc/PID/mem`, one byte at a breakpoint, which no thread can see
//! half done.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use iced_x86::Instruction;
use morecores_findings::CodePlace;
use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace;
use nix::unistd::Pid;

use crate::code::CodeMap;
use crate::instruction::{
    BREAKPOINT, EXECUTION_SIZE, Execution, LONGEST, Split, decode, first_memory_address, perform_call,
};
use crate::spin::{SPIN_SIZE, Spin};
use crate::tracee::{self, Report};
use crate::variables::DataPlace;

/// Offset of a number in a slot: not 0 while a thread is held busily.
const HOLD_WORD: u64 = EXECUTION_SIZE;
/// Offset of a number in the first slot: the instant at which two threads go on.
const RENDEZVOUS_WORD: u64 = HOLD_WORD + 8;
/// Offset of the code for busy waiting in a slot.
const SPIN_CODE: u64 = RENDEZVOUS_WORD + 8;
/// Size of a slot, in bytes.
const SLOT_SIZE: u64 = SPIN_CODE + SPIN_SIZE;
/// Size of a page of memory, in bytes.
const PAGE: u64 = 4096;
/// `syscall` of x86-64.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];

/// Breakpoint at a site.
#[derive(Clone, Debug)]
struct Breakpoint {
    /// Number of the site.
    site: usize,
    /// First byte of the instruction.
    original: u8,
    instruction: Instruction,
    slot: u64,
    execution: Execution,
    split: Option<Split>,
    spin: Option<Spin>,
}

/// Place of a thread in a rendezvous of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    First,
    Second,
}

/// Update of which the first half is done: its data are read, and not yet written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfUpdate {
    /// Address of the data.
    address: u64,
    /// Data, in as many bytes as the update has.
    data: [u8; 8],
}

/// Address space of a process with threads.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    process: Pid,
    memory: File,
    map: CodeMap,
    /// By address.
    breakpoints: BTreeMap<u64, Breakpoint>,
    /// Address by the number of the site.
    addresses: HashMap<usize, u64>,
    /// First slot.
    first_slot: Option<u64>,
}

impl AddressSpace {
    /// Places no breakpoint yet, but makes all of `sites` ready that are in this address space.
    /// `thread` is a new thread of the process, at its first stop, after the call that made it.
    ///
    /// # Errors
    /// The process has ended, or has no memory left.
    pub(crate) fn new(process: Pid, thread: Pid, sites: &[(usize, &CodePlace)]) -> io::Result<Self> {
        let memory = open_memory(process)?;
        let map = CodeMap::read(process)?;
        let mut space = Self {
            process,
            memory,
            map,
            breakpoints: BTreeMap::new(),
            addresses: HashMap::new(),
            first_slot: None,
        };
        space.prepare(thread, sites)?;
        Ok(space)
    }

    /// The copy of this address space in a new process.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn copy_in(&self, process: Pid) -> io::Result<Self> {
        let (map, breakpoints) = (self.map.clone(), self.breakpoints.clone());
        let (addresses, first_slot) = (self.addresses.clone(), self.first_slot);
        Ok(Self { process, memory: open_memory(process)?, map, breakpoints, addresses, first_slot })
    }

    fn prepare(&mut self, thread: Pid, sites: &[(usize, &CodePlace)]) -> io::Result<()> {
        let mut by_mapping: BTreeMap<u64, Vec<(usize, u64)>> = BTreeMap::new();
        for (site, place) in sites {
            if let Some((address, mapping)) = self.map.address(place) {
                by_mapping.entry(mapping.start).or_default().push((*site, address));
            }
        }
        for (start, sites) in by_mapping {
            let length = (sites.len() as u64 * SLOT_SIZE).next_multiple_of(PAGE);
            let mapping = self.map.mappings().iter().find(|mapping| mapping.start == start);
            let Some(gap) = mapping.and_then(|mapping| self.map.gap_near(mapping, length)) else { continue };
            let area = map_memory(thread, &self.memory, gap, length)?;
            self.map = CodeMap::read(self.process)?;
            self.first_slot.get_or_insert(area);
            for (slot, (site, address)) in (area..).step_by(SLOT_SIZE as usize).zip(sites) {
                self.add(site, address, slot)?;
            }
        }
        Ok(())
    }

    /// Adds a site, if its instruction can be executed in a slot.
    fn add(&mut self, site: usize, address: u64, slot: u64) -> io::Result<()> {
        let mut bytes = [0; LONGEST];
        let length = self.memory.read_at(&mut bytes, address)?;
        let Some(instruction) = decode(&bytes[..length], address) else { return Ok(()) };
        let Some(execution) = Execution::new(&instruction, slot) else { return Ok(()) };
        let mut spin = None;
        if let Execution::Slot(code) = &execution {
            self.memory.write_all_at(code, slot)?;
            let rendezvous = self.first_slot.unwrap_or(slot) + RENDEZVOUS_WORD;
            spin = Spin::new(slot + SPIN_CODE, slot, rendezvous, slot + HOLD_WORD);
        }
        if let Some(spin) = &spin {
            self.memory.write_all_at(&spin.code, spin.first)?;
        }
        let split = Split::new(&instruction, slot);
        if let Some(split) = &split {
            self.memory.write_all_at(&split.code, split.start)?;
        }
        self.breakpoints.insert(
            address,
            Breakpoint { site, original: bytes[0], instruction, slot, execution, split, spin },
        );
        self.addresses.insert(site, address);
        Ok(())
    }

    /// Numbers of the sites in this address space.
    pub(crate) fn sites(&self) -> impl Iterator<Item = usize> {
        self.addresses.keys().copied()
    }

    /// Files that are mapped as code.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.map.mappings().iter().map(|mapping| &mapping.file)
    }

    /// Address of a variable.
    pub(crate) fn address(&self, place: &DataPlace) -> Option<u64> {
        place.address_in(&self.map)
    }

    /// Sets the breakpoint of a site.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn arm(&self, site: usize) -> io::Result<()> {
        self.put(site, |_| BREAKPOINT)
    }

    /// Removes the breakpoint of a site. A thread may have reached it and not been seen yet.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn disarm(&self, site: usize) -> io::Result<()> {
        self.put(site, |breakpoint| breakpoint.original)
    }

    fn put(&self, site: usize, byte: impl Fn(&Breakpoint) -> u8) -> io::Result<()> {
        let Some(address) = self.addresses.get(&site) else { return Ok(()) };
        self.memory.write_all_at(&[byte(&self.breakpoints[address])], *address)
    }

    /// Site whose breakpoint a thread with these registers has just reached.
    pub(crate) fn reached_site(&self, registers: &user_regs_struct) -> Option<usize> {
        self.breakpoints.get(&(registers.rip - 1)).map(|breakpoint| breakpoint.site)
    }

    /// Registers with which a thread at a breakpoint executes the instruction.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn pass(&self, registers: &user_regs_struct) -> io::Result<user_regs_struct> {
        let Some(breakpoint) = self.breakpoints.get(&(registers.rip - 1)) else { return Ok(*registers) };
        let call = match &breakpoint.execution {
            Execution::Slot(_) => return Ok(user_regs_struct { rip: breakpoint.slot, ..*registers }),
            Execution::Call(call) => call,
        };
        let read = |address| {
            let mut bytes = [0; 8];
            self.memory.read_exact_at(&mut bytes, address).ok()?;
            Some(u64::from_ne_bytes(bytes))
        };
        if let Some((after, return_address, stack)) = perform_call(call, registers, read)
            && self.memory.write_all_at(&return_address.to_ne_bytes(), stack).is_ok()
        {
            return Ok(after);
        }
        // Its memory cannot be used: the call itself fails in the program, as it would have.
        self.disarm(breakpoint.site)?;
        Ok(user_regs_struct { rip: registers.rip - 1, ..*registers })
    }

    /// Opens a rendezvous of two threads.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn open_rendezvous(&self) -> io::Result<()> {
        let Some(slot) = self.first_slot else { return Ok(()) };
        self.memory.write_all_at(&0_u64.to_ne_bytes(), slot + RENDEZVOUS_WORD)
    }

    /// Reads the data of the instruction that a thread is about to execute. Its CPU may then own
    /// them no longer: a write takes as long as one to shared data does, and a read may overtake
    /// it.
    pub(crate) fn share_data(&self, site: usize, registers: &user_regs_struct) {
        if let Some(address) = self.data_address(site, registers) {
            // The instruction itself fails if there is no such memory.
            let _ = self.memory.read_at(&mut [0], address);
        }
    }

    /// Address of the data that a thread with these registers accesses at a site.
    pub(crate) fn data_address(&self, site: usize, registers: &user_regs_struct) -> Option<u64> {
        first_memory_address(&self.breakpoint(site)?.instruction, registers)
    }

    /// Registers with which a thread takes part in a rendezvous at the site that it reached. `None`
    /// if it cannot wait there.
    pub(crate) fn rendezvous(
        &self,
        site: usize,
        arrival: Arrival,
        registers: &user_regs_struct,
    ) -> Option<user_regs_struct> {
        let spin = self.breakpoint(site)?.spin.as_ref()?;
        let rip = match arrival {
            Arrival::First => spin.first,
            Arrival::Second => spin.second,
        };
        Some(user_regs_struct { rip, ..*registers })
    }

    /// Begins a busy hold at a site. Returns the registers of the thread; `None` if it cannot wait
    /// there.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn begin_busy_hold(
        &self,
        site: usize,
        registers: &user_regs_struct,
    ) -> io::Result<Option<user_regs_struct>> {
        let Some(breakpoint) = self.breakpoint(site) else { return Ok(None) };
        let Some(spin) = &breakpoint.spin else { return Ok(None) };
        self.memory.write_all_at(&1_i32.to_ne_bytes(), breakpoint.slot + HOLD_WORD)?;
        Ok(Some(user_regs_struct { rip: spin.busy, ..*registers }))
    }

    /// Ends the busy hold at a site.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn end_busy_hold(&self, site: usize) -> io::Result<()> {
        let Some(breakpoint) = self.breakpoint(site) else { return Ok(()) };
        self.memory.write_all_at(&0_i32.to_ne_bytes(), breakpoint.slot + HOLD_WORD)
    }

    fn breakpoint(&self, site: usize) -> Option<&Breakpoint> {
        self.breakpoints.get(self.addresses.get(&site)?)
    }

    fn split(&self, site: usize) -> Option<&Split> {
        self.breakpoint(site)?.split.as_ref()
    }

    /// Reads the data of the update at a site. `None` if there is no update to split, or its data
    /// cannot be read: then it fails in the program, as it would have.
    pub(crate) fn begin_update(&self, site: usize, registers: &user_regs_struct) -> Option<HalfUpdate> {
        let split = self.split(site)?;
        let address = split.address(registers)?;
        let mut data = [0; 8];
        self.memory.read_exact_at(&mut data[..split.size], address).ok()?;
        Some(HalfUpdate { address, data })
    }

    /// Registers with which a thread computes the update on the data of `half`.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn compute_update(
        &self,
        site: usize,
        half: &HalfUpdate,
        registers: &user_regs_struct,
    ) -> io::Result<user_regs_struct> {
        let Some(split) = self.split(site) else { return self.pass(registers) };
        self.memory.write_all_at(&half.data[..split.size], split.data)?;
        Ok(user_regs_struct { rip: split.start, ..*registers })
    }

    /// Whether a thread has just computed the update of a site.
    pub(crate) fn has_computed(&self, site: usize, registers: &user_regs_struct) -> bool {
        self.split(site).is_some_and(|split| split.end == registers.rip - 1)
    }

    /// Writes the result of an update. Returns the registers after it.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn end_update(
        &self,
        site: usize,
        half: &HalfUpdate,
        registers: &user_regs_struct,
    ) -> io::Result<user_regs_struct> {
        let Some(split) = self.split(site) else { return Ok(*registers) };
        let mut data = [0; 8];
        self.memory.read_exact_at(&mut data[..split.size], split.data)?;
        self.memory.write_all_at(&data[..split.size], half.address)?;
        Ok(user_regs_struct { rip: split.next(), ..*registers })
    }

    /// Place of an instruction in the program. One in a slot has the place of its original.
    pub(crate) fn place(&self, address: u64) -> Option<CodePlace> {
        self.map.place(self.original(address))
    }

    /// Address in the program of an instruction. One in a slot has the address of its original.
    pub(crate) fn original(&self, address: u64) -> u64 {
        let in_slot = |(_, breakpoint): &(&u64, &Breakpoint)| {
            (breakpoint.slot..breakpoint.slot + SLOT_SIZE).contains(&address)
        };
        self.breakpoints.iter().find(in_slot).map_or(address, |(original, _)| *original)
    }
}

fn open_memory(process: Pid) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{process}/mem"))
}

/// Maps memory for slots into the address space of `thread`, which has just returned from a system
/// call.
fn map_memory(thread: Pid, memory: &File, address: u64, length: u64) -> io::Result<u64> {
    let before = ptrace::getregs(thread)?;
    let instruction = before.rip - SYSTEM_CALL.len() as u64;
    let mut bytes = [0; SYSTEM_CALL.len()];
    memory.read_exact_at(&mut bytes, instruction)?;
    if bytes != SYSTEM_CALL {
        return Err(io::Error::other("a new thread does not begin after a system call"));
    }
    let call = user_regs_struct {
        rip: instruction,
        rax: libc::SYS_mmap as u64,
        // No call to restart.
        orig_rax: u64::MAX,
        rdi: address,
        rsi: length,
        rdx: (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64,
        r10: (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64,
        r8: u64::MAX,
        r9: 0,
        ..before
    };
    ptrace::setregs(thread, call)?;
    ptrace::step(thread, None)?;
    match tracee::wait_for(thread)? {
        Some(Report::Signal(..) | Report::Event(..)) => {}
        _ => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
    let result = ptrace::getregs(thread)?.rax;
    ptrace::setregs(thread, before)?;
    if result == address {
        Ok(result)
    } else {
        Err(io::Error::from_raw_os_error((result as i64).wrapping_neg() as i32))
    }
}
