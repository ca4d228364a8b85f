//! Start of the program in every run: a process of `morecores-shake` stops itself, so that it can
//! be traced from its first instruction on, and then executes the program.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, Signal, raise};
use rustix::thread::{CpuSet, sched_setaffinity};

/// First argument of the process that executes the program.
pub(crate) const LAUNCH: &str = "--launch-on";

/// Output files of a run.
#[derive(Debug)]
pub(crate) struct OutputFiles {
    pub(crate) stdout: File,
    pub(crate) stderr: File,
}

/// Starts a process that stops itself by SIGSTOP before it executes `command` on `cpus`.
///
/// # Errors
/// The process cannot be started.
pub(crate) fn start(command: &[OsString], cpus: &[usize], output: OutputFiles) -> io::Result<Child> {
    let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
    Command::new(std::env::current_exe()?)
        .arg(LAUNCH)
        .arg(list.join(","))
        .args(command)
        .stdin(Stdio::null())
        .stdout(output.stdout)
        .stderr(output.stderr)
        // Ctrl-C ends the search, not the run in progress.
        .process_group(0)
        .spawn()
}

/// Executes the program in this process. Returns only the reason why this is impossible.
pub(crate) fn launch(cpus: &str, command: &[OsString]) -> io::Error {
    match prepare(cpus) {
        Ok(()) => {}
        Err(error) => return error,
    }
    let [program, arguments @ ..] = command else { return io::ErrorKind::InvalidInput.into() };
    Command::new(program).args(arguments).exec()
}

fn prepare(cpus: &str) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus.split(',') {
        set.set(cpu.parse().map_err(io::Error::other)?);
    }
    sched_setaffinity(None, &set)?;
    // The tracer blocks it, and a child inherits that.
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGCHLD);
    blocked.thread_unblock()?;
    raise(Signal::SIGSTOP)?;
    Ok(())
}
