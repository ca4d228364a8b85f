//! Signals that end a morecores command, from before the measurement until the process ends.
//!
//! One thread waits for the signals and gives the response that applies at the time. It measures
//! nothing and draws nothing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use morecores_report::display_command;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{exit, terminal};

/// Response to a signal, by its number.
type Response = Box<dyn FnMut(i32) + Send>;

/// Listener for signals, which runs for the rest of the process. Stopping it would lose signals:
/// the library's handlers stay installed after their reader has gone.
pub(super) struct SignalListener {
    response: Arc<Mutex<Response>>,
}

impl SignalListener {
    /// Starts to listen, and answers each signal with `response`.
    pub(super) fn start(response: impl FnMut(i32) + Send + 'static) -> Result<Self> {
        let mut signals = Signals::new(handled_signals()?).context("cannot watch for signals")?;
        let response: Arc<Mutex<Response>> = Arc::new(Mutex::new(Box::new(response)));
        let listener = Self { response: Arc::clone(&response) };
        thread::spawn(move || {
            for signal in signals.forever() {
                lock(&response)(signal);
            }
        });
        Ok(listener)
    }

    /// Answers each further signal with `response`. Any earlier response has ended when this
    /// function returns.
    pub(super) fn on_signal(&self, response: impl FnMut(i32) + Send + 'static) {
        *lock(&self.response) = Box::new(response);
    }
}

impl fmt::Debug for SignalListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalListener").finish_non_exhaustive()
    }
}

fn lock(response: &Mutex<Response>) -> MutexGuard<'_, Response> {
    response.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals that end a command: those not ignored at the start of this process. `nohup` and shells
/// without job control have a background process ignore them, so that it continues. Child processes
/// inherit the ignored signals.
fn handled_signals() -> Result<Vec<i32>> {
    let status = procfs::process::Process::myself().and_then(|myself| myself.status());
    let ignored = status.context("cannot read which signals are ignored")?.sigign;
    Ok([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect())
}

/// End of the process by a signal after measurement and clean-up. The process ends at once, during
/// any derivation or output, with a line on what has been kept.
#[derive(Clone, Debug)]
pub(super) struct EndAfterMeasuring {
    note: String,
    /// Directory that would have been removed after the report.
    temporary: Option<PathBuf>,
}

impl EndAfterMeasuring {
    /// Response of a command that keeps a study at `path`.
    pub(super) fn with_study(path: &Path) -> Self {
        let path = display_command(&[path.display().to_string()]);
        Self {
            note: format!(
                "stopped before the report; the study is kept, show it with: morecores show {path}"
            ),
            temporary: None,
        }
    }

    /// Response of a command that keeps nothing and has its files below `temporary`.
    pub(super) fn without_study(temporary: &Path) -> Self {
        let note = "stopped before the report; the trace is not kept: -o NAME keeps it".to_owned();
        Self { note, temporary: Some(temporary.to_owned()) }
    }

    /// Response of a command that `line` resumes.
    pub(super) fn with_resume_line(line: &str) -> Self {
        Self { note: format!("stopped; continue with: {line}"), temporary: None }
    }

    /// Ends the process.
    pub(super) fn end(&self, signal: i32) -> ! {
        exit::claim_end();
        if let Some(directory) = &self.temporary {
            // Files that cannot be removed stay in the directory of temporary files, as after a
            // kill.
            let _ = fs::remove_dir_all(directory);
        }
        terminal::note(&self.note);
        exit::now(exit::signal_status(signal))
    }
}
