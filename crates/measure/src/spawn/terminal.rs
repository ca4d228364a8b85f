//! Controlling terminal, which is given to a command that asks for it, and taken back afterwards.
//!
//! The command has a process group of its own. SIGTTIN or SIGTTOU stops a process that reads or
//! sets the terminal from a group other than the terminal's own (credentials(7), tcsetpgrp(3)). A
//! command asks for the terminal in this way. Until then, the terminal stays with this process, so
//! that Ctrl-C ends the study and not a single run.

use std::fs::File;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// End of a run that may have had the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// The command exited, and left the terminal as it wanted.
    Exit,
    /// A signal ended the command, or its end is unknown.
    Signal,
}

/// Terminal of this process, if any.
#[derive(Debug)]
pub struct Terminal {
    file: Option<File>,
    /// Whether a run has asked for the terminal; later runs then get it at their start.
    is_wanted: bool,
    /// State of the terminal when it was given to the run in progress.
    given: Option<Termios>,
}

impl Terminal {
    /// Opens the controlling terminal of this process.
    pub fn from_this_process() -> Self {
        let file = File::options().read(true).write(true).open("/dev/tty").ok();
        Self { file, is_wanted: false, given: None }
    }

    /// No terminal, for programs that do not need one.
    pub fn none() -> Self {
        Self { file: None, is_wanted: false, given: None }
    }

    /// Gives the terminal to the process group of a run that has started, if an earlier run asked
    /// for it.
    pub(super) fn start_run(&mut self, group: libc::pid_t) {
        if self.is_wanted {
            self.give(group);
        }
    }

    /// Gives the terminal to a process group that `signal` has stopped, if the signal means that
    /// the group asks for it. Returns whether the group may continue.
    pub(super) fn give_on_signal(&mut self, signal: i32, group: libc::pid_t) -> bool {
        if !matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
            return false;
        }
        // A group that gets the terminal at its start may have asked for it a moment before.
        let given = if self.given.is_some() { self.is_owned_by(group) } else { self.give(group) };
        self.is_wanted |= given;
        given
    }

    /// Takes the terminal back if it was given, and returns whether it was. After a run that a
    /// signal ended, the terminal's previous state is restored, as in a shell.
    pub(super) fn take_back(&mut self, end: RunEnd) -> bool {
        let (Some(before), Some(file)) = (self.given.take(), &self.file) else { return false };
        // These calls fail only if the terminal is gone.
        let _ = while_background(|| {
            tcsetpgrp(file, getpgrp())?;
            match end {
                RunEnd::Exit => Ok(()),
                RunEnd::Signal => tcsetattr(file, OptionalActions::Drain, &before),
            }
        });
        true
    }

    fn is_owned_by(&self, group: libc::pid_t) -> bool {
        let owner = self.file.as_ref().and_then(|file| tcgetpgrp(file).ok());
        owner.is_some() && owner == Pid::from_raw(group)
    }

    /// Gives the terminal away if this process owns it; a study in the background does not own it.
    fn give(&mut self, group: libc::pid_t) -> bool {
        let (Some(file), Some(group)) = (&self.file, Pid::from_raw(group)) else { return false };
        let given = || {
            let before = tcgetattr(file)?;
            if tcgetpgrp(file)? == getpgrp() {
                tcsetpgrp(file, group).map(|()| Some(before))
            } else {
                Ok(None)
            }
        };
        self.given = given().ok().flatten();
        self.given.is_some()
    }
}

/// Runs an operation on the terminal that only its own process group may do without being stopped.
/// SIGTTOU is blocked meanwhile.
fn while_background<T>(act: impl FnOnce() -> T) -> T {
    let (mut blocked, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: sigemptyset fills the set that it gets, sigaddset adds to a valid set, and the
    // previous mask goes to a valid place.
    #[allow(unsafe_code)]
    unsafe {
        libc::sigemptyset(blocked.as_mut_ptr());
        libc::sigaddset(blocked.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
    }
    let done = act();
    // SAFETY: `before` is the mask that the call above has filled in.
    #[allow(unsafe_code)]
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
    }
    done
}
