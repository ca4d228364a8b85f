//! A line on standard error that says how far something has come, shown on a terminal and never in a pipe.
//!
//! What it says is the business of those who measure; when it is drawn that of `watch`.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// How often the display is drawn: a wake-up of some 50 µs of CPU time each.
pub(super) const DRAW_EVERY: Duration = Duration::from_millis(500);

/// What the watching thread draws.
pub(super) trait Display: Send + Sync {
    /// Whether anything is shown.
    fn is_shown(&self) -> bool;

    /// Draws the present state.
    fn draw(&self);

    /// Takes the display away.
    fn clear(&self);
}

/// The line.
#[derive(Debug)]
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Bar {
    /// Shown where standard error is a terminal and `quiet` was not asked for.
    pub(super) fn new(quiet: bool) -> Self {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Self { bar, quiet }
    }

    /// Whether anything is shown.
    pub(super) fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// A line for the user, above the display.
    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| terminal::note(text)),
            None if !self.quiet => terminal::note(text),
            None => {}
        }
    }

    /// Shows these words.
    pub(super) fn show(&self, words: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(words());
            bar.tick();
        }
    }

    /// Takes the display away.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `5 s`, `2 min 05 s`, `1 h 20 min`.
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
    fn times_are_as_exact_as_a_waiting_person_needs() {
        let words = |s| duration(Duration::from_secs(s));
        assert_eq!([words(5), words(125), words(4_800)], ["5 s", "2 min 05 s", "1 h 20 min"]);
    }
}
