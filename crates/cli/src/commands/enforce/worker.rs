//! The worker: answers the kernel's questions about starts of marked programs, and follows the list
//! and the files of marked programs.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use morecores_machine::topology;
use morecores_mark::{Enforcement, Problem, Registry, Start};
use morecores_study::topology::Topology;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::process::Signal;

use super::inspector::Inspector;
use super::timespec;
use crate::commands::marks::{self, Hold};
use crate::{exit, terminal};

/// Time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Turns between two looks at everything, besides those after a change that is seen.
const TURNS_BETWEEN_LOOKS: u32 = 20;

/// Runs the worker until its watchdog is gone.
pub(super) fn work(hold: Hold) -> Result<u8> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    let heartbeats = io::stdout();
    // A watchdog that is stopped reads nothing.
    let flags = rustix::fs::fcntl_getfl(&heartbeats)?;
    rustix::fs::fcntl_setfl(&heartbeats, flags | OFlags::NONBLOCK)?;
    let mut worker = Worker::new(hold)?;
    worker.look()?;
    let count = worker.registry.iter().count();
    let programs = if count == 1 { "program" } else { "programs" };
    terminal::note(&format!("enforcing the marks of {count} {programs}; Ctrl-C ends it"));
    let mut turns = 0;
    loop {
        match rustix::io::write(&heartbeats, b".") {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Ok(exit::SUCCESS),
        }
        let [starts, changes] = worker.wait()?;
        if starts {
            worker.answer()?;
        }
        turns = (turns + 1) % TURNS_BETWEEN_LOOKS;
        let is_due = turns == 0;
        if is_due {
            worker.machine = topology::read();
        }
        if (changes && worker.folders.have_changed()) || is_due {
            worker.look()?;
        }
    }
}

struct Worker {
    hold: Hold,
    enforcement: Enforcement,
    /// `None` after one that did not answer.
    inspector: Option<Inspector>,
    folders: Folders,
    registry: Registry,
    machine: Topology,
    /// Problems that were told.
    told: Vec<Problem>,
}

impl Worker {
    fn new(hold: Hold) -> Result<Self> {
        Ok(Self {
            hold,
            enforcement: Enforcement::new()?,
            inspector: Some(Inspector::start()?),
            folders: Folders::new()?,
            registry: marks::load()?,
            machine: topology::read(),
            told: Vec::new(),
        })
    }

    /// Looks at the list and at all files.
    fn look(&mut self) -> Result<()> {
        // A list that cannot be read counts as it was.
        if let Ok(registry) = marks::load() {
            self.registry = registry;
        }
        self.folders.follow(&self.registry);
        let problems = self.enforcement.follow(&self.registry)?;
        for problem in problems.iter().filter(|problem| !self.told.contains(problem)) {
            terminal::note(&problem.text);
        }
        self.told = problems;
        Ok(())
    }

    /// Waits for a start or a change, or for the next heartbeat.
    fn wait(&self) -> Result<[bool; 2]> {
        let mut polled = [
            PollFd::new(&self.enforcement, PollFlags::IN),
            PollFd::from_borrowed_fd(self.folders.inotify.as_fd(), PollFlags::IN),
        ];
        match poll(&mut polled, Some(&timespec(HEARTBEAT_INTERVAL)?)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled.map(|polled| !polled.revents().is_empty()))
    }

    fn answer(&mut self) -> Result<()> {
        let Self { hold, enforcement, inspector, machine, .. } = self;
        enforcement.answer(|start| {
            if !is_script(inspector, start)
                && let Err(error) = marks::restrict(start.thread, machine, start.cpus, hold)
            {
                terminal::note(&format!("process {}: {error:#}", start.thread));
            }
        })?;
        Ok(())
    }
}

/// Whether the marked file is the interpreter of a script. Without an answer it counts as the
/// program.
fn is_script(inspector: &mut Option<Inspector>, start: Start) -> bool {
    if inspector.is_none() {
        *inspector = Inspector::start().ok();
    }
    let answer = inspector.as_mut().and_then(|inspector| inspector.is_script(start));
    if answer.is_none() {
        *inspector = None;
    }
    answer.unwrap_or(false)
}

/// Watch over the folders of marked programs and of the list.
struct Folders {
    inotify: OwnedFd,
    /// Names of the files of interest.
    names: BTreeSet<OsString>,
}

impl Folders {
    fn new() -> Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, names: BTreeSet::new() })
    }

    /// Watches the folders of these programs, and of the files behind links.
    fn follow(&mut self, registry: &Registry) {
        let behind = |path: &Path| path.canonicalize().ok();
        let programs = registry.iter().flat_map(|(path, _)| [Some(path.to_owned()), behind(path)]);
        let files: BTreeSet<PathBuf> = programs.flatten().chain(marks::file()).collect();
        self.names.clear();
        for file in &files {
            self.watch_folder_of(file);
        }
    }

    fn watch_folder_of(&mut self, file: &Path) {
        let changes = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
        // The folder of the list may not be there yet.
        let mut file = file;
        while let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            self.names.insert(name.to_owned());
            if inotify::add_watch(&self.inotify, folder, changes).is_ok() {
                return;
            }
            file = folder;
        }
    }

    /// Whether a file of interest has changed.
    fn have_changed(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut any = false;
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            any |= name.is_none_or(|name| self.names.contains(name))
                || event.events().contains(ReadFlags::QUEUE_OVERFLOW);
        }
        any
    }
}
