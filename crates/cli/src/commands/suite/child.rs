//! Runs `morecores` itself as a process of its own, and hands on the signals that are to end it.
//!
//! In a process group of its own, so that Ctrl-C reaches it once: from here.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::super::signals::{EndAfterMeasuring, SignalListener};

/// How it ended.
pub(super) enum Ended {
    Well,
    /// With this exit status.
    Failed(i32),
    /// Because this process got a signal.
    BySignal(i32),
}

/// Runs one process after the other. A signal between two of them ends this process.
pub(super) struct Runner {
    child: Arc<Mutex<Child>>,
}

/// The process that runs.
#[derive(Debug, Default)]
struct Child {
    /// None between two, so that no signal goes to a stranger that got its number.
    pid: Option<Pid>,
    /// The last signal that it was handed.
    signal: Option<i32>,
}

impl Runner {
    /// Hands signals on from now on; `between` is what they do where nothing runs.
    pub(super) fn start(between: EndAfterMeasuring) -> Result<Self> {
        let child = Arc::new(Mutex::new(Child::default()));
        let shared = Arc::clone(&child);
        SignalListener::start(move |signal| {
            let mut child = lock(&shared);
            let Some(pid) = child.pid else { between.end(signal) };
            child.signal = Some(signal);
            if let Some(signal) = Signal::from_named_raw(signal) {
                let _ = kill_process(pid, signal);
            }
        })?;
        Ok(Self { child })
    }

    /// Runs it with these arguments. Its report is not wanted: only the study is.
    pub(super) fn run(&self, arguments: &[OsString]) -> Result<Ended> {
        let us = env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(&us);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        if let Some(beside_us) = us.parent() {
            // So that the workloads are found by a name that another machine understands too.
            let path = env::var_os("PATH").unwrap_or_default();
            let first = std::iter::once(beside_us.to_owned()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(first).context("cannot extend PATH")?);
        }
        let mut process = {
            // A signal that comes meanwhile waits until there is somebody to hand it to.
            let mut child = lock(&self.child);
            let process = command.spawn().context("cannot start this program again")?;
            *child = Child { pid: Some(Pid::from_child(&process)), signal: None };
            process
        };
        // It keeps its number until it is waited for below.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&process)), ended) {}
        let signal = std::mem::take(&mut *lock(&self.child)).signal;
        let status = process.wait().context("cannot wait for this program")?;
        if let Some(signal) = signal {
            return Ok(Ended::BySignal(signal));
        }
        Ok(match (status.code(), status.signal()) {
            (Some(0), _) => Ended::Well,
            (Some(status), _) => Ended::Failed(status),
            (None, signal) => Ended::Failed(128 + signal.unwrap_or_default()),
        })
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
