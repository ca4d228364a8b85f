//! The way back after the failure of a deferred command: everything later is undone, and the copy
//! of the driver goes on with the true status, as in the serial run.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, seek};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{Caller, Checkpoint, Replaced, Successor, Supervisor};
use crate::effects::State;
use crate::execution::Running;
use crate::jobs::JobId;
use crate::listener::Answer;
use crate::process::{Process, Status};
use crate::record::CommandResult;
use crate::tracee::Tracee;

/// Time limit for killed processes to end. They disappear at once unless a device blocks them.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// Ages of processes are known to this.
const TICK: Duration = Duration::from_millis(10);

impl Supervisor {
    /// Goes back to the deferral of a failed command, which is the first of the serial order.
    pub(super) fn roll_back(&mut self, id: JobId) -> io::Result<()> {
        let (Some(checkpoint), Some(failed)) = (self.checkpoints.remove(&id), self.ended.remove(&id)) else {
            return Err(io::Error::other("a failed command has no checkpoint"));
        };
        let status = failed.status.into_raw();
        let parents = self.take_parents(checkpoint.driver, id);
        let driver = parents.last().map_or(checkpoint.driver, |parent| parent.driver);
        // No call is answered here, so that nothing below the driver changes a file any more.
        let Ok(stopped) = Tracee::seize(driver) else {
            // A driver that was killed goes nowhere any more.
            parents.into_iter().chain([checkpoint]).for_each(|ended| ended.copy.discard());
            self.jobs.settle(id);
            return self.build.output.finish(id, failed.text);
        };
        // A later command that makes it too has perhaps found it missing.
        let directories = self.made_directories(id);
        let later = self.jobs.cancel_from(id);
        for later in &later {
            self.record.commands[later.0].result = CommandResult::Undone;
        }
        for later in &later {
            if let Some(checkpoint) = self.checkpoints.remove(later) {
                self.discard_checkpoint(checkpoint);
            }
        }
        self.discard_exits(|_| true);
        let kept: Vec<Process> =
            parents.iter().chain([&checkpoint]).map(|kept| kept.copy.process()).collect();
        let below = driver.descendants().into_iter().chain(self.strays_since(id, checkpoint.child));
        let undone: Vec<Process> = below.filter(|process| !kept.contains(process)).collect();
        for process in &undone {
            process.kill();
        }
        stopped.wait_for_stop()?;
        wait_until_ended(&undone)?;

        // A call that waits would keep its job from ending by itself.
        for (job, call) in &self.held_in_jobs {
            if *job > id
                && let Some(listener) = self.running.get(job).and_then(Running::listener)
            {
                listener.answer(call, Answer::Continue);
            }
        }
        self.held_in_jobs.retain(|(job, _)| *job < id);
        for later in later {
            self.waiting.remove(&later);
            if let Some(running) = self.running.remove(&later) {
                running.undo()?;
            }
            if let Some(ended) = self.ended.remove(&later) {
                ended.undo()?;
            }
        }
        for (_, made) in self.made.drain(..).rev() {
            // Only what is as it was made: a directory with files of others stays.
            let _ = if made.is_dir() { fs::remove_dir(&made) } else { fs::remove_file(&made) };
        }
        for (directory, permissions) in directories {
            if fs::create_dir(&directory).is_ok() {
                fs::set_permissions(&directory, permissions)?;
            }
        }
        for kept in parents.iter().rev().chain([&checkpoint]) {
            restore_positions(kept.copy.process(), &kept.positions)?;
        }
        self.build.output.discard_after(id)?;
        self.build.output.finish(id, failed.text)?;

        // Processes that did not survive wait for no answer.
        let listener = &self.build.listener;
        self.held.retain(|held| listener.is_valid(&held.call));
        for process in &undone {
            self.callers.remove(process);
        }
        if let Some(observation) = &mut self.observation {
            observation.roll_back(id);
        }
        let mut replaced =
            self.successors.remove(&driver).map_or_else(Replaced::default, |successor| successor.replaced);
        replaced.stopped.push(stopped);
        for parent in parents.into_iter().rev() {
            self.forget_copies(parent.child);
            replaced = Replaced { stopped: Vec::new(), parent: Some(Box::new((parent, replaced))) };
        }
        self.go_on(checkpoint, status, replaced)
    }

    /// Directories that a failed command has made, or found as it was to make them: those before
    /// all its other outputs. It may have failed before it came to the rest.
    fn made_directories(&self, id: JobId) -> Vec<(PathBuf, Permissions)> {
        let outputs = self.jobs.outputs(id).into_iter();
        let directories = outputs.take_while(|output| matches!(output.after, State::Directory { .. }));
        let found = directories.filter_map(|output| {
            let found = output.path.symlink_metadata().ok().filter(Metadata::is_dir)?;
            Some((output.path, found.permissions()))
        });
        found.collect()
    }

    /// Processes that have left the build's tree, as daemons do, and were started after the process
    /// of a deferred command, with those below them.
    fn strays_since(&self, id: JobId, child: Process) -> Vec<Process> {
        let now = self.started.elapsed();
        let since_deferral = now.saturating_sub(self.record.commands[id.0].deferred);
        let own = Process(std::process::id() as i32);
        let is_top = |process: &Process| {
            *process == own || self.successors.contains_key(process) || self.copies.contains(process)
        };
        let is_stray = |(process, caller): &(&Process, &Caller)| {
            // Ages are known to a tick. Numbers rise, up to the largest, and begin again. A process
            // with the number of another that was killed is younger than the call of that one.
            let since_call = now.saturating_sub(caller.first_call);
            let is_of_age = |age: Duration| age <= since_deferral + TICK && age + TICK >= since_call;
            let is_outside = |status: Status| {
                status.leader == **process && !is_top(process) && !status.ancestors().iter().any(is_top)
            };
            **process > child
                && process.age().is_some_and(is_of_age)
                && process.status().is_some_and(is_outside)
        };
        let strays = self.callers.iter().filter(is_stray).map(|(process, _)| *process);
        strays.flat_map(|stray| stray.descendants().into_iter().chain([stray])).collect()
    }

    /// Lets the copy of a driver go on with the status of the child that it waits for.
    fn go_on(&mut self, checkpoint: Checkpoint, status: i32, replaced: Replaced) -> io::Result<()> {
        let Checkpoint { child, copy, place, .. } = checkpoint;
        let process = copy.process();
        let pid = Pid::from_raw(process.0).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        self.successors.insert(process, Successor { replaced, descriptor, answer: Some((child, status)) });
        self.copies.remove(&process);
        if let Some(signal) = self.ending {
            process.signal(signal);
        }
        if let Some((observation, place)) = self.observation.as_mut().zip(place) {
            observation.add_copy(process, place);
        }
        copy.resume()
    }

    /// Ends the processes for which a copy went on. `status` is that of the copy, in the form of
    /// `wait4`.
    pub(super) fn end_successor(&mut self, process: Process, status: i32) -> io::Result<()> {
        let Some(successor) = self.successors.remove(&process) else { return Ok(()) };
        let Replaced { stopped, parent } = successor.replaced;
        let mut stopped = stopped.into_iter();
        if let Some(parent) = parent {
            stopped.for_each(Tracee::discard);
            let (checkpoint, replaced) = *parent;
            return self.go_on(checkpoint, status, replaced);
        }
        if let Some(first) = stopped.next() {
            match self.callers.remove(&first.process()) {
                Some(caller) => first.end_like(status, caller.instruction)?,
                None => first.discard(),
            }
        }
        stopped.for_each(Tracee::discard);
        Ok(())
    }

    /// Ends the processes for which a copy went on, after the copy was killed by a signal.
    pub(super) fn end_killed_successor(&mut self, process: Process) -> io::Result<()> {
        let Some(successor) = self.successors.get(&process) else { return Ok(()) };
        let status = process.end_status(successor.descriptor.as_fd());
        self.end_successor(process, status.unwrap_or(libc::SIGKILL))
    }

    /// The copy that goes on, or will go on, for a process.
    pub(super) fn copy_for(&self, process: Process) -> Option<Process> {
        let mut successors = self.successors.iter();
        successors.find_map(|(copy, successor)| successor.replaced.copy_for(process, *copy))
    }
}

impl Replaced {
    /// The copy for a process. `copy` goes on for the stopped processes here, and the copy of the
    /// parent for those above.
    fn copy_for(&self, process: Process, copy: Process) -> Option<Process> {
        if self.stopped.iter().any(|stopped| stopped.process() == process) {
            return Some(copy);
        }
        let (checkpoint, above) = self.parent.as_deref()?;
        above.copy_for(process, checkpoint.copy.process())
    }

    /// Ends the stopped processes and the copies.
    pub(super) fn discard(self) {
        self.stopped.into_iter().for_each(Tracee::discard);
        if let Some(parent) = self.parent {
            parent.0.copy.discard();
            parent.1.discard();
        }
    }
}

fn wait_until_ended(processes: &[Process]) -> io::Result<()> {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while processes.iter().any(|process| process.is_alive()) {
        if Instant::now() > deadline {
            return Err(io::Error::other("a killed process does not end"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// Puts the positions in the files of the copy back. The driver shares them, and may have moved
/// them, or closed its own descriptors.
fn restore_positions(copy: Process, positions: &[(i32, u64)]) -> io::Result<()> {
    let pid = Pid::from_raw(copy.0).ok_or(io::ErrorKind::NotFound)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    for (number, position) in positions {
        let file = pidfd_getfd(&process, *number, PidfdGetfdFlags::empty())?;
        seek(file.as_fd(), SeekFrom::Start(*position))?;
    }
    Ok(())
}
