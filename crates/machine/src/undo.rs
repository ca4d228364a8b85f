//! Journal of changes to the system. Each change is noted before it is made, and undone in reverse
//! order when the study ends.
//!
//! One mechanism serves success, failure, signals and panics: the journal undoes its changes on
//! drop. It also serves a SIGKILL or a power cut: the next start finds the file of a dead process,
//! and undoes the listed changes. A change that was never made, or is already undone, needs
//! nothing.

mod change;
mod directory;

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tracing::{debug, warn};

pub use change::{Change, UndoError};
pub(crate) use change::{bring_online, take_offline};
use directory::JournalDirectory;

use crate::process;

/// Error of noting a change, which was therefore not made.
#[derive(Debug, thiserror::Error)]
#[error("cannot record a change to the system in {}: {error}; nothing was changed", .path.display())]
pub struct JournalError {
    path: PathBuf,
    error: io::Error,
}

/// Reason for which the changes of an earlier process are unknown.
#[derive(Debug, thiserror::Error)]
#[error("{} is not used: {error}; changes of an earlier morecores are not undone", .path.display())]
pub struct RepairError {
    path: PathBuf,
    error: io::Error,
}

/// Content of a journal's file.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// Process that made the changes.
    pid: u32,
    /// Start of the process, in clock ticks since boot. It distinguishes the process from a later
    /// one with the same number.
    start_time: u64,
    /// Changes in the order in which they were made.
    changes: Vec<Change>,
}

/// Changes of this process, undone on drop.
#[derive(Debug)]
pub struct Journal {
    directory: PathBuf,
    /// Name of the journal's file.
    name: PathBuf,
    content: Content,
    /// File as last written, locked for the lifetime of this process. The lock is needed because a
    /// process number means nothing in another pid namespace.
    lock_file: Option<File>,
}

impl Journal {
    /// Creates an empty journal. Nothing is written before the first change.
    pub fn new() -> Self {
        Self::in_directory(&journal_directory())
    }

    fn in_directory(directory: &Path) -> Self {
        let pid = std::process::id();
        let start_time = process::start_time(pid).unwrap_or(0);
        Self {
            directory: directory.to_owned(),
            name: PathBuf::from(format!("{pid}.json")),
            content: Content { pid, start_time, changes: vec![] },
            lock_file: None,
        }
    }

    /// Notes a change before it is made.
    ///
    /// # Errors
    /// The journal cannot be written; the change must then not be made.
    pub fn note(&mut self, change: Change) -> Result<(), JournalError> {
        if self.content.changes.contains(&change) {
            return Ok(());
        }
        debug!("to undo at the end: {change} (noted in {})", self.directory.join(&self.name).display());
        self.content.changes.push(change);
        self.write().map_err(|error| {
            self.content.changes.pop();
            JournalError { path: self.directory.clone(), error }
        })
    }

    /// Undoes all changes, last change first. A change that cannot be undone stays in the journal
    /// for the next start.
    pub fn undo(&mut self) -> Vec<UndoError> {
        let mut errors = Vec::new();
        let mut left = Vec::new();
        for change in std::mem::take(&mut self.content.changes).into_iter().rev() {
            match change.undo() {
                Ok(()) => debug!("undid a change: {change}"),
                Err(error) => {
                    debug!("cannot undo a change: {error}");
                    errors.push(error);
                    left.insert(0, change);
                }
            }
        }
        self.content.changes = left;
        // If even this write fails, the next start undoes the changes once more, which is harmless.
        let _ = self.write();
        errors
    }

    fn write(&mut self) -> io::Result<()> {
        if self.content.changes.is_empty() {
            self.lock_file = None;
            return match JournalDirectory::open(&self.directory)? {
                Some(directory) => directory.remove(&self.name),
                None => Ok(()),
            };
        }
        let directory = JournalDirectory::create(&self.directory)?;
        let new = self.name.with_extension("new");
        let mut file = directory.create_file(&new)?;
        // On a file system without locks, the process number alone identifies the owner.
        let _ = file.try_lock();
        file.write_all(&serde_json::to_vec(&self.content)?)?;
        directory.rename(&new, &self.name)?;
        self.lock_file = Some(file);
        Ok(())
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A caller that needs the errors calls `undo` first; the drop is the last resort.
        for error in self.undo() {
            warn!("cannot {error}; the next start of morecores tries again");
        }
    }
}

/// Repair of the changes that an earlier process left.
#[derive(Debug)]
pub struct Repair {
    /// Number of that process.
    pub pid: u32,
    /// Changes that were undone.
    pub undone: Vec<Change>,
    /// Errors of the other changes.
    pub errors: Vec<UndoError>,
    /// The journal's file, which remains if a change could not be undone.
    pub file: PathBuf,
}

/// Undoes the changes that dead processes left; returns one repair for each process.
///
/// # Errors
/// The directory of journals does not belong to this user alone, so none of its files is trusted.
pub fn repair_leftovers() -> Result<Vec<Repair>, RepairError> {
    repair_directory(&journal_directory())
}

fn repair_directory(path: &Path) -> Result<Vec<Repair>, RepairError> {
    let opened =
        JournalDirectory::open(path).map_err(|error| RepairError { path: path.to_owned(), error })?;
    let Some(directory) = opened else { return Ok(Vec::new()) };
    let (journals, others): (Vec<_>, Vec<_>) =
        directory.names().into_iter().partition(|name| name.extension().is_some_and(|e| e == "json"));
    // The process may have been killed between writing a journal and renaming it. The last change
    // of such a journal was not made.
    for half in others.into_iter().filter(|name| name.extension().is_some_and(|e| e == "new")) {
        let pid = half.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| process::start_time(pid).is_none())
            && open_if_unlocked(&directory, &half).is_some()
        {
            let _ = directory.remove(&half);
        }
    }
    Ok(journals.iter().filter_map(|name| repair_journal(path, &directory, name)).collect())
}

/// The file, now locked by this process; `None` if a living process holds the lock, or the file is
/// gone.
fn open_if_unlocked(directory: &JournalDirectory, name: &Path) -> Option<File> {
    let opened = directory.read(name).ok()?;
    match opened.try_lock() {
        Err(TryLockError::WouldBlock) => None,
        // An error means that the file system has no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Some(opened),
    }
}

fn repair_journal(path: &Path, directory: &JournalDirectory, name: &Path) -> Option<Repair> {
    let mut file = open_if_unlocked(directory, name)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let content: Content = serde_json::from_slice(&bytes).ok()?;
    if process::start_time(content.pid) == Some(content.start_time) {
        return None; // The process is alive and will undo its changes itself.
    }
    let pid = content.pid;
    debug!(
        "process {pid} is dead and left {} changes in {}",
        content.changes.len(),
        path.join(name).display()
    );
    let mut journal =
        Journal { directory: path.to_owned(), name: name.to_owned(), content, lock_file: Some(file) };
    let before = journal.content.changes.clone();
    before.iter().for_each(Change::wait_for_exit);
    let errors = journal.undo();
    let left = &journal.content.changes;
    let undone = before.into_iter().filter(|change| !left.contains(change)).collect();
    Some(Repair { pid, undone, errors, file: path.join(name) })
}

/// Directory of journals. It is empty after a reboot, as are all the changes.
fn journal_directory() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/run/morecores");
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) => PathBuf::from(dir).join("morecores"),
        None => std::env::temp_dir().join(format!("morecores-{}", rustix::process::geteuid().as_raw())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    impl Journal {
        fn file(&self) -> PathBuf {
            self.directory.join(&self.name)
        }
    }

    fn directory_change(path: &Path) -> Change {
        Change::CgroupCreated { dir: path.to_owned(), keep: false }
    }

    #[test]
    fn recorded_changes_are_undone_on_drop_and_the_file_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("made");
        let mut journal = Journal::in_directory(&dir.path().join("journal"));
        journal.note(directory_change(&made)).unwrap();
        fs::create_dir(&made).unwrap();
        assert!(journal.file().exists());
        let file = journal.file();
        drop(journal);
        assert!(!made.exists() && !file.exists());
    }

    #[test]
    fn a_panic_undoes_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (made, journals) = (dir.path().join("made"), dir.path().join("journals"));
        let panicked = std::panic::catch_unwind(|| {
            let mut journal = Journal::in_directory(&journals);
            journal.note(directory_change(&made)).unwrap();
            fs::create_dir(&made).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.is_err() && !made.exists());
        assert_eq!(fs::read_dir(&journals).unwrap().count(), 0);
    }

    #[test]
    fn only_changes_of_dead_processes_are_undone() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        let mut journal = Journal::in_directory(dir.path());
        journal.note(directory_change(&ours)).unwrap();
        let dead = Content { pid: 1, start_time: u64::MAX, changes: vec![directory_change(&theirs)] };
        fs::write(dir.path().join("1.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
        fs::create_dir(&ours).unwrap();
        fs::create_dir(&theirs).unwrap();

        let repairs = repair_directory(dir.path()).unwrap();
        assert_eq!(repairs.len(), 1);
        assert_eq!(repairs[0].undone, [directory_change(&theirs)]);
        assert!(ours.exists() && !theirs.exists() && !dir.path().join("1.json").exists());
        assert!(repair_directory(dir.path()).unwrap().is_empty(), "a second time there is nothing to do");
    }

    /// The living process acts as one in another pid namespace: its number here belongs to another
    /// process or to none.
    #[test]
    fn a_living_process_of_another_namespace_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        let mut journal = Journal::in_directory(dir.path());
        (journal.content.pid, journal.content.start_time) = (u32::MAX, 1);
        journal.note(directory_change(&theirs)).unwrap();
        fs::create_dir(&theirs).unwrap();
        assert!(repair_directory(dir.path()).unwrap().is_empty() && theirs.exists());
        drop(journal);
        assert!(!theirs.exists());
    }

    #[test]
    fn an_unfinished_journal_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        // No process has the largest number; the process of this test is alive.
        let (dead, alive) = (
            dir.path().join(format!("{}.new", u32::MAX)),
            dir.path().join(format!("{}.new", std::process::id())),
        );
        fs::write(&dead, "{\"pid\":").unwrap();
        fs::write(&alive, "").unwrap();
        assert!(repair_directory(dir.path()).unwrap().is_empty());
        assert!(!dead.exists() && alive.exists());
    }

    #[test]
    fn a_change_that_cannot_be_undone_is_reported_and_kept_for_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let full = dir.path().join("full");
        fs::create_dir_all(full.join("inner")).unwrap();
        let mut journal = Journal::in_directory(dir.path());
        journal.note(directory_change(&full)).unwrap();
        assert_eq!(journal.undo().len(), 1);
        assert!(journal.file().exists());
        fs::remove_dir(full.join("inner")).unwrap();
        assert!(journal.undo().is_empty());
    }
}
