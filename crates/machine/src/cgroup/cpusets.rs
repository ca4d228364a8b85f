//! Cpusets that hold single programs on a few CPUs, whatever they do to their affinity.
//!
//! Only version 1 can do this: its cpusets are a hierarchy of their own, so that a program moves to
//! one without leaving the cgroup in which its service counts it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use morecores_study::CpuSet;

use super::group::{GroupError, io_error};
use super::hierarchies::Hierarchies;

/// Cpusets with a common parent, one for each set of CPUs that a program is held on.
#[derive(Clone, Debug)]
pub struct ProgramCpusets {
    /// Cpuset of this process.
    own: PathBuf,
    /// Common parent.
    parent: PathBuf,
}

impl ProgramCpusets {
    /// Cpusets below that of this process, with a common parent of this name. Changes nothing.
    ///
    /// # Errors
    /// The machine has no cpusets of version 1, or this process may make none.
    pub fn find(hierarchies: &Hierarchies, name: &str) -> Result<Self, GroupError> {
        let missing = || GroupError::NoController {
            controller: "cpuset",
            why: "its hierarchy of cgroup version 1 is not mounted".to_owned(),
        };
        let own = hierarchies.v1.get("cpuset").ok_or_else(missing)?.path().to_owned();
        rustix::fs::access(&own, rustix::fs::Access::WRITE_OK)
            .map_err(|error| io_error("make a cgroup in", &own)(error.into()))?;
        Ok(Self { parent: own.join(name), own })
    }

    /// Moves a thread to the cpuset with these CPUs.
    ///
    /// # Errors
    /// The thread is gone, or the kernel refuses the CPUs.
    pub fn hold(&self, thread: u32, cpus: &CpuSet) -> Result<(), GroupError> {
        let read = |file: &str| {
            let file = self.own.join(file);
            fs::read_to_string(&file).map_err(io_error("read", &file))
        };
        // A version 1 cpuset accepts no task without memory nodes, and loses CPUs that go offline.
        let memory_nodes = read("cpuset.mems")?;
        fill(&self.parent, &read("cpuset.cpus")?, &memory_nodes)?;
        let dir = self.parent.join(cpus.to_string());
        fill(&dir, &cpus.to_string(), &memory_nodes)?;
        let tasks = dir.join("tasks");
        fs::write(&tasks, thread.to_string()).map_err(io_error("move a program to", &tasks))
    }

    /// Removes the cpusets without programs. Programs that run stay on their CPUs.
    pub fn remove_empty(&self) {
        let cpusets = fs::read_dir(&self.parent).into_iter().flatten().flatten();
        for dir in cpusets.map(|entry| entry.path()).filter(|path| path.is_dir()).chain([self.parent.clone()])
        {
            // The kernel refuses one with programs.
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Makes a cpuset, or gives one its CPUs and memory nodes again.
fn fill(dir: &Path, cpus: &str, memory_nodes: &str) -> Result<(), GroupError> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io_error("make the cgroup", dir)(error));
        }
        _ => {}
    }
    for (file, value) in [("cpuset.mems", memory_nodes), ("cpuset.cpus", cpus)] {
        let file = dir.join(file);
        let is_there = fs::read_to_string(&file).is_ok_and(|present| present.trim() == value.trim());
        if !is_there {
            fs::write(&file, value).map_err(io_error("write", &file))?;
        }
    }
    Ok(())
}
