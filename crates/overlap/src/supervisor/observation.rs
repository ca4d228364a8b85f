//! The observation of a build for its hazards: which recipe line uses which file.
//!
//! It decides about no call. Only calls that go on are observed, so that a file that a command
//! waited for is there.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::calls::{Call, PathArgument, decode};
use crate::disk::{canonical, is_of_kernel};
use crate::dry_run;
use crate::hazards::{Hazards, find_hazards};
use crate::history::{History, Length, LineId, MakeId, MakeRun, Use};
use crate::jobs::JobId;
use crate::listener::Notification;
use crate::process::Process;
use crate::recipe::{Environment, Invocation};
use crate::rules::RecipeCommand;

/// The part of a process in the observed build.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The run of make that it is.
    make: Option<MakeId>,
    /// The recipe line to which it belongs.
    line: Option<LineId>,
}

/// Runs of make and their recipe lines so far.
#[derive(Debug)]
pub(super) struct Observation {
    /// Folder for the temporary files of dry runs.
    scratch: tempfile::TempDir,
    /// Becomes readable if the build is to end.
    signals: UnixStream,
    history: History,
    makes: HashMap<Process, MakeId>,
    /// The recipe line of each process that was seen below a make.
    lines: HashMap<Process, LineId>,
    /// The recipe line of each deferred command, and the length of the history at its deferral.
    jobs: HashMap<JobId, (LineId, Length)>,
}

impl Observation {
    /// `signals` is watched, never read.
    pub(super) fn new(directory: PathBuf, signals: UnixStream) -> io::Result<Self> {
        Ok(Self {
            scratch: tempfile::Builder::new().prefix("morecores-overlap-").tempdir()?,
            signals,
            history: History::new(directory),
            makes: HashMap::new(),
            lines: HashMap::new(),
            jobs: HashMap::new(),
        })
    }

    /// Observes a call of the build that goes on.
    pub(super) fn observe(&mut self, call: &Notification) {
        let process = Process(call.pid);
        match decode(call) {
            Call::Execute { path, arguments, environment } => {
                self.observe_program(process, path, arguments, environment);
            }
            Call::Exit { .. } => {
                self.makes.remove(&process);
                self.lines.remove(&process);
            }
            other => {
                if let Some(line) = self.line(process) {
                    self.add_uses(line, process, &other);
                }
            }
        }
    }

    /// Observes a call of a deferred command.
    pub(super) fn observe_job(&mut self, job: JobId, call: &Notification) {
        if let Some((line, _)) = self.jobs.get(&job).copied() {
            self.add_uses(line, Process(call.pid), &decode(call));
        }
    }

    /// The recipe line of a process whose command may be deferred, while the process is there.
    pub(super) fn line_of_command(&mut self, process: Process, arguments: &[String]) -> Option<LineId> {
        self.start_line(process, arguments);
        self.line(process)
    }

    /// Notes that a command of a recipe line was deferred, and that its process has ended.
    pub(super) fn defer(&mut self, job: JobId, process: Process, line: Option<LineId>) {
        self.jobs.extend(line.map(|line| (job, (line, self.history.length()))));
        self.lines.remove(&process);
    }

    /// Place of a driver at this moment.
    pub(super) fn place(&mut self, driver: Process) -> Place {
        Place { make: self.makes.get(&driver).copied(), line: self.line(driver) }
    }

    /// Forgets everything after a deferred command that failed.
    pub(super) fn roll_back(&mut self, job: JobId) {
        if let Some((_, length)) = self.jobs.get(&job).copied() {
            self.history.truncate(length);
            self.lines.retain(|_, line| line.0 < length.lines);
            self.makes.retain(|_, make| make.0 < length.makes);
        }
    }

    /// Gives the copy of a driver the driver's place.
    pub(super) fn add_copy(&mut self, copy: Process, place: Place) {
        self.makes.extend(place.make.map(|make| (copy, make)));
        self.lines.extend(place.line.map(|line| (copy, line)));
    }

    /// The hazards of what was seen.
    pub(super) fn hazards(&self) -> Hazards {
        find_hazards(&self.history)
    }

    fn observe_program(&mut self, process: Process, path: PathArgument, arguments: u64, environment: u64) {
        let Some(program) = process.resolve(path).filter(|program| program.is_file()) else { return };
        let Some(arguments) = process.strings(arguments) else { return };
        self.start_line(process, &arguments);
        if let Some(line) = self.line(process) {
            self.history.add_use(line, &canonical(&program), Use::Read);
        }
        if !is_make(&program) {
            return;
        }
        let Some(directory) = process.directory() else { return };
        let environment = Environment::new(move || process.strings(environment));
        let program = program.to_string_lossy().into_owned();
        let invocation = Invocation { program, arguments, environment, directory };
        let rules = dry_run::rules(&invocation, self.scratch.path(), &self.signals);
        // make starts itself again after it has remade a makefile: a second run after the first.
        let caller = match self.makes.get(&process) {
            Some(make) => self.history.makes[make.0].caller,
            None => self.line(process),
        };
        let make = self.history.add_make(MakeRun { caller, rules });
        self.makes.insert(process, make);
    }

    /// Starts the recipe line of a child of make. What a line executes is part of it.
    fn start_line(&mut self, process: Process, arguments: &[String]) {
        if self.lines.contains_key(&process) || self.makes.contains_key(&process) {
            return;
        }
        let make = process.status().and_then(|status| self.makes.get(&status.parent).copied());
        if let Some(make) = make {
            // The line before has ended, and its processes' numbers may come again. Those of the
            // lines above are older than their make.
            let is_above = |line: &LineId| self.history.lines[line.0].make < make;
            self.lines.retain(|_, line| is_above(line));
            self.makes.retain(|_, other| *other <= make);
            let line = self.history.add_line(make, RecipeCommand::from_arguments(arguments));
            self.lines.insert(process, line);
        }
    }

    /// The recipe line to which a process belongs. make belongs to the line that called it, but
    /// what it reads itself is no use by that line.
    fn line(&mut self, process: Process) -> Option<LineId> {
        if let Some(line) = self.lines.get(&process) {
            return Some(*line);
        }
        let mut below = vec![process];
        loop {
            let last = *below.last()?;
            let status = last.status()?;
            // A thread belongs to its process.
            let parent = if status.leader == last { status.parent } else { status.leader };
            // A child of make without a line has not executed anything.
            if self.makes.contains_key(&parent) {
                return None;
            }
            if let Some(line) = self.lines.get(&parent).copied() {
                self.lines.extend(below.into_iter().map(|process| (process, line)));
                return Some(line);
            }
            below.push(parent);
        }
    }

    fn add_uses(&mut self, line: LineId, process: Process, call: &Call) {
        if self.makes.contains_key(&process) {
            return;
        }
        let mut add = |argument: PathArgument, usage: fn(&Path) -> Option<Use>| {
            let Some(path) = process.resolve(argument).filter(|path| !is_of_kernel(path)) else { return };
            let path = canonical(&path);
            if let Some(usage) = usage(&path) {
                self.history.add_use(line, &path, usage);
            }
        };
        let read = |path: &Path| path.is_file().then_some(Use::Read);
        let change = |path: &Path| path.symlink_metadata().is_ok().then_some(Use::Write);
        match *call {
            Call::Open { path, .. } => {
                add(path, read);
                // The file behind a symbolic link is used too.
                let target = process.resolve(path).filter(|path| path.is_symlink());
                if let Some(target) = target.and_then(|path| path.canonicalize().ok())
                    && target.is_file()
                {
                    self.history.add_use(line, &target, Use::Read);
                }
            }
            // Lines of a log come in any order.
            Call::OpenToWrite { flags, .. } if flags & libc::O_APPEND != 0 => {}
            Call::OpenToWrite { path, flags } => {
                // A change of a part keeps the rest.
                if flags & libc::O_TRUNC == 0 {
                    add(path, read);
                }
                add(path, |path| (!path.is_dir()).then_some(Use::Write));
            }
            Call::MakeDirectory { path } => {
                add(path, |path| path.symlink_metadata().is_err().then_some(Use::Write));
                add(path, |_| Some(Use::EnsureDirectory));
            }
            Call::MakeName { path } => add(path, |_| Some(Use::Write)),
            Call::Rename { from, to } => {
                add(from, read);
                add(from, change);
                add(to, |_| Some(Use::Write));
            }
            Call::Change { path } => add(path, change),
            _ => {}
        }
    }
}

/// Whether a program is make.
pub(super) fn is_make(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name == "make" || name == "gmake")
}
