//! The signals that end a command of morecores, from before it measures until its process ends.
//!
//! One thread waits for them and does what the command asked for at that time. It measures nothing and draws nothing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use morecores_report::for_reading;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{exit, terminal};

/// Response to a signal, by its number.
type Response = Box<dyn FnMut(i32) + Send>;

/// Listener for the rest of the process. It does not stop: the handlers of the library stay installed after their reader
/// has gone, and signals would be lost.
pub(super) struct SignalListener {
    response: Arc<Mutex<Response>>,
}

impl SignalListener {
    /// Listens from now on, and answers each signal with `response`.
    pub(super) fn start(response: impl FnMut(i32) + Send + 'static) -> Result<Self> {
        let mut signals = Signals::new(heeded()?).context("cannot watch for signals")?;
        let response: Arc<Mutex<Response>> = Arc::new(Mutex::new(Box::new(response)));
        let listener = Self { response: Arc::clone(&response) };
        thread::spawn(move || {
            for signal in signals.forever() {
                lock(&response)(signal);
            }
        });
        Ok(listener)
    }

    /// Answers each further signal with `response`. An earlier answer has ended when this returns.
    pub(super) fn answer_with(&self, response: impl FnMut(i32) + Send + 'static) {
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

/// The signals that end a command: those that were not ignored when this process was started. `nohup`, and a shell
/// without job control that starts something in the background, have them ignored so that it goes on; and what this
/// process ignores, the processes that it starts ignore too.
fn heeded() -> Result<Vec<i32>> {
    let status = procfs::process::Process::myself().and_then(|myself| myself.status());
    let ignored = status.context("cannot read which signals are ignored")?.sigign;
    Ok([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect())
}

/// End of the process by a signal that comes when everything is measured and put back: at once, whatever is being
/// derived or written, with a line that says what there is.
#[derive(Clone, Debug)]
pub(super) struct EndAfterMeasuring {
    note: String,
    /// Directory that would have been removed after the report.
    temporary: Option<PathBuf>,
}

impl EndAfterMeasuring {
    /// Of a command that keeps a study at `path`.
    pub(super) fn with_study(path: &Path) -> Self {
        let path = for_reading(&[path.display().to_string()]);
        Self {
            note: format!(
                "stopped before the report; the study is kept, show it with: morecores show {path}"
            ),
            temporary: None,
        }
    }

    /// Of a command that keeps nothing, and whose files are below `temporary`.
    pub(super) fn without_study(temporary: &Path) -> Self {
        let note = "stopped before the report; the trace is not kept: -o NAME keeps it".to_owned();
        Self { note, temporary: Some(temporary.to_owned()) }
    }

    /// Of a command that `line` goes on with.
    pub(super) fn to_go_on_with(line: &str) -> Self {
        Self { note: format!("stopped; go on with: {line}"), temporary: None }
    }

    /// Ends the process.
    pub(super) fn end(&self, signal: i32) -> ! {
        if let Some(directory) = &self.temporary {
            // What cannot be removed stays in the directory of temporary files, as after a kill.
            let _ = fs::remove_dir_all(directory);
        }
        terminal::note(&self.note);
        exit::now(exit::by_signal(signal))
    }
}
