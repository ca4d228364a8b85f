//! Standard output and standard error: what they can show, and the writing itself.

use std::env;
use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use morecores_measure::executor::{ExecuteError, HookError};
use morecores_report::Style;

/// Lines of a failed command's output that are shown.
const LAST_LINES: usize = 10;
/// Width of what goes to a file or a pipe.
const PIPE_WIDTH: usize = 100;

/// How standard output is written to.
pub(crate) fn style(wide: bool) -> Style {
    let terminal = io::stdout().is_terminal();
    let width = terminal.then(|| rustix::termios::tcgetwinsize(io::stdout()).ok()).flatten();
    // A terminal that does not know its width says 0.
    let width = width.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(PIPE_WIDTH);
    Style { width, colour: terminal && colour_wanted(), unicode: unicode_wanted(), wide }
}

/// <https://no-color.org>: any value but the empty one.
fn colour_wanted() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the locale says UTF-8; the first of these that is set decides (locale(7)).
fn unicode_wanted() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(env::var_os).find(|value| !value.is_empty());
    // No locale at all is a container or a service; their logs are read as UTF-8 today.
    locale.is_none_or(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8") || locale == "c" || locale == "posix"
    })
}

/// Writes to standard output. A reader that has gone, as in `morecores show … | head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Writes a line to standard error.
pub(crate) fn note(text: &str) {
    // Where even standard error is closed, nobody is there to be told.
    let _ = writeln!(io::stderr(), "morecores: {text}");
}

/// Writes an error and its causes as one line. Many errors name their cause themselves; it is not said twice.
pub(crate) fn error(error: &anyhow::Error) {
    if let Some(ExecuteError::Hook(HookError::Failed { output, .. })) = error.downcast_ref() {
        quote_end(output);
    }
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    note(&text);
}

/// Writes the last lines of what somebody else printed to standard error.
pub(crate) fn quote_end(output: &str) {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
        let _ = writeln!(io::stderr(), "  | {line}");
    }
}
