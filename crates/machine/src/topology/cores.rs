//! Cores, clusters, dies and packages, from `cpuN/topology`.
//!
//! Only online CPUs have that directory. The kernel renamed some files in 5.3 (`core_siblings_list`
//! became `package_cpus_list`, `thread_siblings_list` became `core_cpus_list`). The reader accepts
//! both names.

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::topology::{Core, Package};
use morecores_study::{CpuId, CpuSet, Kilohertz};

use super::{CPUS, read_number, read_set};
use crate::kernel_files::Tree;

/// Cores of the online CPUs, by lowest CPU. All have type 0 until [`super::core_types`] sets it.
pub(super) fn read_cores(tree: &mut Tree, online: &CpuSet) -> Vec<Core> {
    let (sets, unknown) = partition(tree, online, &["core_cpus_list", "thread_siblings_list"]);
    if !unknown.is_empty() {
        let why = format!("no siblings known for CPUs {unknown}; each counts as a core of its own");
        tree.note(format!("{CPUS}/cpu{{{unknown}}}/topology/core_cpus_list"), why);
    }
    sets.into_iter()
        .map(|cpus| {
            let rates = cpus.iter().filter_map(|cpu| {
                read_number(tree, format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq")).map(Kilohertz)
            });
            Core { max_frequency: rates.max(), core_type: 0, cpus }
        })
        .collect()
}

/// Packages, dies and clusters. Dies and clusters are empty if they add nothing to packages and
/// cores.
pub(super) fn read_groups(tree: &mut Tree, online: &CpuSet) -> (Vec<Package>, Vec<CpuSet>, Vec<CpuSet>) {
    let packages = read_packages(tree, online);
    let package_sets: BTreeSet<&CpuSet> = packages.iter().map(|p| &p.cpus).collect();
    let mut finer_sets = |file: &str| -> Vec<CpuSet> {
        let (sets, unknown) = partition(tree, online, &[file]);
        let is_finer = unknown.is_empty() && sets.iter().any(|set| !package_sets.contains(set));
        if is_finer { sets } else { Vec::new() }
    };
    let dies = finer_sets("die_cpus_list");
    let mut clusters = finer_sets("cluster_cpus_list");
    // On x86, a cluster of one core is a core with an L2 cache of its own.
    let (cores, _) = partition(tree, online, &["core_cpus_list", "thread_siblings_list"]);
    if clusters.iter().all(|cluster| cores.contains(cluster)) {
        clusters.clear();
    }
    (packages, dies, clusters)
}

/// Packages by number. CPUs without a package number form one package without a number, because a
/// machine has at least one package.
fn read_packages(tree: &mut Tree, online: &CpuSet) -> Vec<Package> {
    let mut by_id: BTreeMap<Option<u32>, CpuSet> = BTreeMap::new();
    for cpu in online.iter() {
        let id = read_number(tree, format!("{CPUS}/cpu{cpu}/topology/physical_package_id"));
        by_id.entry(id.and_then(|id| u32::try_from(id).ok())).or_default().insert(cpu);
    }
    if let Some(cpus) = by_id.get(&None) {
        let why = format!("no package known for CPUs {cpus}; they count as one package");
        tree.note(format!("{CPUS}/cpu{{{cpus}}}/topology/physical_package_id"), why);
    }
    by_id.into_iter().map(|(id, cpus)| Package { id, cpus }).collect()
}

/// Partition of the online CPUs by the first readable file of `files`, sorted by lowest CPU, and
/// the CPUs without such a file.
///
/// A CPU without a file forms a set of its own. Each CPU belongs only to the first set that names
/// it, because files that are read while a CPU goes offline may disagree.
fn partition(tree: &mut Tree, online: &CpuSet, files: &[&str]) -> (Vec<CpuSet>, CpuSet) {
    let mut sets = Vec::new();
    let mut placed = CpuSet::new();
    let mut unknown = CpuSet::new();
    for cpu in online.iter() {
        let listed = read_siblings(tree, cpu, files);
        if placed.contains(cpu) {
            continue;
        }
        let mut members = listed.map(|set| set.intersection(online).difference(&placed)).unwrap_or_default();
        if members.is_empty() {
            unknown.insert(cpu);
        }
        members.insert(cpu);
        placed = placed.union(&members);
        sets.push(members);
    }
    (sets, unknown)
}

fn read_siblings(tree: &mut Tree, cpu: CpuId, files: &[&str]) -> Option<CpuSet> {
    files.iter().find_map(|file| read_set(tree, format!("{CPUS}/cpu{cpu}/topology/{file}")))
}
