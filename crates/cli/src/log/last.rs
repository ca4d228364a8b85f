//! The last log: the events of one invocation, in bounded memory, and their file.
//!
//! The file is in this user's own directory of states, so that a bug report can hold it.

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// Size of each half of the log, in bytes: the first events tell the limits and sources, the last
/// ones the end. Some 1,000 events have room in each.
const HALF: usize = 128 << 10;
/// Longest line, in bytes. A verifier's log is longer, and its end is an event of its own.
const MOST_LINE: usize = 4 << 10;
/// Name of the file.
const NAME: &str = "last.log";
/// Name of the file while it is written.
const NEW: &str = "last.log.new";

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
    last_log_path(|name| env::var_os(name), rustix::process::geteuid().is_root())
}

/// Root's file is below /var/lib, because `sudo` may leave HOME as the caller's.
fn last_log_path(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Option<PathBuf> {
    // A relative path is to be ignored (XDG Base Directory Specification).
    let directory = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let states = match directory("XDG_STATE_HOME") {
        Some(states) => states,
        None if is_root => PathBuf::from("/var/lib"),
        None => directory("HOME")?.join(".local/state"),
    };
    Some(states.join("morecores").join(NAME))
}

/// Writes the log to its file, which only this user can read. The directory is created if it is
/// missing. No link is followed, and another user's directory is not used.
///
/// # Errors
/// A refusal by the system, or a directory that belongs to another user.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    let path = file.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    if rustix::fs::fstat(&directory)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("the directory belongs to another user"));
    }
    match rustix::fs::unlinkat(&directory, NEW, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut new: File = rustix::fs::openat(&directory, NEW, flags, Mode::RUSR | Mode::WUSR)?.into();
    new.write_all(text.as_bytes())?;
    let name = file.file_name().unwrap_or(OsStr::new(NAME));
    Ok(rustix::fs::renameat(&directory, NEW, &directory, name)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

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

    #[test]
    fn the_log_under_sudo_is_not_in_the_callers_home() {
        let file = |home: &str, states: &str, is_root| {
            let variable = |name: &str| Some(OsString::from(if name == "HOME" { home } else { states }));
            last_log_path(variable, is_root).map(|path| path.display().to_string())
        };
        assert_eq!(file("/home/x", "", false).as_deref(), Some("/home/x/.local/state/morecores/last.log"));
        assert_eq!(file("/home/x", "", true).as_deref(), Some("/var/lib/morecores/last.log"));
        assert_eq!(file("/home/x", "/s", true).as_deref(), Some("/s/morecores/last.log"));
        assert_eq!(file("home", "state", false), None);
    }

    #[test]
    fn only_this_user_can_read_the_file_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a/morecores/last.log");
        write(&file, "first").unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        symlink(&elsewhere, file.with_file_name(NEW)).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&elsewhere, &file).unwrap();
        write(&file, "second").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(file.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    }
}
