//! The end of a driver. A make that has jobs may end before them if its parent waits for it and can
//! be copied: the parent goes on, and its copy is kept for the case that a job fails and the make
//! ends with another status. So may the shell of its recipe line. Any other driver waits for its
//! jobs: a signal may be sent to its number, and its traps run when it ends.

use std::io;

use super::decision::{CONTINUE, Decision};
use super::deferral::positions;
use super::observation::is_make;
use super::{Checkpoint, Supervisor};
use crate::jobs::JobId;
use crate::process::Process;
use crate::record::WaitReason;
use crate::tracee::Tracee;

/// A driver that has ended before its jobs.
#[derive(Debug)]
pub(super) struct EarlyExit {
    /// Its last job.
    pub(super) last: JobId,
    /// Its parent, which waited for it.
    pub(super) checkpoint: Checkpoint,
}

impl Supervisor {
    pub(super) fn exit(&mut self, process: Process, status: i32) -> io::Result<Decision> {
        self.note_exit_in_series(process);
        match self.jobs.last_of(process) {
            Some(last) if !self.exit_early(process, last)? => return Ok(Decision::Hold(WaitReason::Exit)),
            Some(_) => {}
            None => self.end_successor(process, (status & 0xff) << 8)?,
        }
        self.callers.remove(&process);
        self.uncopied.remove(&process);
        self.forget_copies(process);
        Ok(CONTINUE)
    }

    /// Forgets the ended copies of a driver that has ended itself: the process in front waits for
    /// them.
    pub(super) fn forget_copies(&mut self, driver: Process) {
        for copy in self.ended_copies.remove(&driver).unwrap_or_default() {
            self.copies.remove(&copy);
        }
    }

    /// Copies the parent of a driver, so that the driver may end before its jobs. Returns whether
    /// it may.
    fn exit_early(&mut self, process: Process, last: JobId) -> io::Result<bool> {
        let Some(parent) = self.waiting_parent(process) else { return Ok(false) };
        let Some(instruction) = self.instruction(parent) else { return Ok(false) };
        let positions = positions(parent);
        let Ok(stopped) = Tracee::seize(parent) else { return Ok(false) };
        // It may be killed just now.
        if stopped.wait_for_stop().is_err() {
            return Ok(false);
        }
        let Ok(copy) = self.copy_driver(&stopped, instruction) else { return Ok(false) };
        let checkpoint = self.checkpoint(parent, process, copy, positions);
        self.jobs.pass_on(process, parent);
        self.early_exits.push(EarlyExit { last, checkpoint });
        Ok(true)
    }

    /// The parent of a driver, if it is a driver that waits for this child and can be copied.
    fn waiting_parent(&self, process: Process) -> Option<Process> {
        // A copy goes on in the place of another process, whose parent is not its own.
        let is_first = process.0 == self.build.root.id() as i32;
        if is_first || self.successors.contains_key(&process) {
            return None;
        }
        // After a failure nothing would end children that have no parent any more.
        if process.children().iter().any(|child| !self.copies.contains(child)) {
            return None;
        }
        // Its copies would keep a lock after its end.
        if process.descriptors().into_iter().any(|number| process.holds_lock(number)) {
            return None;
        }
        let parent = process.status()?.parent;
        let is_make = |process: Process| process.program().is_some_and(|program| is_make(&program));
        let is_plain = || is_make(parent) && is_plain_line(&process.command_line());
        if !is_make(process) && !is_plain() {
            return None;
        }
        (parent.waits_for_child() && self.check_driver(parent, process).is_ok()).then_some(parent)
    }

    /// In series the jobs of a driver have ended. Beside the build it would end before them, or
    /// wait.
    fn note_exit_in_series(&mut self, process: Process) {
        if !self.series.as_mut().is_some_and(|series| series.remove_driver(process)) {
            return;
        }
        let parent = self.waiting_parent(process);
        if let Some(series) = &mut self.series {
            match parent {
                Some(parent) => series.add_driver(parent),
                None => series.need_all(self.started.elapsed()),
            }
        }
    }

    /// Discards the copies of parents whose children's last job is one of these.
    pub(super) fn discard_exits(&mut self, jobs: impl Fn(JobId) -> bool) {
        // A parent that has ended too stands behind its child.
        while let Some(place) = self.early_exits.iter().position(|exit| jobs(exit.last)) {
            let exit = self.early_exits.remove(place);
            self.discard_checkpoint(exit.checkpoint);
        }
    }

    /// Takes the copies of the parents that were told of the end of a driver after one of its jobs:
    /// its own parent's, that of the parent above if the first has ended too, and so on.
    pub(super) fn take_parents(&mut self, driver: Process, job: JobId) -> Vec<Checkpoint> {
        let mut parents: Vec<Checkpoint> = Vec::new();
        loop {
            let child = parents.last().map_or(driver, |parent| parent.driver);
            let is_end = |exit: &EarlyExit| exit.checkpoint.child == child && exit.last >= job;
            let Some(place) = self.early_exits.iter().position(is_end) else { return parents };
            parents.push(self.early_exits.remove(place).checkpoint);
        }
    }

    /// Whether a driver has ended before its jobs.
    fn has_exited(&self, driver: Process) -> bool {
        self.early_exits.iter().any(|exit| exit.checkpoint.child == driver)
    }

    /// Ends a copy that is needed no more.
    pub(super) fn discard_checkpoint(&mut self, checkpoint: Checkpoint) {
        let copy = checkpoint.copy.process();
        checkpoint.copy.discard();
        self.ended_copies.entry(checkpoint.driver).or_default().push(copy);
        if self.has_exited(checkpoint.driver) {
            self.forget_copies(checkpoint.driver);
        }
    }
}

/// Whether a command is a shell with a line that neither sets traps nor tells its number.
fn is_plain_line(command: &[String]) -> bool {
    match command {
        [_, option, line] if option == "-c" || option == "-ec" => {
            !["$$", "PPID", "trap"].iter().any(|word| line.contains(word))
        }
        _ => false,
    }
}
