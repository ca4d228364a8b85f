//! Processes under ptrace: how they come under it, what they report, and how they go on.
//!
//! Signals are numbers here. The names of the libraries know no real-time signal, and programs use
//! these: the C library itself does, to cancel a thread.

use std::io;
use std::process::Child;

use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{WaitOptions, wait, waitpid};

/// No signal.
pub(crate) const NO_SIGNAL: i32 = 0;

/// Report of a traced thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// It ended with a status.
    Exited(Pid, i32),
    /// A signal ended it.
    Killed(Pid, i32),
    /// It stopped before it receives a signal.
    Signal(Pid, i32),
    /// It stopped at an event of ptrace(2).
    Event(Pid, i32),
}

/// Takes a process that has stopped itself under ptrace, with all that it starts, and lets it go
/// on. It ends with this process.
///
/// # Errors
/// It may not be traced. It is killed then.
pub(crate) fn seize(child: &Child, events: Options) -> io::Result<Pid> {
    let root = Pid::from_raw(child.id() as i32);
    let all = Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    let seized = wait_with(Some(root), WaitOptions::UNTRACED).and_then(|_| {
        ptrace::seize(root, all | events)?;
        Ok(kill(root, Signal::SIGCONT)?)
    });
    if seized.is_err() {
        let _ = kill(root, Signal::SIGKILL);
        let _ = wait_with(Some(root), WaitOptions::empty());
    }
    seized.map(|()| root)
}

/// Next report of any traced thread; `None` if there is none yet.
///
/// # Errors
/// There is no such thread (`ECHILD`).
pub(crate) fn poll() -> io::Result<Option<Report>> {
    wait_with(None, every_thread() | WaitOptions::NOHANG)
}

/// Next report of one thread; `None` if there is none yet.
///
/// # Errors
/// There is no such thread (`ECHILD`).
pub(crate) fn poll_thread(thread: Pid) -> io::Result<Option<Report>> {
    wait_with(Some(thread), every_thread() | WaitOptions::NOHANG)
}

/// Next report of one thread.
///
/// # Errors
/// There is no such thread (`ECHILD`).
pub(crate) fn wait_for(thread: Pid) -> io::Result<Option<Report>> {
    wait_with(Some(thread), every_thread())
}

/// Threads too, which are children of a special kind.
fn every_thread() -> WaitOptions {
    WaitOptions::from_bits_retain(libc::__WALL as u32)
}

fn wait_with(thread: Option<Pid>, options: WaitOptions) -> io::Result<Option<Report>> {
    let reported = match thread.and_then(|thread| rustix::process::Pid::from_raw(thread.as_raw())) {
        Some(thread) => waitpid(Some(thread), options)?,
        // `waitpid` would see the process group of this process alone.
        None => wait(options)?,
    };
    let Some((thread, status)) = reported else { return Ok(None) };
    let thread = Pid::from_raw(thread.as_raw_nonzero().get());
    let event = status.as_raw() >> 16;
    let report = match (status.exit_status(), status.terminating_signal(), status.stopping_signal()) {
        (Some(status), ..) => Report::Exited(thread, status),
        (_, Some(signal), _) => Report::Killed(thread, signal),
        (.., Some(signal)) if event == 0 => Report::Signal(thread, signal),
        _ => Report::Event(thread, event),
    };
    Ok(Some(report))
}

/// Lets a stopped thread go on, with a signal or with [`NO_SIGNAL`].
///
/// # Errors
/// It has ended meanwhile (`ESRCH`).
#[allow(unsafe_code)]
pub(crate) fn go_on(thread: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: the request has no memory; its last argument is the signal.
    let result = unsafe { libc::ptrace(libc::PTRACE_CONT, thread.as_raw(), 0, i64::from(signal)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
