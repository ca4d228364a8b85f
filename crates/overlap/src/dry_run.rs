//! The dry run of a make that is about to start: what it would do, and by which rules.
//!
//! It starts one program, outside the filter, and reads no file itself. make itself decides what a
//! dry run does: it evaluates `$(shell …)` and remakes its makefiles.

use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::output::memory_file;
use crate::recipe::Invocation;
use crate::rules::{NO_COMMAND, Rules};

/// Longest dry run. Reading the makefiles of a large project takes seconds.
const LIMIT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// The rules of a make; `None` if its dry run fails.
pub(crate) fn rules(invocation: &Invocation) -> Option<Rules> {
    let make = invocation.arguments.first()?;
    let text = text(invocation, make).ok()?;
    Rules::parse(&text, make)
}

fn text(invocation: &Invocation, make: &str) -> io::Result<String> {
    let mut output = memory_file()?;
    let mut command = Command::new(&invocation.program);
    command
        .arg0(make)
        .args(["--dry-run", "--trace", "--print-data-base"])
        .arg(format!("MAKE={NO_COMMAND}{make}"))
        .args(invocation.arguments.iter().skip(1))
        .env_clear()
        .envs(invocation.environment.iter().filter_map(|variable| variable.split_once('=')))
        // The text is parsed.
        .env("LC_ALL", "C")
        .current_dir(&invocation.directory)
        .stdin(Stdio::null())
        .stdout(output.as_fd().try_clone_to_owned()?)
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let ended = pidfd_open(pid, PidfdFlags::empty())?;
    let has_ended =
        poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&LIMIT)).is_ok_and(|ready| ready > 0);
    if !has_ended {
        // A group that is gone needs no signal.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    child.wait()?;
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
