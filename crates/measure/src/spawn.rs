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
mod terminal;
mod wait;

use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, Ordering};

use morecores_study::{CpuSet, Exit, Nanos, Rusage};
use rustix::process::{Pid, Signal, kill_process_group};

pub use clone::ChildStack;
pub use terminal::Terminal;

use wait::{Change, goes_on_within, reap, wait_for_change, wait4};

/// Time for which a stopped command may wait for a signal to continue: far longer than a program takes that stops itself until
/// another is ready, and no time for a user who wonders why nothing happens.
pub const STOPPED_FOR: Nanos = Nanos::from_millis(2_000);

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
    /// Whether it had the terminal, and with it what a user typed, Ctrl-C too.
    pub had_terminal: bool,
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

    /// Sends `signal` to the process group of the run in progress, which goes on to hear it where it is stopped; false
    /// where there is none.
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
/// `current` names it while it may be signalled: its number is withdrawn after it has ended but before it is
/// reaped, so that no other process can have got the number yet. It gets the `terminal` where it asks for it. Where a
/// signal stops it for any other reason and it does not go on for [`STOPPED_FOR`], it is ended.
///
/// # Errors
/// See [`SpawnError`]. No child is left behind.
pub fn run(
    start: &Start<'_>,
    stack: &mut ChildStack,
    current: &Current,
    terminal: &mut Terminal,
) -> Result<Ended, SpawnError> {
    let started_at = morecores_machine::clock::realtime();
    let mut plan = child::Plan::new(start);
    let pid = clone::vfork_with(&mut plan, start.cgroup, stack)?;
    if let Some(error) = plan.failure() {
        let _ = reap(pid);
        return Err(error);
    }
    current.0.store(pid, Ordering::SeqCst);
    terminal.run_starts(pid);
    let waited = wait_for_end(pid, terminal, current);
    let ended = morecores_machine::clock::monotonic();
    current.0.store(0, Ordering::SeqCst);
    let reaped = waited.and_then(|stopped_by| Ok((stopped_by, reap(pid)?)));
    let by_signal = !matches!(reaped, Ok((None, (Exit::Code(_), _))));
    let had_terminal = terminal.run_ended(by_signal);
    let (stopped_by, (exit, rusage)) = reaped.map_err(SpawnError::Wait)?;
    let exit = stopped_by.map_or(exit, Exit::Stopped);
    Ok(Ended { started_at, began: plan.exec_at(), ended, exit, rusage, had_terminal })
}

/// Waits until a process has ended, and leaves it a zombie. Returns the signal that stopped it for good, where it was
/// ended for that.
fn wait_for_end(pid: libc::pid_t, terminal: &mut Terminal, current: &Current) -> io::Result<Option<i32>> {
    let mut stopped_by = None;
    loop {
        match wait_for_change(pid)? {
            Change::Ended => return Ok(stopped_by),
            Change::Stopped(signal) if terminal.is_given_on(signal, pid) => {
                current.signal(Signal::CONT);
            }
            Change::Stopped(signal) => {
                if !goes_on_within(pid, STOPPED_FOR)? {
                    stopped_by = Some(signal);
                    current.signal(Signal::KILL);
                }
            }
        }
    }
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
