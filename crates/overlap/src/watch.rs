//! The process in front of the supervisor: whatever ends the supervisor, nothing of the build and
//! none of its deferred commands outlives it.
//!
//! It becomes the parent of everything below that loses its own, so that all of it can be found.
//! The supervisor ends the build if this process is killed.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, set_parent_process_death_signal,
    wait,
};

use crate::process::Process;

/// First argument of the supervising process.
pub(crate) const SUPERVISE: &str = "--supervise";

/// Time between two looks for processes that are left.
const PAUSE: Duration = Duration::from_millis(2);
/// Most looks: some 10 seconds.
const MAX_LOOKS: usize = 5000;

/// Starts the supervisor with these arguments and waits for its end.
///
/// # Errors
/// It cannot be started.
pub(crate) fn watch(arguments: &[OsString]) -> io::Result<ExitStatus> {
    set_child_subreaper(Some(getpid()))?;
    let supervisor = Command::new(std::env::current_exe()?).arg(SUPERVISE).args(arguments).spawn()?;
    let supervisor = Pid::from_child(&supervisor);
    forward_signals(supervisor)?;
    let status = loop {
        // Processes of the build that have lost their parents end here too.
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == supervisor => break ExitStatus::from_raw(status.as_raw()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    if status.signal().is_some() {
        kill_rest();
    }
    Ok(status)
}

/// Kills all that is below this process.
fn kill_rest() {
    for _ in 0..MAX_LOOKS {
        let rest = Process(getpid().as_raw_nonzero().get()).descendants();
        rest.iter().for_each(|process| process.kill());
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if rest.is_empty() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Sends the supervisor the signals that end a build. A terminal sends them to both; the second is
/// harmless.
#[allow(unsafe_code)]
fn forward_signals(supervisor: Pid) -> io::Result<()> {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let number = signal.as_raw();
        // SAFETY: the action only sends a signal, which is allowed in a signal handler.
        unsafe {
            signal_hook::low_level::register(number, move || {
                let _ = kill_process(supervisor, signal);
            })
        }?;
    }
    Ok(())
}

/// Ends this process like Ctrl-C if the one in front of it is gone. Called by the supervisor.
pub(crate) fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
}
