//! The run in series for an estimate: each command ends before the build goes on, and the places
//! are noted at which the build would have waited for it.
//!
//! It decides about no call.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::observation::is_make;
use crate::calls::{Call, PathArgument, decode};
use crate::disk::canonical;
use crate::effects::{Conflict, Effects};
use crate::estimate::{SerialCommand, SerialRun, Step};
use crate::listener::Notification;
use crate::process::Process;

/// Steps of the build so far. Times count from the start of the build.
#[derive(Debug, Default)]
pub(super) struct SerialSteps {
    run: SerialRun,
    effects: Vec<Effects>,
    /// The last command that writes each name.
    outputs: HashMap<PathBuf, usize>,
    /// Earlier commands with outputs that the last command may find by itself.
    may_find: BTreeSet<usize>,
    /// Processes that have deferred commands.
    drivers: HashSet<Process>,
    /// Commands that the build needs no more: it has waited for them.
    awaited: HashSet<usize>,
    /// Time of all commands.
    commands_time: Duration,
    /// Time that is in the steps.
    noted: Duration,
}

impl SerialSteps {
    /// Whether a command was deferred before.
    pub(super) fn has_commands(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Notes a deferral.
    pub(super) fn defer(&mut self, now: Duration, effects: &Effects, driver: Process) {
        let number = self.effects.len();
        let mut after = Vec::new();
        self.may_find.clear();
        // One that the build has waited for has ended.
        for earlier in (0..number).filter(|earlier| !self.awaited.contains(earlier)) {
            match effects.conflict(&self.effects[earlier]) {
                Some(Conflict::Named(_)) => after.push(earlier),
                Some(Conflict::Found(_)) => drop(self.may_find.insert(earlier)),
                None => {}
            }
        }
        self.add_step(now, Step::Defer);
        self.run.commands.push(SerialCommand { elapsed: Duration::ZERO, after });
        self.outputs.extend(effects.writes.iter().map(|write| (write.path.clone(), number)));
        self.effects.push(effects.clone());
        self.drivers.insert(driver);
    }

    /// Whether the last command may find an output of an earlier one by itself.
    pub(super) fn last_may_find(&self) -> bool {
        !self.may_find.is_empty()
    }

    /// Notes a call of the last command: it would wait for an output at which it looks. Compilers
    /// look at headers soon after their start, so that it counts as waiting from there.
    pub(super) fn observe_last(&mut self, call: &Notification) {
        let (Call::Look { path, .. } | Call::Open { path, .. }) = decode(call) else { return };
        let found = self.command_of(Process(call.pid), path).filter(|found| self.may_find.remove(found));
        if let (Some(found), Some(last)) = (found, self.run.commands.last_mut()) {
            last.after.push(found);
        }
    }

    /// Notes the end of the last command.
    pub(super) fn end_command(&mut self, elapsed: Duration) {
        self.commands_time += elapsed;
        if let Some(command) = self.run.commands.last_mut() {
            command.elapsed = elapsed;
        }
    }

    /// Notes a call that would wait for an output.
    pub(super) fn observe(&mut self, now: Duration, call: &Notification) {
        let process = Process(call.pid);
        match decode(call) {
            // make gets a promise.
            Call::Look { stat: Some(_), .. }
                if process.program().is_some_and(|program| is_make(&program)) => {}
            Call::Look { path, .. } | Call::Open { path, .. } | Call::Execute { path, .. } => {
                self.need_file(now, process, path);
            }
            Call::List { descriptor } => {
                let directory = process.descriptor(descriptor);
                let is_inside =
                    |path: &Path| path.parent().is_some_and(|it| Some(it) == directory.as_deref());
                let inside = self.outputs.iter().filter(|(path, _)| is_inside(path));
                let commands: BTreeSet<usize> = inside.map(|(_, command)| *command).collect();
                commands.into_iter().for_each(|command| self.need(now, command));
            }
            _ => {}
        }
    }

    /// Forgets a driver. Returns whether it was one.
    pub(super) fn remove_driver(&mut self, driver: Process) -> bool {
        self.drivers.remove(&driver)
    }

    /// Notes that a driver has commands which a child has left to it.
    pub(super) fn add_driver(&mut self, driver: Process) {
        self.drivers.insert(driver);
    }

    /// Notes a call that would wait for all commands.
    pub(super) fn need_all(&mut self, now: Duration) {
        let count = self.effects.len();
        if self.awaited.len() < count {
            self.awaited.extend(0..count);
            self.add_step(now, Step::NeedAll);
        }
    }

    /// The whole run, at its end.
    pub(super) fn finish(mut self, now: Duration) -> SerialRun {
        self.need_all(now);
        self.add_work(now);
        self.run
    }

    fn need_file(&mut self, now: Duration, process: Process, path: PathArgument) {
        if let Some(command) = self.command_of(process, path) {
            self.need(now, command);
        }
    }

    /// The command that writes a file.
    fn command_of(&self, process: Process, path: PathArgument) -> Option<usize> {
        self.outputs.get(&canonical(&process.resolve(path)?)).copied()
    }

    fn need(&mut self, now: Duration, command: usize) {
        if self.awaited.insert(command) {
            self.add_step(now, Step::Need(command));
        }
    }

    fn add_step(&mut self, now: Duration, step: Step) {
        self.add_work(now);
        self.run.steps.push(step);
    }

    /// Adds the build's own time since the last step.
    fn add_work(&mut self, now: Duration) {
        let own = now.saturating_sub(self.commands_time);
        self.run.add_work(own.saturating_sub(self.noted));
        self.noted = own.max(self.noted);
    }
}
