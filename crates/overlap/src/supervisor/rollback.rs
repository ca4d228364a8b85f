//! The way back after the failure of a deferred command: everything later is undone, and the copy
//! of the driver goes on with the true status, as in the serial run.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, seek};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::{Checkpoint, Successor, Supervisor};
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
        let Checkpoint { driver, child, copy, positions } = checkpoint;
        // No call is answered here, so that nothing below the driver changes a file any more.
        let Ok(stopped) = Tracee::seize(driver) else {
            // A driver that was killed goes nowhere any more.
            copy.discard();
            self.jobs.settle(id);
            return self.build.output.finish(id, failed.text);
        };
        let later = self.jobs.cancel_from(id);
        for later in &later {
            self.record.commands[later.0].result = CommandResult::Undone;
        }
        for later in &later {
            self.discard_checkpoint(*later);
        }
        let descendants: Vec<Process> =
            driver.descendants().into_iter().filter(|process| *process != copy.process()).collect();
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
        restore_positions(copy.process(), &positions)?;
        self.build.output.discard_after(id)?;
        self.build.output.finish(id, failed.text)?;

        // Processes that did not survive wait for no answer.
        let listener = &self.build.listener;
        self.held.retain(|held| listener.is_valid(&held.call));
        for process in &descendants {
            self.instructions.remove(process);
        }
        let mut originals =
            self.successors.remove(&driver).map_or_else(Vec::new, |successor| successor.originals);
        originals.push(stopped);
        let successor = copy.process();
        let pid = Pid::from_raw(successor.0).ok_or(io::ErrorKind::NotFound)?;
        if let Some(&instruction) = self.instructions.get(&driver) {
            self.instructions.insert(successor, instruction);
        }
        self.successors.insert(
            successor,
            Successor {
                originals,
                descriptor: pidfd_open(pid, PidfdFlags::empty())?,
                answer: Some((child, failed.status.into_raw())),
            },
        );
        self.copies.remove(&successor);
        if let Some(observation) = &mut self.observation {
            observation.roll_back(id, driver, successor);
        }
        copy.resume()
    }

    /// Ends the processes in whose place a copy went on. `status` is that of its `exit`; without it
    /// the copy was killed.
    pub(super) fn end_successor(&mut self, process: Process, status: Option<i32>) -> io::Result<()> {
        let Some(successor) = self.successors.remove(&process) else { return Ok(()) };
        let mut originals = successor.originals.into_iter();
        if let Some(first) = originals.next() {
            let instruction = self.instructions.remove(&first.process());
            match (status, instruction) {
                (Some(status), Some(instruction)) => first.exit(status, instruction)?,
                _ => first.discard(),
            }
        }
        originals.for_each(Tracee::discard);
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
