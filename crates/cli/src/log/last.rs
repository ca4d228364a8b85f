//! The last log: the events of one invocation, in bounded memory, and their file.
//!
//! The file is in this user's own directory of states, so that a bug report can hold it.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::state_file;

/// Size of each half of the log, in bytes: the first events tell the limits and sources, the last
/// ones the end. Some 1,000 events have room in each.
const HALF: usize = 128 << 10;
/// Longest line, in bytes. A verifier's log is longer, and its end is an event of its own.
const MOST_LINE: usize = 4 << 10;

/// Events of one invocation.
#[derive(Debug)]
pub(super) struct LastLog {
    first: String,
    last: VecDeque<String>,
    /// Size of `last` in bytes.
    size: usize,
    /// Number of lines that had no room.
    left_out: u64,
    has_events: bool,
}

impl LastLog {
    /// Log with these first lines and no event.
    pub(super) fn new(heading: &str) -> Self {
        Self { first: heading.to_owned(), last: VecDeque::new(), size: 0, left_out: 0, has_events: false }
    }

    /// Adds an event: a line, which ends with a newline.
    pub(super) fn add_event(&mut self, line: String) {
        self.has_events = true;
        self.add_note(line);
    }

    /// Adds a line that is no event, but a message for the user.
    pub(super) fn add_note(&mut self, mut line: String) {
        if line.len() > MOST_LINE {
            let end = (0..=MOST_LINE).rev().find(|end| line.is_char_boundary(*end));
            line.truncate(end.unwrap_or_default());
            line.push_str("…\n");
        }
        if self.last.is_empty() && self.first.len() + line.len() <= HALF {
            self.first.push_str(&line);
            return;
        }
        self.size += line.len();
        self.last.push_back(line);
        while self.size > HALF {
            self.size -= self.last.pop_front().map_or(self.size, |line| line.len());
            self.left_out += 1;
        }
    }

    /// Text of the log; none without an event, so that a refused command line replaces no log.
    pub(super) fn text(&self) -> Option<String> {
        if !self.has_events {
            return None;
        }
        let gap = match self.left_out {
            0 => String::new(),
            lines => format!("… {lines} lines left out …\n"),
        };
        Some(self.first.clone() + &gap + &self.last.iter().map(String::as_str).collect::<String>())
    }
}

/// File of the last log; none if this user has no directory for it.
pub(crate) fn file() -> Option<PathBuf> {
    state_file::path("last.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let mut log = LastLog::new("heading\n");
        log.add_note("a note\n".to_owned());
        assert_eq!(log.text(), None);
        for event in 0..20_000 {
            log.add_event(format!("event {event} of many\n"));
        }
        let text = log.text().unwrap();
        assert!(text.len() <= 2 * HALF + 100, "{}", text.len());
        assert!(
            text.starts_with("heading\na note\nevent 0 of many\n") && text.ends_with("event 19999 of many\n")
        );
        let gap = text.lines().find(|line| line.starts_with('…')).unwrap();
        let left_out: usize = gap.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(text.lines().count() - 3 + left_out, 20_000);
    }

    #[test]
    fn a_long_line_is_cut() {
        let mut log = LastLog::new("");
        log.add_event("é".repeat(MOST_LINE) + "\n");
        let text = log.text().unwrap();
        assert!(text.len() < MOST_LINE + 10 && text.ends_with("é…\n"));
    }
}
