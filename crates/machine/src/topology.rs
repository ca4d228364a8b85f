//! Topology of this machine: its CPUs, and the CPUs that a command may use.
//!
//! This module only reads. [`crate::placement`] decides the order in which CPUs are used, and the
//! report prints. Containers, virtual machines and architectures differ, so missing information is
//! left out or noted in [`Topology::unread`]. Reading a topology never fails.

mod caches;
mod core_types;
mod cores;
mod nodes;
mod recording;
mod restrictions;

use std::path::Path;

use morecores_study::topology::Topology;
use morecores_study::{CpuId, CpuSet};

pub use recording::{Recording, RecordingError};

use crate::kernel_files::Tree;

/// Directory in which the kernel describes CPUs:
/// `Documentation/ABI/testing/sysfs-devices-system-cpu`.
const CPUS: &str = "/sys/devices/system/cpu";

/// Reads the topology of the running machine, as this process sees it.
pub fn read() -> Topology {
    read_from(&mut Tree::live())
}

/// Reads the topology that a tree of files describes.
pub fn read_from(tree: &mut Tree) -> Topology {
    let online = read_online(tree);
    let possible = read_set(tree, format!("{CPUS}/possible")).unwrap_or_else(|| online.clone());
    let present =
        read_set(tree, format!("{CPUS}/present")).unwrap_or_else(|| possible.clone()).union(&online);

    let (packages, dies, clusters) = cores::read_groups(tree, &online);
    let mut cores = cores::read_cores(tree, &online);
    let core_types = core_types::classify(tree, &online, &mut cores);
    let nodes = nodes::read(tree, &online);
    let caches = caches::read(tree, &online);
    let offline = present.difference(&online);
    let usable = restrictions::read_usable(tree, &online, &offline);
    Topology {
        possible,
        offline,
        present,
        online,
        packages,
        nodes,
        dies,
        clusters,
        cores,
        core_types,
        caches,
        usable,
        unread: tree.unread().to_vec(),
    }
}

/// CPUs that the scheduler uses; the CPUs of the affinity mask if sysfs does not list them.
fn read_online(tree: &mut Tree) -> CpuSet {
    let path = format!("{CPUS}/online");
    if let Some(online) = read_set(tree, &path).filter(|online| !online.is_empty()) {
        return online;
    }
    let allowed = restrictions::read_affinity(tree).unwrap_or_else(|| CpuSet::from_iter([CpuId(0)]));
    tree.note(
        &path,
        format!("missing, so the CPUs of the affinity mask, {allowed}, count as all CPUs of the machine"),
    );
    allowed
}

/// Reads a file that holds a CPU list, and notes a list that cannot be parsed.
fn read_set(tree: &mut Tree, path: impl AsRef<Path>) -> Option<CpuSet> {
    let text = tree.read(path.as_ref())?;
    // `nohz_full` prints this text if the boot option was not given.
    if text.trim() == "(null)" {
        return Some(CpuSet::new());
    }
    let parsed = text.parse();
    if let Err(error) = &parsed {
        tree.note(path, format!("{error}"));
    }
    parsed.ok()
}

/// Reads a file that holds a number; `None` also for -1, the kernel's value for "unknown".
fn read_number(tree: &mut Tree, path: impl AsRef<Path>) -> Option<u64> {
    tree.read(path)?.trim().parse().ok()
}
