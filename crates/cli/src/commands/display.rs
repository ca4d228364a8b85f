//! Progress line on standard error, shown on a terminal and never in a pipe.
//!
//! The measuring subcommands supply its text; `watch` decides when it is drawn.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// Interval between two redraws. Each redraw wakes the thread and costs about 50 µs of CPU time.
pub(super) const DRAW_EVERY: Duration = Duration::from_millis(500);

/// Progress display that the watching thread draws.
pub(super) trait Display: Send + Sync {
    /// Whether the display is visible.
    fn is_shown(&self) -> bool;

    /// Draws the present state.
    fn draw(&self);

    /// Removes the display.
    fn clear(&self);
}

/// Progress line on standard error.
#[derive(Debug)]
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Bar {
    /// Line without any output.
    pub(super) const fn hidden() -> Self {
        Self { bar: None, quiet: true }
    }

    /// Creates the line. It is visible if standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            terminal::set_progress(Some(bar.clone()));
            bar
        });
        Self { bar, quiet: false }
    }

    /// Whether the line is visible.
    pub(super) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// Prints a message for the user above the progress line.
    pub(super) fn print_note(&self, text: &str) {
        if !self.quiet {
            terminal::note(text);
        }
    }

    /// Shows this text.
    pub(super) fn show(&self, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(words());
            bar.tick();
        }
    }

    /// Removes the progress line.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            terminal::set_progress(None);
        }
    }
}

/// Time in words: `5 s`, `2 min 05 s`, `1 h 20 min`.
pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_precision_that_a_waiting_user_needs() {
        let words = |s| duration(Duration::from_secs(s));
        assert_eq!([words(5), words(125), words(4_800)], ["5 s", "2 min 05 s", "1 h 20 min"]);
    }
}
