//! Deferring a command: its process ends with success, its driver is copied for the case that the
//! command fails, and the command joins the jobs.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::decision::{CONTINUE, Decision};
use super::observation::is_make;
use super::serial_steps::SerialSteps;
use super::{Checkpoint, Supervisor};
use crate::calls::PathArgument;
use crate::disk::{CanonicalFolders, Disk, is_of_kernel, precise_now};
use crate::effects::{Effects, Origin, State, Write};
use crate::execution::Deferred;
use crate::jobs::JobId;
use crate::listener::Notification;
use crate::output::Targets;
use crate::process::{DescriptorState, Process, Status};
use crate::recipe::{self, Environment, Files, Invocation, Kind, Meaning, Weight};
use crate::record::{self, CommandResult, WaitReason};
use crate::tracee::{Copy, Stop, Tracee};

/// Programs that can be copied and go on: each waits for its children by `wait4`, in one thread.
const DRIVERS: &[&str] = &["make", "gmake", "sh", "dash", "bash"];

/// Most commands that are deferred and not settled: each keeps a stopped copy of its driver.
const MAX_UNSETTLED: usize = 256;

const UNTRACEABLE: Refusal = "its process may not be traced";
const UNCOPIED: Refusal = "its parent cannot be copied";
const TRACED: Refusal = "its process is traced by another program";
const HAS_JOBS: Refusal = "its process has deferred commands itself";
const WRITES: Refusal = "a file is open to write";

/// The filter of an ordinary user takes these rights from every program.
const RIGHTS: Refusal =
    "a setuid program has no rights of its user here; run the build as root, or that step apart";

/// Reason for which a command is not deferred.
type Refusal = &'static str;

impl Supervisor {
    /// The last job in the serial order.
    pub(super) fn last_job(&self) -> Option<JobId> {
        self.jobs.last()
    }

    pub(super) fn execute(
        &mut self,
        call: &Notification,
        path: PathArgument,
        arguments: u64,
        environment: u64,
    ) -> io::Result<Decision> {
        let process = Process(call.pid);
        let Some(path) = process.resolve(path) else { return Ok(CONTINUE) };
        if self.pending(&path, true).is_some() {
            return Ok(Decision::Hold(WaitReason::File(path)));
        }
        // A program that is not there: the caller tries the next folder of PATH.
        let Ok(found) = path.metadata() else { return Ok(CONTINUE) };
        if !found.is_file() {
            return Ok(CONTINUE);
        }
        if found.mode() & (libc::S_ISUID | libc::S_ISGID) != 0 && !geteuid().is_root() {
            self.record.add_refusal(RIGHTS);
            return Ok(CONTINUE);
        }
        if self.jobs.count() >= MAX_UNSETTLED {
            return Ok(Decision::Hold(WaitReason::Limit));
        }
        // Its dry run reads the makefiles, which pending commands may still write.
        if self.observation.is_some() && is_make(&path) && !self.jobs.is_empty() {
            return Ok(Decision::Hold(WaitReason::Makefile));
        }
        let Some(arguments) = process.strings(arguments) else { return Ok(CONTINUE) };
        if !recipe::may_be_known(&path) && !may_run_in_parallel(&path) {
            self.record.add_unknown(&arguments);
            return Ok(CONTINUE);
        }
        let Some(directory) = process.directory() else { return Ok(CONTINUE) };
        let environment = Environment::new(move || process.strings(environment));
        if let Some(reason) = runs_in_parallel(&path, &arguments, &environment) {
            self.passed_through.get_or_insert(reason);
        }
        if self.passed_through.is_some() {
            return Ok(CONTINUE);
        }
        let invocation =
            Invocation { program: path.to_string_lossy().into_owned(), arguments, environment, directory };
        let disk = Disk { jobs: &self.jobs };
        let Some(meaning) = recipe::meaning(&invocation, &disk) else {
            self.record.add_unknown(&invocation.arguments);
            return Ok(CONTINUE);
        };
        let mut folders = CanonicalFolders::default();
        let effects = meaning.effects.map_paths(|path| folders.canonical(path));
        // The names of its files are known once the link is there.
        if let Some(link) = self.link_on_the_way(&effects) {
            return Ok(Decision::Hold(WaitReason::File(link)));
        }
        // Beside other commands, which have ended already in a run in series.
        let has_others = !self.jobs.is_empty() || self.series.as_ref().is_some_and(SerialSteps::has_commands);
        let needs_deferral = meaning.weight == Weight::Heavy
            || if removes_nothing(&effects, &disk) {
                self.jobs.conflicts(&Effects { writes: Vec::new(), ..effects.clone() })
            } else {
                self.jobs.conflicts(&effects) || (!effects.writes.is_empty() && has_others)
            };
        if !needs_deferral {
            return Ok(CONTINUE);
        }
        if invocation.environment.hides_files() {
            self.record.add_unknown(&invocation.arguments);
            return Ok(CONTINUE);
        }
        if let Some(reason) = writes_through(&effects) {
            self.record.add_refusal(reason);
            return Ok(CONTINUE);
        }
        let meaning = Meaning { effects: with_link_targets(effects), ..meaning };
        match self.defer(call, invocation, meaning)? {
            Ok(()) => Ok(Decision::Deferred),
            Err(reason) => {
                self.record.add_refusal(reason);
                Ok(CONTINUE)
            }
        }
    }

    /// A pending link behind which a command reads or writes files.
    fn link_on_the_way(&self, effects: &Effects) -> Option<PathBuf> {
        let link = |path: &Path| self.jobs.pending(path).filter(|pending| pending.is_link());
        let above = |path: &Path| link(path).filter(|link| link.path != path);
        let written = |write: &Write| {
            let replaces = write.after == State::Absent || matches!(write.origin, Origin::Link(_));
            link(&write.path).filter(|_| !replaces)
        };
        let mut found = effects.paths().filter_map(above).chain(effects.writes.iter().filter_map(written));
        found.next().map(|link| link.path)
    }

    fn defer(
        &mut self,
        call: &Notification,
        invocation: Invocation,
        meaning: Meaning,
    ) -> io::Result<Result<(), Refusal>> {
        let child = Process(call.pid);
        let (driver, umask, targets) = match self.check(child) {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        let line = self
            .observation
            .as_mut()
            .and_then(|observation| observation.line_of_command(child, &invocation.arguments));
        let deferred = Deferred::new(invocation, child, umask, targets);
        self.build.output.drain()?;
        let positions = positions(driver);
        let Some(instruction) = self.instruction(driver) else {
            return Ok(Err("its parent has made no system call yet"));
        };
        let Ok(stopped_driver) = Tracee::seize(driver) else { return Ok(Err(UNTRACEABLE)) };
        let Ok(stopped_child) = Tracee::seize(child) else {
            stopped_driver.wait_for_stop()?;
            return Ok(Err(UNTRACEABLE));
        };
        let end_child = |child: Tracee| child.wait_for_stop().and_then(|()| child.exit(0, call.instruction));
        // The driver is copied before its child ends, or it might already have the child's status.
        // A driver in vfork stops only afterwards, but before it can ask.
        let copy = if stopped_driver.wait_for_stop_or_vfork()? == Stop::Stopped {
            let Ok(copy) = self.copy_driver(&stopped_driver, instruction) else {
                // Its call was interrupted, and begins again.
                self.uncopied.insert(child);
                stopped_child.wait_for_stop()?;
                return Ok(Err(UNCOPIED));
            };
            end_child(stopped_child)?;
            copy
        } else {
            end_child(stopped_child)?;
            stopped_driver.wait_for_stop()?;
            self.copy_driver(&stopped_driver, instruction)?
        };
        drop(stopped_driver);
        self.callers.remove(&child);
        if let Some(series) = &mut self.series {
            series.defer(self.started.elapsed(), &meaning.effects, driver);
        }
        let source_size = source_size(&meaning.effects);
        let id = self.jobs.defer(meaning.effects, source_size, driver, precise_now());
        let checkpoint = self.checkpoint(driver, child, copy, positions);
        self.checkpoints.insert(id, checkpoint);
        self.note_deferral(id, &deferred.invocation.arguments);
        if let Some(observation) = &mut self.observation {
            observation.defer(id, child, line);
        }
        self.waiting.insert(id, deferred);
        self.build.output.reserve(id)?;
        self.start_ready()?;
        Ok(Ok(()))
    }

    /// Copies a stopped driver. Before that it waits for its copies that have ended.
    pub(super) fn copy_driver(&mut self, stopped: &Tracee, instruction: u64) -> io::Result<Copy> {
        let ended = self.ended_copies.remove(&stopped.process()).unwrap_or_default();
        stopped.reap_copies(ended.len(), instruction)?;
        self.copies.retain(|copy| !ended.contains(copy));
        let copy = stopped.copy(instruction)?;
        self.copies.insert(copy.process());
        Ok(copy)
    }

    /// The state of a driver that waits for a child, with its copy.
    pub(super) fn checkpoint(
        &mut self,
        driver: Process,
        child: Process,
        copy: Copy,
        positions: Vec<(i32, u64)>,
    ) -> Checkpoint {
        let place = self.observation.as_mut().map(|observation| observation.place(driver));
        Checkpoint { driver, child, copy, positions, place }
    }

    fn note_deferral(&mut self, id: JobId, arguments: &[String]) {
        let now = self.started.elapsed();
        let after: Vec<usize> = self.jobs.predecessors(id).into_iter().map(|earlier| earlier.0).collect();
        self.record.commands.push(record::Command {
            command: shell_words::join(arguments),
            outputs: self.jobs.outputs(id).into_iter().map(|output| output.path).collect(),
            after,
            deferred: now,
            ready: now,
            started: None,
            ended: None,
            result: CommandResult::Pending,
        });
    }

    /// The driver and the umask of a process whose command can be deferred.
    fn check(&self, child: Process) -> Result<(Process, u32, Targets), Refusal> {
        if self.uncopied.contains(&child) {
            return Err(UNCOPIED);
        }
        let status = child.status().ok_or("its process is gone")?;
        let driver = status.parent;
        if status.threads != 1 {
            return Err("its process has several threads");
        }
        if status.tracer.is_some() {
            return Err(TRACED);
        }
        if self.jobs.last_of(child).is_some() {
            return Err(HAS_JOBS);
        }
        let parent = self.check_driver(driver, child)?;
        let name_of = |number| child.descriptor(number).map(|path| path.to_string_lossy().into_owned());
        let (Some(output), Some(error)) = (name_of(1), name_of(2)) else {
            return Err("its output is closed");
        };
        let targets = self
            .build
            .output
            .targets(&output, &error)
            .ok_or("its output does not go where the build's goes")?;
        if writes_files(child, &self.inherited) {
            return Err(WRITES);
        }
        if !status.has_credentials_of(&self.own_status) || child.namespaces() != self.own_namespaces {
            return Err("it runs as another user, or in other namespaces");
        }
        let mut others = self.jobs.drivers();
        others.remove(&driver);
        if !others.is_empty() && !others.is_subset(&parent.ancestors()) {
            return Err("several parts of the build run at the same time");
        }
        Ok((driver, status.umask, targets))
    }

    /// The state of a driver that can be copied while it waits for this child.
    pub(super) fn check_driver(&self, driver: Process, child: Process) -> Result<Status, Refusal> {
        let status = driver.status().ok_or("its parent is gone")?;
        if status.threads != 1 {
            return Err("its parent has several threads");
        }
        let program = driver.program().ok_or("its parent is gone")?;
        let name = program.file_name().unwrap_or_default();
        if !DRIVERS.iter().any(|known| name == *known) {
            return Err("its parent is neither make nor a shell");
        }
        if status.tracer.is_some() {
            return Err(TRACED);
        }
        if self.successors.get(&driver).is_some_and(|successor| successor.answer.is_some()) {
            return Err(HAS_JOBS);
        }
        if driver.children().iter().any(|other| *other != child && !self.copies.contains(other)) {
            return Err("its parent has other children");
        }
        if writes_files(driver, &self.inherited) {
            return Err(WRITES);
        }
        Ok(status)
    }
}

/// Whether a command removes only what is not there, which changes nothing if it runs now.
fn removes_nothing(effects: &Effects, disk: &Disk) -> bool {
    let is_absent =
        |write: &Write| write.after == State::Absent && disk.kind(&write.path) == Some(Kind::Missing);
    effects.writes.iter().all(is_absent)
}

/// Reason not to defer a command that would change a file other than the one that its arguments
/// name, or one that cannot be kept for the way back.
fn writes_through(effects: &Effects) -> Option<Refusal> {
    let mut replaced = effects.writes.iter().filter(|write| write.after != State::Absent);
    replaced.find_map(|write| match write.path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Some("an output is a symbolic link"),
        Ok(found) if found.is_file() && access(&write.path, Access::READ_OK).is_err() => {
            Some("an output of before cannot be read")
        }
        _ => None,
    })
}

/// Size of the sources that a compilation reads, in bytes.
fn source_size(effects: &Effects) -> u64 {
    let sources = effects.reads.iter().filter(|_| effects.search.headers);
    sources.filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum()
}

/// The effects with the targets of symbolic links among the files that are read.
fn with_link_targets(mut effects: Effects) -> Effects {
    let links = effects.reads.iter().filter(|path| path.is_symlink());
    let targets: Vec<_> = links.filter_map(|path| path.canonicalize().ok()).collect();
    effects.reads.extend(targets);
    effects
}

/// Whether a program may run commands in parallel itself, which its arguments and environment tell.
fn may_run_in_parallel(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name == "ninja" || name == "make" || name == "gmake")
}

/// Reason to pass a build through: a program that runs commands in parallel itself.
fn runs_in_parallel(program: &Path, arguments: &[String], environment: &Environment) -> Option<&'static str> {
    let name = program.file_name()?.to_str()?;
    if name == "ninja" {
        return Some("ninja runs commands in parallel itself");
    }
    if !matches!(name, "make" | "gmake") {
        return None;
    }
    // Also among other letters, as in `-kj4`.
    let is_parallel = |word: &String| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let count = letters
            .and_then(|letters| letters.split_once('j'))
            .filter(|(others, _)| others.bytes().all(|letter| b"kisnBrRwe".contains(&letter)))
            .map(|(_, count)| count)
            .or_else(|| word.strip_prefix("--jobs="));
        word == "--jobs" || count.is_some_and(|count| count != "1")
    };
    let has_job_server = environment
        .pairs()
        .filter(|(name, _)| *name == "MAKEFLAGS")
        .any(|(_, flags)| flags.contains("--jobserver") || flags.contains(" -j") || flags.starts_with("-j"));
    // A count that is a word of its own.
    let is_one = arguments.windows(2).any(|pair| pair[0] == "-j" && pair[1] == "1");
    (has_job_server || (arguments.iter().any(is_parallel) && !is_one))
        .then_some("make runs commands in parallel itself")
}

/// Whether a process has a file or a pipe open to write that its next program would inherit, or
/// that it may write to between two deferrals. Pipes that the whole build inherited are not its
/// own.
fn writes_files(process: Process, inherited: &BTreeSet<PathBuf>) -> bool {
    process.descriptors().into_iter().any(|number| {
        let is_own =
            |path: PathBuf| !is_of_kernel(&path) && (path.is_absolute() || !inherited.contains(&path));
        let writes = |state: DescriptorState| state.flags & libc::O_ACCMODE != libc::O_RDONLY;
        process.descriptor(number).is_some_and(is_own) && process.descriptor_state(number).is_some_and(writes)
    })
}

/// Positions in the regular files of a process.
pub(super) fn positions(process: Process) -> Vec<(i32, u64)> {
    process
        .descriptors()
        .into_iter()
        .filter(|number| process.descriptor(*number).is_some_and(|path| path.is_absolute() && path.is_file()))
        .filter_map(|number| Some((number, process.descriptor_state(number)?.position)))
        .collect()
}
