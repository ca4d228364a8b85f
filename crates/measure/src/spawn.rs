//! Starts one process and waits for it; records the two instants that bound its elapsed time.
//!
//! The child shares the memory of this process until it calls `exec` (`CLONE_VM | CLONE_VFORK`), as
//! in `posix_spawn`. No page tables are copied, and the child can write the instant of its `exec`
//! where the parent can read it. `posix_spawn` itself cannot do that, and cannot create the child
//! inside a cgroup. A later move to the cgroup costs a grace period of the kernel. Meanwhile, every
//! fork and exit of the command is slower.
//!
//! This module knows nothing of studies, and does not examine the work of the process.

mod child;
mod clone;
mod terminal;
mod wait;

use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, Ordering};

use morecores_study::{CpuSet, Exit, Nanos, Rusage};
use rustix::process::{Pid, Signal, kill_process_group};

pub use clone::ChildStack;
use terminal::RunEnd;
pub use terminal::Terminal;

use wait::{Change, continues_within, reap, wait_for_change, wait4};

/// Time for which a stopped command may wait for a signal to continue. It is far longer than
/// necessary for a program that stops itself until another is ready. It is short for a user who
/// wonders why nothing happens.
pub const STOPPED_FOR: Nanos = Nanos::from_millis(2_000);

/// A program that is ready to start, with everything that the child needs, so that the child
/// allocates nothing.
#[derive(Debug)]
pub struct Image {
    path: CString,
    argv: PointerArray,
    envp: PointerArray,
}

impl Image {
    /// Creates an image. `path` is the path for `execve(2)`, `argv` begins with the program's name,
    /// and `env` holds `NAME=value`.
    pub fn new(path: CString, argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self { path, argv: PointerArray::new(argv), envp: PointerArray::new(env) }
    }
}

/// Strings with the null-terminated array of pointers to them, as `execve(2)` requires.
#[derive(Debug)]
struct PointerArray {
    /// Owner of the strings to which `pointers` point.
    _strings: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl PointerArray {
    fn new(strings: Vec<CString>) -> Self {
        // A CString's bytes are on the heap, so moving the vector does not move them.
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _strings: strings, pointers }
    }
}

// SAFETY: the pointers point into `_strings`, which moves along and is never changed.
#[allow(unsafe_code)]
unsafe impl Send for PointerArray {}

/// Parameters of the start of one process.
#[derive(Debug)]
pub struct Start<'a> {
    /// Program to start.
    pub image: &'a Image,
    /// Descriptor that becomes descriptor 0.
    pub stdin: BorrowedFd<'a>,
    /// Descriptor that becomes descriptor 1.
    pub stdout: BorrowedFd<'a>,
    /// Descriptor that becomes descriptor 2.
    pub stderr: BorrowedFd<'a>,
    /// CPUs that the process may use; without a value, all CPUs of the caller.
    pub affinity: Option<&'a CpuSet>,
    /// Directory of a version 2 cgroup in which the process is born.
    pub cgroup: Option<BorrowedFd<'a>>,
    /// File `cgroup.procs` of a version 1 cgroup that the process joins before its `exec`.
    pub joined_cgroup: Option<BorrowedFd<'a>>,
}

/// Reason for which a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The kernel could not create a process.
    #[error("cannot make a process: {0}")]
    Clone(io::Error),
    /// The kernel is too old to create a process inside a cgroup, or is not allowed to.
    #[error("the kernel cannot start a process inside a cgroup (clone3): {0}")]
    IntoCgroup(io::Error),
    /// The child failed before its program began.
    #[error("cannot {step}: {error}")]
    Child {
        /// Step that failed in the child.
        step: &'static str,
        /// Reason given by the system.
        error: io::Error,
    },
    /// `execve(2)` failed.
    #[error("{0}")]
    Exec(io::Error),
    /// Waiting failed; other code of this process must have reaped the child.
    #[error("cannot wait for the command: {0}")]
    Wait(io::Error),
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEnd {
    /// `CLOCK_REALTIME` shortly before the start.
    pub started_at: Nanos,
    /// `CLOCK_MONOTONIC` just before the process's `exec`.
    pub began: Nanos,
    /// `CLOCK_MONOTONIC` when the process had ended.
    pub ended: Nanos,
    /// Exit of the process; the caller sets [`Exit::TimedOut`].
    pub exit: Exit,
    /// Counts of the process and of the descendants that were waited for.
    pub rusage: Rusage,
    /// Whether the process had the terminal, and with it the user's input, including Ctrl-C.
    pub had_terminal: bool,
}

impl ProcessEnd {
    /// Elapsed time from `exec` to exit.
    pub fn elapsed(&self) -> Nanos {
        self.ended.since(self.began)
    }
}

/// Process group of the run in progress, for the thread that ends it on a signal or a time limit.
#[derive(Debug, Default)]
pub struct Current(AtomicI32);

impl Current {
    /// Creates a value without a run in progress.
    pub const fn new() -> Self {
        Self(AtomicI32::new(0))
    }

    /// Sends `signal` to the process group of the run in progress, and continues a stopped group so
    /// that it receives the signal. Returns false if no run is in progress.
    pub fn signal(&self, signal: Signal) -> bool {
        let pid = Pid::from_raw(self.0.load(Ordering::SeqCst));
        let send = |group| {
            let sent = kill_process_group(group, signal).is_ok();
            sent && kill_process_group(group, Signal::CONT).is_ok()
        };
        pid.is_some_and(send)
    }
}

/// Starts a process in a process group of its own, waits for its end and reaps it.
///
/// `current` holds the process's number while it may be signalled. The number is withdrawn after
/// the process has ended but before it is reaped. No other process can thus have the number yet.
/// The process gets the `terminal` if it asks for it. If a signal stops the process for any other
/// reason and it does not continue for [`STOPPED_FOR`], it is killed.
///
/// # Errors
/// See [`SpawnError`]. No child is left behind.
pub fn run(
    start: &Start<'_>,
    stack: &mut ChildStack,
    current: &Current,
    terminal: &mut Terminal,
) -> Result<ProcessEnd, SpawnError> {
    let started_at = morecores_machine::clock::realtime();
    let mut plan = child::Plan::new(start);
    let pid = clone::vfork_with(&mut plan, start.cgroup, stack)?;
    if let Some(error) = plan.failure() {
        let _ = reap(pid);
        return Err(error);
    }
    current.0.store(pid, Ordering::SeqCst);
    terminal.start_run(pid);
    let waited = wait_for_end(pid, terminal, current);
    let ended = morecores_machine::clock::monotonic();
    current.0.store(0, Ordering::SeqCst);
    let reaped = waited.and_then(|stopped_by| Ok((stopped_by, reap(pid)?)));
    let end = match reaped {
        Ok((None, (Exit::Code(_), _))) => RunEnd::Exit,
        _ => RunEnd::Signal,
    };
    let had_terminal = terminal.take_back(end);
    let (stopped_by, (exit, rusage)) = reaped.map_err(SpawnError::Wait)?;
    let exit = stopped_by.map_or(exit, Exit::Stopped);
    Ok(ProcessEnd { started_at, began: plan.exec_at(), ended, exit, rusage, had_terminal })
}

/// Waits until a process has ended, and leaves it a zombie. Returns the signal that stopped the
/// process for good, if it was killed for that reason.
fn wait_for_end(pid: libc::pid_t, terminal: &mut Terminal, current: &Current) -> io::Result<Option<i32>> {
    let mut stopped_by = None;
    loop {
        match wait_for_change(pid)? {
            Change::Ended => return Ok(stopped_by),
            Change::Stopped(signal) if terminal.give_on_signal(signal, pid) => {
                current.signal(Signal::CONT);
            }
            Change::Stopped(signal) => {
                if !continues_within(pid, STOPPED_FOR)? {
                    stopped_by = Some(signal);
                    current.signal(Signal::KILL);
                }
            }
        }
    }
}

/// Result of an attempt to reap a child that has ended. Such a child is an orphan of the tree,
/// which this process adopted as subreaper.
#[derive(Debug)]
pub enum Orphan {
    /// An ended child was reaped.
    Reaped {
        /// Number of the child, which other processes may get from now on.
        pid: u32,
        /// Counts of the child and of the descendants for which it waited.
        rusage: Rusage,
    },
    /// There are children, but none has ended.
    StillRunning,
    /// There are no children.
    None,
}

/// Reaps an orphan without waiting.
pub fn reap_orphan() -> Orphan {
    match wait4(-1, libc::WNOHANG) {
        Ok((0, _, _)) => Orphan::StillRunning,
        Ok((pid, _, rusage)) => Orphan::Reaped { pid: pid.cast_unsigned(), rusage },
        Err(_) => Orphan::None,
    }
}

/// Makes this process the subreaper of its descendants (`PR_SET_CHILD_SUBREAPER`), so that it
/// adopts their orphans.
///
/// # Errors
/// None on Linux 3.4 or later.
pub fn become_subreaper() -> io::Result<()> {
    // The argument may be any process: a value that is set switches the attribute on.
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}
