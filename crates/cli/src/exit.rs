//! What the process's exit status says, and the one place where an error becomes a status.

use std::io;
use std::process::{self, ExitCode};

use morecores_measure::executor::ExecuteError;
use morecores_measure::program::ProgramError;

/// Everything was done.
pub(crate) const SUCCESS: u8 = 0;
/// The measured command failed, or left nothing to measure.
pub(crate) const COMMAND_FAILED: u8 = 1;
/// Bad input, or a machine that cannot do what was asked.
pub(crate) const BAD_INPUT: u8 = 2;
/// A condition of `--fail-if` holds.
pub(crate) const CONDITION_HOLDS: u8 = 3;
/// The command is there but cannot be executed, as a shell says it.
const NOT_EXECUTABLE: u8 = 126;
/// The command is not there, as a shell says it.
const NOT_FOUND: u8 = 127;
/// A signal's number is added to this, as a shell says it.
const BY_SIGNAL: u8 = 128;

/// The status for a signal that ended us.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(signal).map_or(COMMAND_FAILED, |signal| BY_SIGNAL + signal)
}

/// The status for an error.
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    let program =
        error.downcast_ref::<ProgramError>().or_else(|| match error.downcast_ref::<ExecuteError>() {
            Some(ExecuteError::Program(program)) => Some(program),
            _ => None,
        });
    match program {
        Some(ProgramError::NotFound(_)) => NOT_FOUND,
        Some(ProgramError::Refused { source, .. }) if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
        Some(ProgramError::NotExecutable(_) | ProgramError::Refused { .. }) => NOT_EXECUTABLE,
        _ => BAD_INPUT,
    }
}

/// For `main` to return.
pub(crate) fn code(status: u8) -> ExitCode {
    ExitCode::from(status)
}

/// Ends the process, whatever its other threads are doing.
pub(crate) fn now(status: u8) -> ! {
    process::exit(i32::from(status))
}
