//! Core file of a process whose threads are stopped, for debuggers: its registers and the memory
//! that it may have written. It does not stop threads.
//!
//! The kernel would write one too, at a place and under limits that belong to the whole system, and
//! with breakpoints in it.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use elfcore::{
    ArchComponentState, ArchState, CoreDumpBuilder, CoreError, Elf64_Auxv, MappedFile, ProcessInfoSource,
    ReadProcessMemory, ThreadView, VaProtection, VaRegion,
};
use nix::libc::{user_fpregs_struct, user_regs_struct};
use nix::sys::ptrace;
use nix::unistd::Pid;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

/// Largest core file, in bytes.
const MOST_BYTES: u64 = 1 << 30;
const PAGE: u64 = 4096;
/// `NT_PRFPREG` of `elf.h`: the registers of the floating-point unit.
const NT_PRFPREG: u32 = 2;

/// Stopped process, and the signal that ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crash {
    pub(super) process: Pid,
    /// Thread to which the signal was sent, with the signal.
    pub(super) signal: Option<(Pid, i32)>,
}

/// Writes the core file. `original` returns the address in the program of an instruction that is
/// executed elsewhere.
///
/// # Errors
/// The process has ended, its memory exceeds a gigabyte, or the file cannot be written. Then no
/// file is left.
pub(super) fn write(path: &Path, crash: Crash, original: impl Fn(u64) -> u64) -> io::Result<()> {
    let image = Image::read(crash, original)?;
    let size: u64 = image.regions.iter().map(|region| region.end - region.begin).sum();
    if size > MOST_BYTES {
        return Err(io::Error::other(format!("it would have {} MiB", size >> 20)));
    }
    let memory = Memory(File::open(format!("/proc/{}/mem", crash.process))?);
    let written = SparseFile::create(path).and_then(|mut file| {
        CoreDumpBuilder::from_source(image, memory).write(&mut file).map_err(io::Error::other)?;
        file.finish()
    });
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// All of the process that a core file has, but for the content of its memory.
struct Image {
    process: Pid,
    threads: Vec<ThreadView>,
    regions: Vec<VaRegion>,
    auxiliary: Vec<Elf64_Auxv>,
}

impl Image {
    fn read(crash: Crash, original: impl Fn(u64) -> u64) -> io::Result<Self> {
        let process = Process::new(crash.process.as_raw()).map_err(io::Error::other)?;
        let maps = process.smaps().map_err(io::Error::other)?;
        let auxiliary = fs::read(format!("/proc/{}/auxv", crash.process))?;
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        Ok(Self {
            process: crash.process,
            threads: threads(&process, crash, original)?,
            regions: maps.iter().filter_map(region).collect(),
            auxiliary: auxiliary
                .chunks_exact(16)
                .map(|pair| Elf64_Auxv { a_type: word(&pair[..8]), a_val: word(&pair[8..]) })
                .collect(),
        })
    }
}

impl ProcessInfoSource for Image {
    fn pid(&self) -> i32 {
        self.process.as_raw()
    }

    fn threads(&self) -> &[ThreadView] {
        &self.threads
    }

    fn va_regions(&self) -> &[VaRegion] {
        &self.regions
    }

    fn mapped_files(&self) -> Option<&[MappedFile]> {
        // The crate lets nobody make them. A debugger finds the files by the program's own list of
        // its libraries.
        None
    }

    fn aux_vector(&self) -> Option<&[Elf64_Auxv]> {
        Some(&self.auxiliary)
    }

    fn page_size(&self) -> usize {
        PAGE as usize
    }
}

/// The threads, beginning with the one that the signal ended: debuggers show the first.
fn threads(process: &Process, crash: Crash, original: impl Fn(u64) -> u64) -> io::Result<Vec<ThreadView>> {
    let command = process.cmdline().map_err(io::Error::other)?.join(" ");
    let mut tasks: Vec<_> = process.tasks().map_err(io::Error::other)?.flatten().collect();
    let crashed = crash.signal.map(|(thread, _)| thread.as_raw());
    tasks.sort_by_key(|task| (Some(task.tid) != crashed, task.tid));
    let mut threads = Vec::new();
    for task in tasks {
        let thread = Pid::from_raw(task.tid);
        let (Ok(stat), Ok(status), Ok(registers)) = (task.stat(), task.status(), ptrace::getregs(thread))
        else {
            continue;
        };
        let signal = crash.signal.filter(|(target, _)| *target == thread).map_or(0, |(_, signal)| signal);
        threads.push(ThreadView {
            tid: task.tid,
            cmd_line: command.clone(),
            comm: stat.comm,
            state: stat.state as u8,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            session: stat.session,
            flags: stat.flags as i32,
            utime: stat.utime,
            stime: stat.stime,
            cutime: stat.cutime.try_into().unwrap_or(0),
            cstime: stat.cstime.try_into().unwrap_or(0),
            nice: stat.nice as u64,
            uid: status.ruid.into(),
            gid: status.rgid,
            cursig: signal as u16,
            sighold: status.sigblk,
            sigpend: status.sigpnd,
            arch_state: Box::new(ArchState {
                gpr_state: general_registers(&user_regs_struct { rip: original(registers.rip), ..registers }),
                components: vec![ArchComponentState {
                    name: "Floating point",
                    note_type: NT_PRFPREG,
                    note_name: b"CORE",
                    data: ptrace::getregset::<ptrace::regset::NT_PRFPREG>(thread)
                        .map_or_else(|_| vec![0; FLOATING_POINT_BYTES], |state| floating_point(&state)),
                }],
            }),
        });
    }
    if threads.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(threads) }
}

/// Registers in the order of `elf_gregset_t`, which is that of ptrace.
fn general_registers(r: &user_regs_struct) -> Vec<u64> {
    vec![
        r.r15, r.r14, r.r13, r.r12, r.rbp, r.rbx, r.r11, r.r10, r.r9, r.r8, r.rax, r.rcx, r.rdx, r.rsi,
        r.rdi, r.orig_rax, r.rip, r.cs, r.eflags, r.rsp, r.ss, r.fs_base, r.gs_base, r.ds, r.es, r.fs, r.gs,
    ]
}

/// Size of `user_fpregs_struct`.
const FLOATING_POINT_BYTES: usize = size_of::<user_fpregs_struct>();

/// Bytes of `user_fpregs_struct`, as FXSAVE stores them.
fn floating_point(state: &user_fpregs_struct) -> Vec<u8> {
    let halves = [state.cwd, state.swd, state.ftw, state.fop];
    let addresses = [state.rip, state.rdp];
    let words = [state.mxcsr, state.mxcr_mask].into_iter().chain(state.st_space).chain(state.xmm_space);
    let mut bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_ne_bytes()).collect();
    bytes.extend(addresses.iter().flat_map(|address| address.to_ne_bytes()));
    bytes.extend(words.flat_map(u32::to_ne_bytes));
    bytes.resize(FLOATING_POINT_BYTES, 0);
    bytes
}

/// Part of a mapping whose content is not in a file, or the header of a mapped file, by which a
/// debugger knows the file again.
fn region(map: &MemoryMap) -> Option<VaRegion> {
    let is = |permission| map.perms.contains(permission);
    let (begin, mut end) = map.address;
    let is_written = map.extension.map.get("Anonymous").is_some_and(|bytes| *bytes > 0);
    let is_known = match &map.pathname {
        MMapPath::Path(path) if is(MMPermissions::SHARED) => !path.exists(),
        // Code is in its file. Here it may have breakpoints.
        MMapPath::Path(_) if is(MMPermissions::EXECUTE) || !is_written => {
            end = end.min(begin + PAGE);
            map.offset == 0
        }
        MMapPath::Vvar | MMapPath::Vsyscall => false,
        MMapPath::Other(name) => !name.starts_with("vvar"),
        _ => true,
    };
    let protection = VaProtection {
        is_private: is(MMPermissions::PRIVATE),
        read: is(MMPermissions::READ),
        write: is(MMPermissions::WRITE),
        execute: is(MMPermissions::EXECUTE),
    };
    (is_known && protection.read).then_some(VaRegion {
        begin,
        end,
        offset: map.offset,
        protection,
        mapped_file_name: None,
    })
}

struct Memory(File);

impl ReadProcessMemory for Memory {
    fn read_process_memory(&mut self, base: usize, buffer: &mut [u8]) -> Result<usize, CoreError> {
        match self.0.read_at(buffer, base as u64)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            length => Ok(length),
        }
    }
}

/// File with holes for zeros: most of a thread's stack was never touched.
struct SparseFile {
    file: File,
    length: u64,
}

impl SparseFile {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)?, length: 0 })
    }

    fn finish(self) -> io::Result<()> {
        self.file.set_len(self.length)
    }
}

impl Write for SparseFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.iter().all(|byte| *byte == 0) {
            self.file.seek(SeekFrom::Current(bytes.len() as i64))?;
        } else {
            self.file.write_all(bytes)?;
        }
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_holes_and_are_read_as_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("core");
        let mut file = SparseFile::create(&path).unwrap();
        for part in [&[1, 2][..], &[0; 100], &[3], &[0; 5000]] {
            file.write_all(part).unwrap();
        }
        file.finish().unwrap();
        let expected = [&[1, 2][..], &[0; 100], &[3], &[0; 5000]].concat();
        assert_eq!(fs::read(&path).unwrap(), expected);
    }
}
