//! Cores, clusters, dies and packages, from `cpuN/topology`.
//!
//! Only online CPUs have that directory. The kernel renamed some files in 5.3 (`core_siblings_list` became
//! `package_cpus_list`, `thread_siblings_list` became `core_cpus_list`); both names are read.

use std::collections::{BTreeMap, BTreeSet};

use morecores_study::{Core, CpuId, CpuSet, Kilohertz, Package};

use super::{CPUS, number, set};
use crate::tree::Tree;

/// The cores of the online CPUs, by lowest CPU, not yet told apart by type.
pub(super) fn cores(tree: &mut Tree, online: &CpuSet) -> Vec<Core> {
    let (sets, unknown) = partition(tree, online, &["core_cpus_list", "thread_siblings_list"]);
    if !unknown.is_empty() {
        let why = format!("no siblings told for CPUs {unknown}; each counts as a core of its own");
        tree.note(format!("{CPUS}/cpu{{{unknown}}}/topology/core_cpus_list"), why);
    }
    sets.into_iter()
        .map(|cpus| {
            let rates = cpus.iter().filter_map(|cpu| {
                number(tree, format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq")).map(Kilohertz)
            });
            Core { max_frequency: rates.max(), core_type: 0, cpus }
        })
        .collect()
}

/// Packages; then dies and clusters where those say something that packages and cores do not.
pub(super) fn groups(tree: &mut Tree, online: &CpuSet) -> (Vec<Package>, Vec<CpuSet>, Vec<CpuSet>) {
    let packages = packages(tree, online);
    let package_sets: BTreeSet<&CpuSet> = packages.iter().map(|p| &p.cpus).collect();
    let mut finer = |file: &str| -> Vec<CpuSet> {
        let (sets, unknown) = partition(tree, online, &[file]);
        let finer = unknown.is_empty() && sets.iter().any(|set| !package_sets.contains(set));
        if finer { sets } else { Vec::new() }
    };
    let dies = finer("die_cpus_list");
    let mut clusters = finer("cluster_cpus_list");
    // A cluster of one core is what x86 calls a core with an L2 cache of its own.
    let (cores, _) = partition(tree, online, &["core_cpus_list", "thread_siblings_list"]);
    if clusters.iter().all(|cluster| cores.contains(cluster)) {
        clusters.clear();
    }
    (packages, dies, clusters)
}

/// Packages by number. CPUs without one form a package without a number: a machine has at least one.
fn packages(tree: &mut Tree, online: &CpuSet) -> Vec<Package> {
    let mut by_id: BTreeMap<Option<u32>, CpuSet> = BTreeMap::new();
    for cpu in online.iter() {
        let id = number(tree, format!("{CPUS}/cpu{cpu}/topology/physical_package_id"));
        by_id.entry(id.and_then(|id| u32::try_from(id).ok())).or_default().insert(cpu);
    }
    if let Some(cpus) = by_id.get(&None) {
        let why = format!("no package told for CPUs {cpus}; they count as one package");
        tree.note(format!("{CPUS}/cpu{{{cpus}}}/topology/physical_package_id"), why);
    }
    by_id.into_iter().map(|(id, cpus)| Package { id, cpus }).collect()
}

/// The distinct sets that the first readable of `files` gives for each CPU, cut down to the online CPUs, by
/// lowest CPU; and the CPUs for which there is none, each a set of its own.
///
/// A CPU is put in one set only, the first that names it: files read while a CPU is switched off may
/// disagree.
fn partition(tree: &mut Tree, online: &CpuSet, files: &[&str]) -> (Vec<CpuSet>, CpuSet) {
    let mut sets = Vec::new();
    let mut placed = CpuSet::new();
    let mut unknown = CpuSet::new();
    for cpu in online.iter() {
        let told = siblings(tree, cpu, files);
        if placed.contains(cpu) {
            continue;
        }
        let mut members = told.map(|set| set.intersection(online).difference(&placed)).unwrap_or_default();
        if members.is_empty() {
            unknown.insert(cpu);
        }
        members.insert(cpu);
        placed = placed.union(&members);
        sets.push(members);
    }
    (sets, unknown)
}

fn siblings(tree: &mut Tree, cpu: CpuId, files: &[&str]) -> Option<CpuSet> {
    files.iter().find_map(|file| set(tree, format!("{CPUS}/cpu{cpu}/topology/{file}")))
}
