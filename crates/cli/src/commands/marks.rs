//! Marks of programs: the list in the state directory of this user, the mark that counts for a
//! program, and its effect on a thread.

use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use morecores_machine::cgroup::ProgramCpusets;
use morecores_machine::placement::CpuOrder;
use morecores_machine::process;
use morecores_mark::{self as mark, MarkError, Registry, launch_cpus};
use morecores_report as report;
use morecores_study::topology::Topology;
use morecores_study::{CpuId, Placement};

use crate::state_file;

/// Name of the list.
const FILE: &str = "marks.json";

/// The list with its file; `None` if this user has no directory for it.
pub(crate) fn file() -> Option<PathBuf> {
    state_file::path(FILE)
}

/// The list of marked programs; empty if there is none yet.
pub(crate) fn load() -> Result<Registry> {
    let Some(path) = file() else { return Ok(Registry::default()) };
    match fs::read_to_string(&path) {
        Ok(text) => Registry::parse(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Registry::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Keeps the list of marked programs.
pub(crate) fn store(registry: &Registry) -> Result<()> {
    let path = file().context("cannot keep the list of marked programs: set HOME or XDG_STATE_HOME")?;
    state_file::write(&path, &registry.to_text()).with_context(|| format!("cannot write {}", path.display()))
}

/// Number of CPUs for which a program is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Its file has the mark.
    OfFile(NonZeroU32),
    /// Its file was replaced. The list has this number.
    OfList(NonZeroU32),
}

impl Mark {
    pub(crate) fn cpus(self) -> NonZeroU32 {
        let (Self::OfFile(cpus) | Self::OfList(cpus)) = self;
        cpus
    }
}

/// The mark of a program by its file, else by the list.
pub(crate) fn find(program: &Path, registry: &Registry) -> Result<Option<Mark>, MarkError> {
    let of_list = || registry.cpus(program).map(Mark::OfList);
    Ok(mark::read(program)?.map(Mark::OfFile).or_else(of_list))
}

/// Way to keep a program on its CPUs.
#[derive(Clone, Debug)]
pub(crate) enum Hold {
    /// The CPU affinity, which the program can change.
    Affinity,
    /// A cpuset, which it cannot leave.
    Cpuset(ProgramCpusets),
}

/// Restricts a thread to as many of its CPUs as a mark allows; 0 is the calling thread. They are
/// neighbours, from the CPU on that it used last. A thread with fewer keeps them.
pub(crate) fn restrict(thread: u32, machine: &Topology, cpus: NonZeroU32, hold: &Hold) -> Result<()> {
    let usable = process::affinity(thread).context("cannot read its CPUs")?;
    let order = CpuOrder::from_policy(machine, &usable, Placement::default());
    let order: Vec<CpuId> = order.steps().iter().map(|step| step.cpu).collect();
    let current = process::last_cpu(thread).unwrap_or(CpuId(0));
    let cpus = launch_cpus(&order, current, cpus.get() as usize);
    match hold {
        Hold::Affinity => {
            process::set_affinity(thread, &cpus).with_context(|| format!("cannot use CPUs {cpus} alone"))
        }
        Hold::Cpuset(cpusets) => Ok(cpusets.hold(thread, &cpus)?),
    }
}

/// Note that a program is to run on more CPUs than it is marked for. A mark or a list that cannot
/// be read is no reason against a measurement.
pub(crate) fn note(program: &Path, cpus: u32) -> Option<String> {
    let found = find(program, &load().unwrap_or_default()).ok()??;
    let marked = found.cpus().get();
    (cpus > marked).then(|| {
        format!(
            "{} is marked for {}: it may fail on more. `morecores mark --clear {0}` removes the mark",
            program.display(),
            report::cpus(marked)
        )
    })
}
