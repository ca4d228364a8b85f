//! Runs `morecores` itself as a process of its own, and hands on the signals that are to end it.
//!
//! In a process group of its own, so that Ctrl-C reaches it once: from here.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How it ended.
pub(super) enum Ended {
    Well,
    /// With this exit status.
    Failed(i32),
    /// Because this process got a signal.
    BySignal(i32),
}

/// Runs it with these arguments. Its report is not wanted: only the study is.
pub(super) fn run(arguments: &[OsString]) -> Result<Ended> {
    let us = env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(&us);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    if let Some(beside_us) = us.parent() {
        // So that the workloads are found by a name that another machine understands too.
        let path = env::var_os("PATH").unwrap_or_default();
        let first = std::iter::once(beside_us.to_owned()).chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(first).context("cannot extend PATH")?);
    }
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot watch for signals")?;
    let mut child = command.spawn().context("cannot start this program again")?;
    let handle = signals.handle();
    let pid = Pid::from_child(&child);
    let hands_on = thread::spawn(move || {
        let mut last = None;
        for signal in signals.forever() {
            last = Some(signal);
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(pid, signal);
            }
        }
        last
    });
    let status = child.wait().context("cannot wait for this program")?;
    handle.close();
    if let Ok(Some(signal)) = hands_on.join() {
        return Ok(Ended::BySignal(signal));
    }
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) => Ended::Well,
        (Some(status), _) => Ended::Failed(status),
        (None, signal) => Ended::Failed(128 + signal.unwrap_or_default()),
    })
}
