//! A process of the build: memory, directory, descriptors, parent. Nothing is changed here but the
//! memory that a call names for its result.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::iter;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};

use crate::calls::PathArgument;
use crate::recipe::absolute;

/// Longest path of the kernel, in bytes.
const MAX_PATH: usize = 4096;
/// Most arguments or variables of one command that are read.
const MAX_STRINGS: usize = 20_000;
/// Longest argument that is read, in bytes.
const MAX_ARGUMENT: usize = 128 << 10;
/// Part of the memory that is read for a text, in bytes: most are shorter.
const SHORT_TEXT: usize = 256;
const PAGE_SIZE: usize = 4096;
/// Most parts of memory that one call reads: `UIO_MAXIOV` of Linux.
const MAX_PARTS: usize = 1024;

/// A process, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Process(pub(crate) i32);

impl Process {
    /// Fills the buffer from the process's memory. Returns the number of bytes that were there.
    #[allow(unsafe_code)]
    pub(crate) fn read(self, address: u64, buffer: &mut [u8]) -> usize {
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
        // SAFETY: the local vector is a live buffer of its length. The remote address belongs to
        // another process, and the kernel checks it.
        let result = unsafe { libc::process_vm_readv(self.0, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(result).unwrap_or(0)
    }

    /// Reads the starts of texts at these addresses, up to the first that is not there. Each is
    /// `SHORT_TEXT` long, or ends with its page.
    #[allow(unsafe_code)]
    fn starts(self, addresses: &[u64]) -> Vec<Vec<u8>> {
        let length = |address: u64| (PAGE_SIZE - address as usize % PAGE_SIZE).min(SHORT_TEXT);
        let part = |address: &u64| libc::iovec {
            iov_base: *address as *mut libc::c_void,
            iov_len: length(*address),
        };
        let mut starts = Vec::with_capacity(addresses.len());
        for addresses in addresses.chunks(MAX_PARTS) {
            let parts: Vec<libc::iovec> = addresses.iter().map(part).collect();
            let mut buffer = vec![0; parts.iter().map(|part| part.iov_len).sum()];
            let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            let count = parts.len() as libc::c_ulong;
            // SAFETY: the local vector is a live buffer of its length. The remote addresses belong
            // to another process, and the kernel checks them.
            let result =
                unsafe { libc::process_vm_readv(self.0, &raw const local, 1, parts.as_ptr(), count, 0) };
            let mut rest = &buffer[..usize::try_from(result).unwrap_or(0)];
            for part in &parts {
                let Some((start, behind)) = rest.split_at_checked(part.iov_len) else { return starts };
                starts.push(start.to_vec());
                rest = behind;
            }
        }
        starts
    }

    /// Writes into the process's memory.
    ///
    /// # Errors
    /// The memory is not there, or the process is gone.
    #[allow(unsafe_code)]
    pub(crate) fn write(self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
        // SAFETY: the kernel only reads the local vector, which is a live buffer of its length, and
        // checks the remote address.
        let result = unsafe { libc::process_vm_writev(self.0, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(result) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Path at an address; `None` if there is none.
    pub(crate) fn path(self, address: u64) -> Option<Vec<u8>> {
        self.texts(&[address], MAX_PATH)?.pop()
    }

    /// Strings of a vector such as `argv`; `None` if it is too long or one is no UTF-8.
    pub(crate) fn strings(self, address: u64) -> Option<Vec<String>> {
        let mut memory = Memory::new(self);
        let mut pointers = Vec::new();
        loop {
            let pointer = u64::from_ne_bytes(memory.bytes(address + 8 * pointers.len() as u64)?);
            if pointer == 0 {
                break;
            }
            if pointers.len() == MAX_STRINGS {
                return None;
            }
            pointers.push(pointer);
        }
        self.texts(&pointers, MAX_ARGUMENT)?.into_iter().map(|text| String::from_utf8(text).ok()).collect()
    }

    /// Texts at these addresses up to their zero bytes; `None` if one is longer than `limit` or not
    /// there. Most are short: their starts are read by one call.
    fn texts(self, addresses: &[u64], limit: usize) -> Option<Vec<Vec<u8>>> {
        let mut memory = Memory::new(self);
        let mut texts = self.starts(addresses);
        if texts.len() < addresses.len() {
            return None;
        }
        for (text, address) in texts.iter_mut().zip(addresses) {
            match text.iter().position(|byte| *byte == 0) {
                Some(end) => text.truncate(end),
                None => memory.append_text(address + text.len() as u64, text, limit)?,
            }
        }
        Some(texts)
    }

    /// Absolute path of an argument of a call; `None` if it cannot be read, so that the call fails
    /// by itself.
    pub(crate) fn resolve(self, argument: PathArgument) -> Option<PathBuf> {
        let text = self.path(argument.address)?;
        let path = Path::new(OsStr::from_bytes(&text));
        if text.is_empty() {
            return None;
        }
        if path.is_absolute() {
            return Some(absolute(Path::new("/"), path.as_os_str()));
        }
        let directory = if argument.directory == libc::AT_FDCWD {
            self.directory()?
        } else {
            self.descriptor(argument.directory)?
        };
        Some(absolute(&directory, path.as_os_str()))
    }

    /// Name of the file that the process executes, or its number.
    pub(crate) fn name(self) -> String {
        let program = self.program();
        let name = program.as_deref().and_then(Path::file_name);
        name.map_or_else(|| self.0.to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Content of a file in the process's folder of `/proc`; `None` if the process is gone.
    fn text(self, name: &str) -> Option<String> {
        // No file there tells its length, and `fs::read` begins with few bytes.
        let mut text = Vec::with_capacity(PAGE_SIZE);
        let file = File::open(format!("/proc/{}/{name}", self.0)).ok()?;
        file.take(u64::MAX).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Path behind a name in the process's folder of `/proc`; `None` if the process is gone.
    fn link(self, name: &str) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/{name}", self.0)).ok()
    }

    /// Working directory.
    pub(crate) fn directory(self) -> Option<PathBuf> {
        self.link("cwd")
    }

    /// File that the process executes.
    pub(crate) fn program(self) -> Option<PathBuf> {
        self.link("exe")
    }

    /// Name in `/proc` of the file behind a descriptor.
    pub(crate) fn descriptor(self, number: RawFd) -> Option<PathBuf> {
        self.link(&format!("fd/{number}"))
    }

    /// Open descriptors.
    pub(crate) fn descriptors(self) -> Vec<RawFd> {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", self.0)) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Words of the command that the process executes.
    pub(crate) fn command_line(self) -> Vec<String> {
        let text = self.text("cmdline").unwrap_or_default();
        text.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
    }

    /// Whether a lock is held by a descriptor, which a copy of the process shares.
    pub(crate) fn holds_lock(self, number: RawFd) -> bool {
        let text = self.text(&format!("fdinfo/{number}")).unwrap_or_default();
        text.lines().any(|line| line.starts_with("lock:"))
    }

    /// Flags and position of a descriptor.
    pub(crate) fn descriptor_state(self, number: RawFd) -> Option<DescriptorState> {
        let text = self.text(&format!("fdinfo/{number}"))?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Some(DescriptorState {
            position: field("pos:")?.parse().ok()?,
            flags: i32::from_str_radix(field("flags:")?, 8).ok()?,
        })
    }

    /// Parent, umask and threads; `None` if the process is gone.
    pub(crate) fn status(self) -> Option<Status> {
        Status::parse(&self.text("status")?)
    }

    /// The files, users and processes that the process sees, by the names of their namespaces.
    pub(crate) fn namespaces(self) -> [Option<PathBuf>; 4] {
        ["root", "ns/mnt", "ns/user", "ns/pid"].map(|name| self.link(name))
    }

    /// Parent; `None` if the process is gone, or is the first of all.
    fn parent(self) -> Option<Self> {
        let stat = procfs::process::Process::new(self.0).and_then(|process| process.stat()).ok()?;
        (stat.ppid > 0).then_some(Self(stat.ppid))
    }

    /// Child processes of the first thread, including those that have ended and are not yet waited
    /// for.
    pub(crate) fn children(self) -> Vec<Self> {
        self.children_of(self.0)
    }

    fn children_of(self, thread: i32) -> Vec<Self> {
        let text = self.text(&format!("task/{thread}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|number| number.parse().ok().map(Self)).collect()
    }

    fn threads(self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/task", self.0)) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// All processes below this one.
    pub(crate) fn descendants(self) -> Vec<Self> {
        let mut all = vec![self];
        let mut next = 0;
        while next < all.len() {
            let process = all[next];
            all.extend(process.threads().into_iter().flat_map(|thread| process.children_of(thread)));
            next += 1;
        }
        all.split_off(1)
    }

    /// Whether the process runs or could run.
    pub(crate) fn is_alive(self) -> bool {
        let state = procfs::process::Process::new(self.0).and_then(|process| process.stat());
        state.is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X' | 'x'))
    }

    /// Status of a process that has ended, as `wait4` returns it. After somebody has waited for the
    /// process its descriptor tells the status on Linux 6.15 and later.
    pub(crate) fn end_status(self, descriptor: BorrowedFd<'_>) -> Option<i32> {
        let stat = procfs::process::Process::new(self.0).and_then(|process| process.stat());
        let ended = stat.ok().filter(|stat| stat.state == 'Z').and_then(|stat| stat.exit_code);
        ended.or_else(|| status_behind(descriptor))
    }

    /// Time since the start of the process, known to a tick of the kernel's clock.
    pub(crate) fn age(self) -> Option<Duration> {
        let stat = procfs::process::Process::new(self.0).and_then(|process| process.stat()).ok()?;
        let start = Duration::from_secs_f64(stat.starttime as f64 / procfs::ticks_per_second() as f64);
        let now = Duration::try_from(clock_gettime(ClockId::Boottime)).ok()?;
        Some(now.saturating_sub(start))
    }

    /// Number of the system call in which the process sleeps.
    fn call(self) -> Option<i64> {
        let text = self.text("syscall")?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// Whether the process waits for a child that shares its memory.
    pub(crate) fn is_in_vfork(self) -> bool {
        self.call().is_some_and(|call| [libc::SYS_vfork, libc::SYS_clone, libc::SYS_clone3].contains(&call))
    }

    /// Whether the process waits for the end of a child.
    pub(crate) fn waits_for_child(self) -> bool {
        self.call() == Some(libc::SYS_wait4)
    }

    /// Kills the process.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Sends a signal to the process by its number.
    #[allow(unsafe_code)]
    pub(crate) fn signal_number(self, number: i32) {
        // SAFETY: the call takes numbers alone.
        unsafe { libc::kill(self.0, number) };
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.0) {
            // A process that is gone needs no signal.
            let _ = kill_process(pid, signal);
        }
    }
}

/// `struct pidfd_info` of `linux/pidfd.h`, in its first form.
#[derive(Debug, Default)]
#[repr(C)]
struct PidfdInfo {
    mask: u64,
    control_group: u64,
    numbers: [u32; 11],
    exit_code: i32,
}

/// `PIDFD_INFO_EXIT`.
const EXIT_CODE: u64 = 1 << 3;
/// `PIDFS_IOCTL_MAGIC` and the number of `PIDFD_GET_INFO`.
const GET_INFO: (u8, u8) = (0xff, 11);

#[allow(unsafe_code)]
fn status_behind(descriptor: BorrowedFd<'_>) -> Option<i32> {
    const REQUEST: Opcode = opcode::read_write::<PidfdInfo>(GET_INFO.0, GET_INFO.1);
    let mut info = PidfdInfo { mask: EXIT_CODE, ..PidfdInfo::default() };
    // SAFETY: the request reads and writes a live structure of the size that it names.
    unsafe { ioctl(descriptor, Updater::<REQUEST, PidfdInfo>::new(&mut info)) }.ok()?;
    (info.mask & EXIT_CODE != 0).then_some(info.exit_code)
}

/// The memory of a process, read in parts that end with a page.
struct Memory {
    process: Process,
    part: Vec<u8>,
    start: u64,
}

impl Memory {
    fn new(process: Process) -> Self {
        Self { process, part: Vec::new(), start: 0 }
    }

    /// Memory from an address to the end of its page; `None` if there is none.
    fn from(&mut self, address: u64) -> Option<&[u8]> {
        let is_here = (self.start..self.start + self.part.len() as u64).contains(&address);
        if !is_here {
            // A read must not cross into a page that is not there.
            self.part.resize(PAGE_SIZE - address as usize % PAGE_SIZE, 0);
            let length = self.process.read(address, &mut self.part);
            self.part.truncate(length);
            self.start = address;
        }
        let rest = &self.part[(address - self.start) as usize..];
        (!rest.is_empty()).then_some(rest)
    }

    /// Eight bytes at an aligned address.
    fn bytes(&mut self, address: u64) -> Option<[u8; 8]> {
        self.from(address)?.get(..8)?.try_into().ok()
    }

    /// Appends what stands up to a zero byte; `None` if the text gets longer than `limit`, or no
    /// memory is there.
    fn append_text(&mut self, mut address: u64, text: &mut Vec<u8>, limit: usize) -> Option<()> {
        while text.len() < limit {
            let part = self.from(address)?;
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                text.extend(&part[..end]);
                return Some(());
            }
            text.extend(part);
            address += part.len() as u64;
        }
        None
    }
}

/// Flags and position of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescriptorState {
    /// Position of the next read or write, in bytes.
    pub(crate) position: u64,
    /// Flags as of `open`.
    pub(crate) flags: i32,
}

/// Facts of `/proc/PID/status`.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    /// Parent.
    pub(crate) parent: Process,
    /// The process, if this is one of its threads.
    pub(crate) leader: Process,
    /// Mask of permissions for new files.
    pub(crate) umask: u32,
    /// Number of threads.
    pub(crate) threads: u64,
    /// Process that traces it.
    pub(crate) tracer: Option<Process>,
    /// Effective user, user for files, and the same of the group.
    users: [u32; 4],
    groups: Vec<u32>,
    capabilities: u64,
}

impl Status {
    /// Reads the fields in use from the text of the file. Every deferral needs two, and `procfs`
    /// would parse all fields.
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        let number = |name: &str| field(name)?.parse().ok();
        // Real, effective, saved, and that for files.
        let effective_and_files = |name: &str| {
            let mut numbers = field(name)?.split_whitespace().skip(1).step_by(2);
            let mut next = || numbers.next()?.parse().ok();
            Some([next()?, next()?])
        };
        let tracer = number("TracerPid")?;
        let ([user, user_of_files], [group, group_of_files]) =
            (effective_and_files("Uid")?, effective_and_files("Gid")?);
        Some(Self {
            parent: Process(number("PPid")?),
            leader: Process(number("Tgid")?),
            umask: u32::from_str_radix(field("Umask")?, 8).ok()?,
            threads: field("Threads")?.parse().ok()?,
            tracer: (tracer != 0).then_some(Process(tracer)),
            users: [user, user_of_files, group, group_of_files],
            groups: field("Groups")?.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?,
            capabilities: u64::from_str_radix(field("CapEff")?, 16).ok()?,
        })
    }

    /// Whether both processes may do the same.
    pub(crate) fn has_credentials_of(&self, other: &Self) -> bool {
        (self.users, &self.groups, self.capabilities) == (other.users, &other.groups, other.capabilities)
    }

    /// Parent, its parent, and so on.
    pub(crate) fn ancestors(&self) -> BTreeSet<Process> {
        iter::successors(Some(self.parent), |process| process.parent()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_fields_of_its_process() {
        let own = procfs::process::Process::myself().expect("this process");
        let expected = own.status().expect("its status");
        let status = Process(own.pid()).status().expect("its fields");
        assert_eq!((status.parent, status.leader), (Process(expected.ppid), Process(expected.tgid)));
        assert_eq!(Some(status.umask), expected.umask);
        assert_eq!(status.tracer.map_or(0, |tracer| tracer.0), expected.tracerpid);
        assert_eq!(status.users, [expected.euid, expected.fuid, expected.egid, expected.fgid]);
        assert_eq!((status.groups, status.capabilities), (expected.groups, expected.capeff));
    }

    #[test]
    fn users_are_the_effective_ones_and_those_for_files() {
        let text = "Name:\tPPid:\nUmask:\t0027\nTgid:\t7\nPid:\t8\nPPid:\t6\nTracerPid:\t9\n\
                    Uid:\t1\t2\t3\t4\nGid:\t11\t12\t13\t14\nGroups:\t4 24 \nThreads:\t2\n\
                    CapEff:\t000001ffffffffff\n";
        let status = Status::parse(text).expect("all fields");
        assert_eq!((status.users, status.groups), ([2, 4, 12, 14], vec![4, 24]));
        assert_eq!((status.umask, status.threads, status.tracer), (0o27, 2, Some(Process(9))));
        assert_eq!((status.parent, status.leader), (Process(6), Process(7)));
        assert_eq!(status.capabilities, 0x1ff_ffff_ffff);
    }
}
