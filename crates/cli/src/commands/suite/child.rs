//! Runs `morecores` itself as a separate process, and forwards the signals that are to end it.
//!
//! The child has its own process group, so that Ctrl-C reaches it once: from this process.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tracing::info;

use super::super::signals::{EndAfterMeasuring, SignalListener};
use crate::log;

/// Outcome of the child process.
pub(super) enum ChildEnd {
    Success,
    /// Exit status of a child that failed.
    Failed(i32),
    /// Signal to this process that ended the child.
    BySignal(i32),
}

/// Runs one process after another. A signal between two of them ends this process.
pub(super) struct Runner {
    child: Arc<Mutex<Child>>,
}

/// Child process in progress.
#[derive(Debug, Default)]
struct Child {
    /// Process ID. None between two children, so that no signal reaches an unrelated process with a
    /// reused ID.
    pid: Option<Pid>,
    /// Last signal that was forwarded to the child.
    signal: Option<i32>,
}

impl Runner {
    /// Starts to forward signals. `between` responds to a signal while no child runs.
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

    /// Runs morecores with these arguments. Its report is discarded: only the study is needed.
    pub(super) fn run(&self, arguments: &[OsString]) -> Result<ChildEnd> {
        let own_program = env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(&own_program);
        command
            .args(log::options())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        if let Some(own_folder) = own_program.parent() {
            // PATH starts with the directory of this program. Studies then name the workloads
            // without a path, which is also valid on another machine.
            let path = env::var_os("PATH").unwrap_or_default();
            let first = std::iter::once(own_folder.to_owned()).chain(env::split_paths(&path));
            command.env("PATH", env::join_paths(first).context("cannot extend PATH")?);
        }
        let mut process = {
            // The lock delays a signal until there is a child to forward it to.
            let mut child = lock(&self.child);
            let process = command.spawn().context("cannot start this program again")?;
            *child = Child { pid: Some(Pid::from_child(&process)), signal: None };
            process
        };
        // `NOWAIT` leaves the child a zombie: it keeps its process ID until the wait below.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&process)), ended) {}
        let signal = std::mem::take(&mut *lock(&self.child)).signal;
        let status = process.wait().context("cannot wait for this program")?;
        info!("process {} ended: {status}", process.id());
        if let Some(signal) = signal {
            return Ok(ChildEnd::BySignal(signal));
        }
        Ok(match (status.code(), status.signal()) {
            (Some(0), _) => ChildEnd::Success,
            (Some(status), _) => ChildEnd::Failed(status),
            (None, signal) => ChildEnd::Failed(128 + signal.unwrap_or_default()),
        })
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
