//! Marks for the whole system: the kernel asks about each start of a marked file before it lets the
//! program run (fanotify, `FAN_OPEN_EXEC_PERM`). Only marked files are watched, so that starts of
//! other programs cost nothing more.
//!
//! Every start is allowed. The caller of this module changes the CPUs of the starting thread.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::fanotify::{
    EventFFlags, Fanotify, FanotifyEvent, FanotifyResponse, InitFlags, MarkFlags, MaskFlags, Response,
};
use rustix::fs::CWD;

use crate::attribute;
use crate::caller::FileId;
use crate::registry::{FileState, Registry, state};

/// Reason for which marks cannot be enforced.
#[derive(Debug, thiserror::Error)]
pub enum EnforcementError {
    /// The user may not decide about starts of programs.
    #[error("only root can enforce marks (CAP_SYS_ADMIN); use sudo, or start programs by morecores launch")]
    NotPermitted,
    /// The kernel has no permission events.
    #[error(
        "this kernel cannot ask before a program starts (Linux 5.7 or later with \
         CONFIG_FANOTIFY_ACCESS_PERMISSIONS can); start programs by morecores launch"
    )]
    Unsupported,
    /// Another reason of the system.
    #[error("cannot watch starts of programs: {0}")]
    Refused(io::Error),
}

/// A program of the list that is not kept on its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The program.
    pub program: PathBuf,
    /// Reason in one line, which names the program.
    pub text: String,
}

/// An opening of a watched file for a start, which waits until it is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Thread that starts a program.
    pub thread: u32,
    /// The marked file: the program, or the interpreter of a script.
    pub file: FileId,
    /// Most CPUs that it may use.
    pub cpus: NonZeroU32,
}

/// Watch over all marked programs. When it is dropped, or its process ends, every start that waits
/// goes on, and no other is asked about.
#[derive(Debug)]
pub struct Enforcement {
    group: Fanotify,
    /// The least number of CPUs of each watched file, and a path that led to it.
    watched: BTreeMap<FileId, (PathBuf, NonZeroU32)>,
}

impl Enforcement {
    /// Begins to watch, without any file.
    ///
    /// # Errors
    /// The user may not, or the kernel cannot.
    pub fn new() -> Result<Self, EnforcementError> {
        let flags = InitFlags::FAN_CLASS_CONTENT
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE
            | InitFlags::FAN_REPORT_TID;
        let opened = EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC | EventFFlags::O_LARGEFILE;
        let group = Fanotify::init(flags, opened).map_err(refusal)?;
        Ok(Self { group, watched: BTreeMap::new() })
    }

    /// Watches the present files of a list, and marks those again that were replaced. Returns the
    /// programs with which this fails. A program that is gone is no problem: it cannot be started.
    ///
    /// # Errors
    /// The kernel cannot watch any file so.
    pub fn follow(&mut self, registry: &Registry) -> Result<Vec<Problem>, EnforcementError> {
        let mut present: BTreeMap<FileId, (PathBuf, NonZeroU32)> = BTreeMap::new();
        let own = own_files();
        let mut problems = Vec::new();
        for (path, cpus) in registry.iter() {
            let Ok(id) = FileId::of_path(path) else { continue };
            if own.contains(&id) {
                let text = format!("{} is part of morecores itself, and may use all CPUs", path.display());
                problems.push(Problem { program: path.to_owned(), text });
                continue;
            }
            let (_, least) = present.entry(id).or_insert_with(|| (path.to_owned(), cpus));
            *least = cpus.min(*least);
        }
        for (id, (path, _)) in &self.watched {
            // A file that has moved keeps its mark, and so remains watched.
            if !present.contains_key(id) && FileId::of_path(path).is_ok_and(|now| now == *id) {
                // Its file system may be gone.
                let _ = self.change(MarkFlags::FAN_MARK_REMOVE, path);
            }
        }
        for (id, (path, cpus)) in &present {
            if state(path, *cpus) == FileState::Replaced
                && let Err(error) = attribute::write(path, *cpus)
            {
                problems.push(Problem { program: path.clone(), text: error.to_string() });
            }
            match self.change(MarkFlags::FAN_MARK_ADD, path) {
                Ok(()) => {}
                Err(nix::Error::EINVAL) if self.watched.is_empty() => {
                    return Err(EnforcementError::Unsupported);
                }
                Err(_) if FileId::of_path(path).ok() != Some(*id) => {}
                Err(error) => {
                    let text = format!("cannot watch starts of {}: {}", path.display(), error.desc());
                    problems.push(Problem { program: path.clone(), text });
                }
            }
        }
        self.watched = present;
        Ok(problems)
    }

    fn change(&self, flags: MarkFlags, path: &Path) -> nix::Result<()> {
        self.group.mark(flags, MaskFlags::FAN_OPEN_EXEC_PERM, CWD, Some(path))
    }

    /// Allows all starts that wait, each after `prepare`.
    ///
    /// # Errors
    /// The kernel gives no events.
    pub fn answer(&self, mut prepare: impl FnMut(Start)) -> io::Result<()> {
        let events = match self.group.read_events() {
            Ok(events) => events,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in &events {
            let Some(file) = event.fd() else { continue };
            if let Some(start) = self.start(event, file) {
                prepare(start);
            }
            // The thread may have been killed meanwhile.
            let _ = self.group.write_response(FanotifyResponse::new(file, Response::FAN_ALLOW));
        }
        Ok(())
    }

    fn start(&self, event: &FanotifyEvent, file: BorrowedFd) -> Option<Start> {
        // A thread of another container's parent has no number here.
        let thread = u32::try_from(event.pid()).ok().filter(|thread| *thread > 0)?;
        let id = FileId::of_descriptor(file).ok()?;
        let of_list = || self.watched.get(&id).map(|(_, cpus)| *cpus);
        let cpus = attribute::read_open(file).or_else(of_list)?;
        Some(Start { thread, file: id, cpus })
    }
}

impl AsFd for Enforcement {
    /// Readable when a start waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

/// Files that this process executes. A start of another part of it must wait for nobody.
fn own_files() -> Vec<FileId> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').map(|place| Path::new(&line[place..])));
    paths.filter_map(|path| FileId::of_path(path).ok()).collect()
}

fn refusal(error: nix::Error) -> EnforcementError {
    match error {
        nix::Error::EPERM => EnforcementError::NotPermitted,
        nix::Error::ENOSYS | nix::Error::EINVAL => EnforcementError::Unsupported,
        other => EnforcementError::Refused(other.into()),
    }
}
