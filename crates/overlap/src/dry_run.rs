//! The dry run of a make that is about to start: what it would do, and by which rules.
//!
//! make evaluates `$(shell …)` in a dry run, executes lines with `$(MAKE)` and remakes its
//! makefiles. None of it may change a file that the real run meets: the filter shows each change,
//! and it fails as on a read-only file system.

use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::{ClockId, clock_gettime};

use crate::calls::{Call, PathArgument, decode};
use crate::disk::is_of_kernel;
use crate::filter::Filter;
use crate::listener::{Answer, Listener, Notification, receive_descriptor, show_calls};
use crate::output::memory_file;
use crate::process::Process;
use crate::recipe::Invocation;
use crate::rules::{NO_COMMAND, Rules};

/// Longest dry run, in seconds. Reading the makefiles of a large project takes seconds.
const LIMIT: i64 = 60;

/// The rules of a make; `None` if its dry run tells none, or if `signals` becomes readable. Its
/// programs may write in the folder `scratch` alone.
pub(crate) fn rules(invocation: &Invocation, scratch: &Path, signals: impl AsFd) -> Option<Rules> {
    let make = invocation.arguments.first()?;
    let text = text(invocation, make, scratch, signals).ok()?;
    Rules::parse(&text, make)
}

fn text(invocation: &Invocation, make: &str, scratch: &Path, signals: impl AsFd) -> io::Result<String> {
    let mut output = memory_file()?;
    let mut command = Command::new(&invocation.program);
    command
        .arg0(make)
        // An output that is not there must not end it.
        .args(["--dry-run", "--trace", "--print-data-base", "--keep-going", "--ignore-errors"])
        .arg(format!("MAKE={NO_COMMAND}{make}"))
        .args(invocation.arguments.iter().skip(1))
        .env_clear()
        .envs(invocation.environment.pairs())
        // The text is parsed.
        .env_remove("LC_ALL")
        .env_remove("LANGUAGE")
        .env("LC_MESSAGES", "C")
        .env("TMPDIR", scratch)
        .current_dir(&invocation.directory)
        .stdin(Stdio::null())
        .stdout(output.as_fd().try_clone_to_owned()?)
        .stderr(Stdio::null())
        .process_group(0);
    let socket = show_calls(&mut command, Filter::for_job())?;
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let served = receive_descriptor(&socket).and_then(|listener| match listener {
        Ok(listener) => serve(&Listener::new(listener), &ended, signals, scratch),
        Err(_) => Err(io::ErrorKind::PermissionDenied.into()),
    });
    // A group that is gone needs no signal. What the dry run left must not outlive it.
    let _ = kill_process_group(pid, Signal::KILL);
    child.wait()?;
    served?;
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Answers the calls until the dry run has ended.
fn serve(listener: &Listener, ended: &OwnedFd, signals: impl AsFd, scratch: &Path) -> io::Result<()> {
    let now = || clock_gettime(ClockId::Monotonic).tv_sec;
    let deadline = now() + LIMIT;
    loop {
        let mut polled = [
            PollFd::new(ended, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&signals, PollFlags::IN),
        ];
        let rest = Timespec { tv_sec: (deadline - now()).max(0), tv_nsec: 0 };
        if poll(&mut polled, Some(&rest))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let [ended, call, signal] = polled.map(|polled| polled.revents().contains(PollFlags::IN));
        if signal {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if ended {
            return Ok(());
        }
        if call && let Some(call) = listener.receive() {
            listener.answer(&call, answer(&call, scratch));
        }
    }
}

/// The kernel performs what changes no file of the build.
fn answer(call: &Notification, scratch: &Path) -> Answer {
    let process = Process(call.pid);
    let is_free = |argument: PathArgument| {
        let path = process.resolve(argument);
        path.is_none_or(|path| is_of_kernel(&path) || path.starts_with(scratch))
    };
    let is_allowed = match decode(call) {
        Call::OpenToWrite { path, .. }
        | Call::MakeDirectory { path }
        | Call::MakeName { path }
        | Call::Change { path } => is_free(path),
        Call::Rename { from, to } => is_free(from) && is_free(to),
        _ => true,
    };
    if is_allowed { Answer::Continue } else { Answer::Return(-i64::from(libc::EROFS)) }
}
