//! Starts the command for one run, by simpler methods if the kernel refuses the better ones.
//!
//! Other modules count the cost of the run.

use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use morecores_study::{InCell, Limit, Point};
use tracing::info;

use super::{ExecuteError, ProcessExecutor};
use crate::observer::{ObserverError, RunObserver};
use crate::program::{self, ProgramError};
use crate::spawn::{self, ProcessEnd, SpawnError, Start};
use morecores_machine::cgroup::StudyGroup;

impl ProcessExecutor {
    /// Starts the command and waits for its main process, while the observer watches. Also returns
    /// the result of the watching.
    pub(super) fn start<O>(
        &mut self,
        point: &Point,
        input: &File,
        observer: &mut dyn RunObserver<Observation = O>,
    ) -> Result<(ProcessEnd, Result<O, ObserverError>), ExecuteError> {
        loop {
            let image = match self.images.entry(point.cell()) {
                Entry::Occupied(image) => image.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(program::image(&self.command, point, &self.environment)?)
                }
            };
            let start = Start {
                image,
                stdin: input.as_fd(),
                stdout: self.capture.stdout(),
                stderr: self.capture.stderr(),
                affinity: self.limiter.child_affinity(&point.cpu_set),
                cgroup: self.group.as_ref().and_then(StudyGroup::spawn_cgroup),
                joined_cgroup: self.group.as_ref().and_then(StudyGroup::joined_cgroup),
            };
            observer.on_begin(point)?;
            let ended = spawn::run(&start, &mut self.stack, &self.control.current, &mut self.terminal);
            let observed = observer.on_end();
            match ended {
                Err(SpawnError::IntoCgroup(error)) if !self.needs_birth_in_cgroup() => {
                    self.start_outside_cgroup(&error);
                }
                Err(SpawnError::Exec(error)) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                    let script = program::script_image(&self.command, point, &self.environment)?;
                    self.images.insert(point.cell(), script);
                }
                Err(SpawnError::Exec(error)) => {
                    let name = self.command.with_n(point.n).words().into_iter().next().unwrap_or_default();
                    return Err(ProgramError::Refused { name, error }.into());
                }
                ended => return Ok((ended?, observed)),
            }
        }
    }

    /// Whether the limit of the plan binds only children that are born in the version 2 cgroup.
    fn needs_birth_in_cgroup(&self) -> bool {
        let joins = self.group.as_ref().is_some_and(|group| group.joined_cgroup().is_some());
        match self.plan.limit {
            Limit::Affinity | Limit::Hotplug => false,
            Limit::Cpuset => true,
            Limit::Quota => !joins,
        }
    }

    fn start_outside_cgroup(&mut self, error: &io::Error) {
        info!("the kernel starts no process inside the version 2 cgroup (clone3): {error}");
        if let Some(group) = &mut self.group {
            group.disable_spawn_cgroup();
            // The cgroup of a quota is joined, whatever counts the CPU time.
            if !group.counts_cpu() && group.joined_cgroup().is_none() {
                self.group = None;
            }
        }
        // This run is about to start again, and needs another source of CPU time.
        self.account.begin(self.group.as_mut());
    }
}
