//! The controlling terminal: given to a command that asks for it, and taken back afterwards.
//!
//! The command is a process group of its own. A process that reads or sets the terminal from another group than the
//! terminal's own is stopped by SIGTTIN or SIGTTOU (credentials(7), tcsetpgrp(3)): that is how a command asks. Until it
//! does, the terminal stays with this process, so that Ctrl-C ends the study and not one run.

use std::fs::File;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

/// The terminal of this process, if it has one.
#[derive(Debug)]
pub struct Terminal {
    file: Option<File>,
    /// Whether a run has asked for it: later runs get it when they start.
    is_wanted: bool,
    /// The state in which it was given to the run in progress.
    given: Option<Termios>,
}

impl Terminal {
    /// The controlling terminal of this process.
    pub fn of_this_process() -> Self {
        let file = File::options().read(true).write(true).open("/dev/tty").ok();
        Self { file, is_wanted: false, given: None }
    }

    /// No terminal, for programs that have no use for one.
    pub fn none() -> Self {
        Self { file: None, is_wanted: false, given: None }
    }

    /// Gives it to the process group of a run that has started, where an earlier one asked for it.
    pub(super) fn run_starts(&mut self, group: libc::pid_t) {
        if self.is_wanted {
            self.give(group);
        }
    }

    /// Gives it to a process group that `signal` has stopped, where that means that the group asks for it. Returns
    /// whether the group may go on.
    pub(super) fn is_given_on(&mut self, signal: i32, group: libc::pid_t) -> bool {
        if !matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
            return false;
        }
        // One that gets it when it starts may ask a moment before.
        let given = if self.given.is_some() { self.is_with(group) } else { self.give(group) };
        self.is_wanted |= given;
        given
    }

    /// Takes it back, where it was given. After a run that a signal ended, in the state from before, as a shell does.
    /// Returns whether it was given.
    pub(super) fn run_ended(&mut self, by_signal: bool) -> bool {
        let (Some(before), Some(file)) = (self.given.take(), &self.file) else { return false };
        // Where these fail the terminal has gone.
        let _ = while_background(|| {
            tcsetpgrp(file, getpgrp())?;
            if by_signal { tcsetattr(file, OptionalActions::Drain, &before) } else { Ok(()) }
        });
        true
    }

    fn is_with(&self, group: libc::pid_t) -> bool {
        let owner = self.file.as_ref().and_then(|file| tcgetpgrp(file).ok());
        owner.is_some() && owner == Pid::from_raw(group)
    }

    /// Gives it away, where it is this process's to give: a study in the background has none.
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

/// Does something to the terminal that only its own process group may do without being stopped: SIGTTOU is blocked.
fn while_background<T>(act: impl FnOnce() -> T) -> T {
    let (mut blocked, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: sigemptyset fills the set it is given, sigaddset adds to a valid one, and the mask from before goes to a
    // valid place.
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
