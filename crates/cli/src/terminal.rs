//! Standard output and standard error: their abilities, and the writing itself.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use indicatif::ProgressBar;
use morecores_measure::executor::{ExecuteError, HookError};
use morecores_report::Style;
use serde::Serialize;

use crate::log;

/// Number of lines shown from the end of a failed command's output.
const LAST_LINES: usize = 10;
/// Width of output to a file or a pipe, in columns.
const PIPE_WIDTH: usize = 100;

/// Style of standard output.
pub(crate) fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let width = terminal.then(|| rustix::termios::tcgetwinsize(io::stdout()).ok()).flatten();
    // A terminal that does not know its width reports 0.
    let width = width.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(PIPE_WIDTH);
    Style { width, colour: terminal && colour_wanted(), unicode: unicode_wanted(), wide: false }
}

/// Whether to use colour. Any value of `NO_COLOR` but the empty one disables it:
/// <https://no-color.org>.
fn colour_wanted() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the locale uses UTF-8. The first of these variables that is set decides (locale(7)).
fn unicode_wanted() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(env::var_os).find(|value| !value.is_empty());
    // A container or a service often has no locale. Its logs are read as UTF-8 today.
    locale.is_none_or(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8") || locale == "c" || locale == "posix"
    })
}

/// Standard output or standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// Writes the text that `render` makes, with colours or without, to a stream. A failure is ignored:
/// the process ends after this text.
pub(crate) fn print_to(stream: Stream, render: impl Fn(bool) -> String) {
    let text = |is_terminal: bool| render(is_terminal && colour_wanted());
    let _ = match stream {
        Stream::Output => io::stdout().write_all(text(io::stdout().is_terminal()).as_bytes()),
        Stream::Error => io::stderr().write_all(text(io::stderr().is_terminal()).as_bytes()),
    };
    let _ = io::stdout().flush();
}

/// Writes to standard output. A closed pipe, as in `morecores show … | head`, is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Writes a value to standard output as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Progress line that is drawn on standard error now, if any.
static PROGRESS: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets the progress line, above which further lines go; none after its end.
pub(crate) fn set_progress(bar: Option<ProgressBar>) {
    *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Writes a line for the user to standard error, and to the last log.
pub(crate) fn note(text: &str) {
    log::add_note(text);
    diagnostic(text);
}

/// Writes lines for the user like [`note`].
pub(crate) fn notes(lines: impl IntoIterator<Item = impl AsRef<str>>) {
    lines.into_iter().for_each(|line| note(line.as_ref()));
}

/// Writes a line to standard error, above any progress line.
pub(crate) fn diagnostic(text: &str) {
    // A failure is ignored: with standard error closed too, there is no way to report it.
    let write = || {
        let _ = writeln!(io::stderr(), "morecores: {text}");
    };
    let bar = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Writes an error and its causes as one line. The text of an error does not repeat its source, so
/// that the line names each cause once.
pub(crate) fn error(error: &anyhow::Error) {
    if let Some(ExecuteError::Hook(HookError::Failed { output, .. })) = error.downcast_ref() {
        quote_end(output);
    }
    note(&format!("{error:#}"));
}

/// Writes the last lines of another program's output to standard error.
pub(crate) fn quote_end(output: &str) {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
        let _ = writeln!(io::stderr(), "  | {line}");
    }
}
