//! Starts one process and waits for it, with the two instants that bound its elapsed time.
//!
//! The child shares our memory until it calls `exec` (`CLONE_VM | CLONE_VFORK`), as in `posix_spawn`: no page
//! tables are copied, and it can write the instant of its `exec` where we can read it. `posix_spawn` itself
//! can neither do that nor put the child into a cgroup as it is made, and moving it there later costs a
//! grace period of the kernel's, during which every fork and exit of the command is slowed down.
//!
//! This module knows nothing of studies; it never looks at what the process did.

mod child;
mod clone;

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, Ordering};

use morecores_record::{Bytes, CpuSet, Exit, Nanos, Rusage};

pub use clone::ChildStack;

/// A program ready to be started: everything the child needs, so that it allocates nothing.
#[derive(Debug)]
pub struct Image {
    path: CString,
    argv: PointerArray,
    envp: PointerArray,
}

impl Image {
    /// `path` is what `execve(2)` gets, `argv` includes the name in front, `env` holds `NAME=value`.
    pub fn new(path: CString, argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self { path, argv: PointerArray::new(argv), envp: PointerArray::new(env) }
    }
}

/// Strings with the null-terminated array of pointers to them that `execve(2)` takes.
#[derive(Debug)]
struct PointerArray {
    /// Owns what `pointers` points to.
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl PointerArray {
    fn new(strings: Vec<CString>) -> Self {
        // A CString's bytes are on the heap, so that moving the vector leaves them where they are.
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _strings: strings, pointers }
    }
}

// SAFETY: the pointers point into `_strings`, which moves along and is never changed.
#[allow(unsafe_code)]
unsafe impl Send for PointerArray {}

/// How one process is to be started.
#[derive(Debug)]
pub struct Start<'a> {
    /// The program.
    pub image: &'a Image,
    /// Becomes descriptor 0.
    pub stdin: BorrowedFd<'a>,
    /// Becomes descriptor 1.
    pub stdout: BorrowedFd<'a>,
    /// Becomes descriptor 2.
    pub stderr: BorrowedFd<'a>,
    /// The CPUs to allow; all that the caller has where absent.
    pub affinity: Option<&'a CpuSet>,
    /// Directory of a version 2 cgroup to be born in.
    pub cgroup: Option<BorrowedFd<'a>>,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The kernel could not make a process.
    #[error("cannot make a process: {0}")]
    Clone(io::Error),
    /// The kernel is too old, or forbidden, to make a process inside a cgroup.
    #[error("the kernel cannot start a process inside a cgroup (clone3): {0}")]
    IntoCgroup(io::Error),
    /// The child failed before its program began.
    #[error("cannot {step}: {source}")]
    Child {
        /// What the child tried.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// `execve(2)` failed.
    #[error("{0}")]
    Exec(io::Error),
    /// Waiting failed; some other code of this process must have reaped the child.
    #[error("cannot wait for the command: {0}")]
    Wait(io::Error),
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// `CLOCK_REALTIME` shortly before the start.
    pub started_at: Nanos,
    /// `CLOCK_MONOTONIC` just before its `exec`.
    pub began: Nanos,
    /// The same when it had ended.
    pub ended: Nanos,
    /// How it ended; [`Exit::TimedOut`] is for the caller to tell.
    pub exit: Exit,
    /// Its own and its waited-for descendants' counts.
    pub rusage: Rusage,
}

impl Ended {
    /// From `exec` to exit.
    pub fn elapsed(&self) -> Nanos {
        self.ended.since(self.began)
    }
}

/// The process group of the run in progress, for the thread that ends it on a signal or a time limit.
#[derive(Debug, Default)]
pub struct Current(AtomicI32);

impl Current {
    /// No run in progress.
    pub const fn new() -> Self {
        Self(AtomicI32::new(0))
    }

    /// Sends `signal` to the process group of the run in progress; false where there is none.
    pub fn signal(&self, signal: rustix::process::Signal) -> bool {
        let pid = rustix::process::Pid::from_raw(self.0.load(Ordering::SeqCst));
        pid.is_some_and(|group| rustix::process::kill_process_group(group, signal).is_ok())
    }
}

/// Starts a process in a process group of its own, waits for its end and reaps it.
///
/// `current` names it while it may be signalled: its number is withdrawn after it has ended but before it is
/// reaped, so that no other process can have got the number yet.
///
/// # Errors
/// See [`SpawnError`]. No child is left behind.
pub fn run(start: &Start<'_>, stack: &mut ChildStack, current: &Current) -> Result<Ended, SpawnError> {
    let started_at = realtime();
    let mut plan = child::Plan::new(start);
    let pid = clone::vfork_with(&mut plan, start.cgroup, stack)?;
    if let Some(error) = plan.failure() {
        let _ = reap(pid);
        return Err(error);
    }
    current.0.store(pid, Ordering::SeqCst);
    let waited = wait_without_reaping(pid);
    let ended = monotonic();
    current.0.store(0, Ordering::SeqCst);
    waited.map_err(SpawnError::Wait)?;
    let (exit, rusage) = reap(pid).map_err(SpawnError::Wait)?;
    Ok(Ended { started_at, began: plan.exec_at(), ended, exit, rusage })
}

/// Reaps one more child that has ended, if there is one: an orphan of the tree that fell to us as its
/// subreaper.
#[derive(Debug)]
pub enum Orphan {
    /// It had ended.
    Reaped {
        /// Its number, which others may get from now on.
        pid: u32,
        /// Its counts and those of the descendants that it waited for.
        rusage: Rusage,
    },
    /// There are children, but none has ended.
    StillRunning,
    /// There are no children.
    None,
}

/// Looks for an orphan without waiting.
pub fn reap_orphan() -> Orphan {
    match wait4(-1, libc::WNOHANG) {
        Ok((0, _, _)) => Orphan::StillRunning,
        Ok((pid, _, rusage)) => Orphan::Reaped { pid: pid.cast_unsigned(), rusage },
        Err(_) => Orphan::None,
    }
}

/// Makes this process the one to which orphans of its descendants fall (`PR_SET_CHILD_SUBREAPER`).
///
/// # Errors
/// Never on Linux 3.4 or later.
pub fn become_subreaper() -> io::Result<()> {
    // Any process will do as the argument: a set one switches the attribute on.
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// The monotonic clock, from an arbitrary start.
pub fn monotonic() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// The wall clock, since 1970.
pub fn realtime() -> Nanos {
    nanos(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

fn nanos(t: rustix::time::Timespec) -> Nanos {
    Nanos((t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64)
}

/// Waits until `pid` has ended and leaves it a zombie.
fn wait_without_reaping(pid: libc::pid_t) -> io::Result<()> {
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is a valid place for a siginfo_t; its content is not read.
        #[allow(unsafe_code)]
        let result = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), flags) };
        if result == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn reap(pid: libc::pid_t) -> io::Result<(Exit, Rusage)> {
    let (_, exit, rusage) = wait4(pid, 0)?;
    Ok((exit, rusage))
}

fn wait4(pid: libc::pid_t, flags: libc::c_int) -> io::Result<(libc::pid_t, Exit, Rusage)> {
    loop {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are valid for writing, and the call fills them or leaves them as they are.
        #[allow(unsafe_code)]
        let reaped = unsafe { libc::wait4(pid, &mut status, flags, usage.as_mut_ptr()) };
        if reaped >= 0 {
            // SAFETY: all-zero bytes are a valid rusage, and the kernel wrote nothing but valid ones over them.
            #[allow(unsafe_code)]
            let usage = unsafe { usage.assume_init() };
            return Ok((reaped, exit_of(status), rusage_of(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn exit_of(status: libc::c_int) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

/// Size of the block in which `getrusage(2)` counts block I/O.
const RUSAGE_BLOCK: u64 = 512;

fn rusage_of(usage: &libc::rusage) -> Rusage {
    let time = |t: libc::timeval| Nanos::from_micros(t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64);
    Rusage {
        user_ns: time(usage.ru_utime),
        system_ns: time(usage.ru_stime),
        max_rss_bytes: Bytes::from_kib(usage.ru_maxrss as u64),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        block_read_bytes: Bytes(usage.ru_inblock as u64 * RUSAGE_BLOCK),
        block_written_bytes: Bytes(usage.ru_oublock as u64 * RUSAGE_BLOCK),
    }
}
