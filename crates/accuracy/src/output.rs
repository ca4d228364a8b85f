//! Commands that the judge runs for their output.

use std::process::{Command, Stdio};

use crate::AccuracyError;

/// Number of lines of a failed command's error output that are passed on.
const MAX_ERROR_LINES: usize = 3;

/// Standard output of a command.
pub(crate) fn run_for_output(command: &mut Command) -> Result<String, AccuracyError> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| AccuracyError::Start { command: command_line(command), error })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let stderr = lines[lines.len().saturating_sub(MAX_ERROR_LINES)..].join("; ");
        return Err(AccuracyError::Failed {
            command: command_line(command),
            status: output.status.to_string(),
            stderr,
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
