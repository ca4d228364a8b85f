//! The way back after the failure of a deferred command: everything later is undone, and the copy
//! of the driver goes on with the true status, as in the serial run.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, seek};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{Checkpoint, Replaced, Successor, Supervisor};
use crate::execution::Running;
use crate::jobs::JobId;
use crate::listener::Answer;
use crate::process::Process;
use crate::record::CommandResult;
use crate::tracee::Tracee;

/// Time limit for killed processes to end. They disappear at once unless a device blocks them.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

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
        let descendants: Vec<Process> =
            driver.descendants().into_iter().filter(|process| !kept.contains(process)).collect();
        for process in &descendants {
            process.kill();
        }
        stopped.wait_for_stop()?;
        wait_until_ended(&descendants)?;

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
        for kept in parents.iter().rev().chain([&checkpoint]) {
            restore_positions(kept.copy.process(), &kept.positions)?;
        }
        self.build.output.discard_after(id)?;
        self.build.output.finish(id, failed.text)?;

        // Processes that did not survive wait for no answer.
        let listener = &self.build.listener;
        self.held.retain(|held| listener.is_valid(&held.call));
        for process in &descendants {
            self.instructions.remove(process);
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

    /// Lets the copy of a driver go on with the status of the child that it waits for.
    fn go_on(&mut self, checkpoint: Checkpoint, status: i32, replaced: Replaced) -> io::Result<()> {
        let Checkpoint { child, copy, place, .. } = checkpoint;
        let process = copy.process();
        let pid = Pid::from_raw(process.0).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        self.successors.insert(process, Successor { replaced, descriptor, answer: Some((child, status)) });
        self.copies.remove(&process);
        if let Some((observation, place)) = self.observation.as_mut().zip(place) {
            observation.add_copy(process, place);
        }
        copy.resume()
    }

    /// Ends the processes for which a copy went on. `status` is that of its `exit`; without it the
    /// copy was killed.
    pub(super) fn end_successor(&mut self, process: Process, status: Option<i32>) -> io::Result<()> {
        let Some(successor) = self.successors.remove(&process) else { return Ok(()) };
        let Replaced { stopped, parent } = successor.replaced;
        let mut stopped = stopped.into_iter();
        if let Some(parent) = parent {
            stopped.for_each(Tracee::discard);
            let (checkpoint, replaced) = *parent;
            let status = status.map_or(libc::SIGKILL, |status| (status & 0xff) << 8);
            return self.go_on(checkpoint, status, replaced);
        }
        if let Some(first) = stopped.next() {
            let instruction = self.instructions.remove(&first.process());
            match (status, instruction) {
                (Some(status), Some(instruction)) => first.exit(status, instruction)?,
                _ => first.discard(),
            }
        }
        stopped.for_each(Tracee::discard);
        Ok(())
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
