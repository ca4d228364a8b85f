//! Exit statuses of the process, and the one place where an error becomes a status.

use std::io;
use std::process::{self, ExitCode};
use std::sync::{Mutex, PoisonError};

use morecores_measure::executor::ExecuteError;
use morecores_measure::program::ProgramError;
use morecores_view::Answer;

use crate::log;

/// Success: everything was done.
pub(crate) const SUCCESS: u8 = 0;
/// Failure of the measured command, or nothing left to measure.
pub(crate) const COMMAND_FAILED: u8 = 1;
/// Bad input, or a machine that cannot do what was asked.
pub(crate) const BAD_INPUT: u8 = 2;
/// Fulfilled condition of `--fail-if`.
pub(crate) const CONDITION_HOLDS: u8 = 3;
/// Answer "no" under `--exit-answer`.
const ANSWER_NO: u8 = 3;
/// Answer "it cannot be told yet" under `--exit-answer`.
const ANSWER_UNKNOWN: u8 = 4;
/// Command that exists but cannot be executed, as in shells.
const NOT_EXECUTABLE: u8 = 126;
/// Command that does not exist, as in shells.
const NOT_FOUND: u8 = 127;
/// Base to which a signal's number is added, as in shells.
const BY_SIGNAL: u8 = 128;

/// Exit status for a signal that ended this process.
pub(crate) fn signal_status(signal: i32) -> u8 {
    u8::try_from(signal).map_or(COMMAND_FAILED, |signal| BY_SIGNAL + signal)
}

/// Exit status for the answer of a study, under `--exit-answer`.
pub(crate) fn answer_status(answer: Answer) -> u8 {
    match answer {
        Answer::Yes => SUCCESS,
        Answer::No => ANSWER_NO,
        Answer::Unknown => ANSWER_UNKNOWN,
    }
}

/// Exit status for an error.
pub(crate) fn error_status(error: &anyhow::Error) -> u8 {
    let program =
        error.downcast_ref::<ProgramError>().or_else(|| match error.downcast_ref::<ExecuteError>() {
            Some(ExecuteError::Program(program)) => Some(program),
            _ => None,
        });
    match program {
        Some(ProgramError::NotFound(_)) => NOT_FOUND,
        Some(ProgramError::Refused { error, .. }) if error.kind() == io::ErrorKind::NotFound => NOT_FOUND,
        Some(ProgramError::NotExecutable(_) | ProgramError::Refused { .. }) => NOT_EXECUTABLE,
        _ => BAD_INPUT,
    }
}

/// Exit code for `main` to return.
pub(crate) fn code(status: u8) -> ExitCode {
    ExitCode::from(status)
}

/// Right to end the process and to say why. It has one holder: a thread that fails because another
/// one removes its files at the end must not report that failure as the end.
#[derive(Debug)]
struct EndClaim(Mutex<()>);

impl EndClaim {
    /// Takes the right for this thread. Waits forever if another thread has it.
    fn take(&self) {
        std::mem::forget(self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

static END_CLAIM: EndClaim = EndClaim(Mutex::new(()));

/// Makes this thread the one that ends the process. A thread that calls this later waits until the
/// process has ended.
pub(crate) fn claim_end() {
    END_CLAIM.take();
}

/// Ends the process, whatever its other threads are doing.
pub(crate) fn now(status: u8) -> ! {
    log::keep();
    process::exit(i32::from(status))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_one_thread_ends_the_process() {
        static END_CLAIM: EndClaim = EndClaim(Mutex::new(()));
        let (send, taken) = channel();
        for thread in 0..2 {
            let send = send.clone();
            thread::spawn(move || {
                END_CLAIM.take();
                send.send(thread)
            });
        }
        taken.recv().expect("the first thread");
        assert_eq!(taken.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout));
    }
}
