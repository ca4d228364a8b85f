//! Restrictions that keep CPUs, or time on CPUs, from a command: offline CPUs, cpusets, affinity,
//! quotas.
//!
//! The usable count is the minimum over all restrictions. Each restriction is kept with the file
//! that states it.

use std::collections::BTreeSet;
use std::path::Path;

use morecores_study::usable::{CgroupLevel, Quota, Restriction, Usable};
use morecores_study::{CpuSet, Nanos};

use super::{CPUS, read_number, read_set};
use crate::cgroup::{CgroupDir, Hierarchies, Version};
use crate::kernel_files::Tree;

const STATUS: &str = "/proc/self/status";

/// Collects every restriction on this process.
pub(super) fn read_usable(tree: &mut Tree, online: &CpuSet, offline: &CpuSet) -> Usable {
    // Only these two controllers restrict CPUs. A recording must not name more cgroups than it
    // needs.
    let cgroups = Hierarchies::read(tree, |name| matches!(name, "cpu" | "cpuset"));
    note_hidden(tree, &cgroups);
    let mut restrictions = Vec::new();
    if !offline.is_empty() {
        let control = tree.read(format!("{CPUS}/smt/control"));
        let smt_off = matches!(control.as_deref(), Some("off" | "forceoff"));
        restrictions.push(Restriction::Offline { cpus: offline.clone(), smt_off });
    }

    let (allowed, cpusets) = read_cpusets(tree, &cgroups, online);
    restrictions.extend(cpusets);
    let cpus = match read_affinity(tree) {
        Some(mask) => mask.intersection(&allowed),
        None => {
            tree.note(STATUS, "no Cpus_allowed_list, so the affinity mask counts as all CPUs");
            allowed.clone()
        }
    };
    // The kernel reduces the mask to the cpuset, so only a further reduction is the mask's own.
    if cpus != allowed {
        restrictions.push(Restriction::Affinity { cpus: cpus.clone() });
    }

    let quotas = read_quotas(tree, &cgroups);
    let tightest = quotas.iter().map(|(_, quota)| *quota).min_by(|a, b| a.cpus().total_cmp(&b.cpus()));
    restrictions.extend(quotas.into_iter().map(|(restriction, _)| restriction));
    restrictions.extend(informative_restrictions(tree, online));
    restrictions.extend(balance_restriction(tree, &cgroups, &cpus));

    Usable {
        count: tightest.map_or(cpus.len(), |quota| cpus.len().min(quota.whole_cpus())),
        cpus,
        quota_cpus: tightest.map(Quota::cpus),
        restrictions,
    }
}

/// CPUs on which the scheduler may run this process, from `/proc/self/status`.
///
/// `sched_getaffinity` would describe this machine even if `tree` describes another one.
pub(super) fn read_affinity(tree: &mut Tree) -> Option<CpuSet> {
    let line = tree.read_lines(STATUS, |line| line.starts_with("Cpus_allowed_list:"))?;
    line.split_once(':')?.1.parse().ok()
}

/// Online CPUs that the process's cpuset allows, and the cpusets that do not allow all of them.
///
/// The nearest cgroup that has a cpuset decides; the cgroups above it explain the decision. In
/// version 2 a partition takes CPUs *out* of its parent. The sets must therefore not be
/// intersected, and a parent that does not include its child's CPUs does not restrict the child.
fn read_cpusets(tree: &mut Tree, cgroups: &Hierarchies, online: &CpuSet) -> (CpuSet, Vec<Restriction>) {
    let Some(cgroup) = cgroups.controller("cpuset") else {
        return (online.clone(), Vec::new());
    };
    let names: &[&str] = match cgroup.version() {
        // The first file holds the CPUs of the second that are online.
        Version::V1 => &["cpuset.effective_cpus", "cpuset.cpus"],
        Version::V2 => &["cpuset.cpus.effective"],
    };
    let mut allowed: Option<CpuSet> = None;
    let mut restrictions = Vec::new();
    for (level, dir) in levels(cgroup) {
        let found = names.iter().find_map(|name| {
            let file = dir.join(name);
            let cpus = read_set(tree, &file)?.intersection(online);
            (!cpus.is_empty()).then_some((file, cpus))
        });
        let Some((file, cpus)) = found else { continue };
        let holds = allowed.get_or_insert_with(|| cpus.clone());
        if holds.is_subset(&cpus) && cpus != *online {
            restrictions.push(Restriction::Cpuset { level, cpus, file: file.display().to_string() });
        }
    }
    (allowed.unwrap_or_else(|| online.clone()), restrictions)
}

/// Quotas of the process's cgroup and of each cgroup above it. All of them apply at once.
fn read_quotas(tree: &mut Tree, cgroups: &Hierarchies) -> Vec<(Restriction, Quota)> {
    let Some(cgroup) = cgroups.controller("cpu") else {
        return Vec::new();
    };
    levels(cgroup)
        .filter_map(|(level, dir)| {
            let (file, quota) = match cgroup.version() {
                Version::V1 => read_quota_v1(tree, dir)?,
                Version::V2 => read_quota_v2(tree, dir)?,
            };
            Some((Restriction::Quota { level, quota, file }, quota))
        })
        .collect()
}

/// Quota of version 1, from `Documentation/scheduler/sched-bwc.rst`: microseconds in two files; -1
/// means no quota.
fn read_quota_v1(tree: &mut Tree, dir: &Path) -> Option<(String, Quota)> {
    let file = dir.join("cpu.cfs_quota_us");
    let time = tree.read(&file)?;
    let period = tree.read(dir.join("cpu.cfs_period_us"))?;
    Some((file.display().to_string(), parse_quota(&time, &period)?))
}

/// Quota of version 2, from `Documentation/admin-guide/cgroup-v2.rst`, cpu.max: `$MAX $PERIOD` in
/// microseconds; `max` means no quota.
fn read_quota_v2(tree: &mut Tree, dir: &Path) -> Option<(String, Quota)> {
    let file = dir.join("cpu.max");
    let text = tree.read(&file)?;
    let (time, period) = text.split_once(' ')?;
    Some((file.display().to_string(), parse_quota(time, period)?))
}

fn parse_quota(time_us: &str, period_us: &str) -> Option<Quota> {
    // Neither `max` nor -1 is an unsigned number.
    let time = Nanos::from_micros(time_us.trim().parse().ok()?);
    let period = Nanos::from_micros(period_us.trim().parse().ok()?);
    (period > Nanos::ZERO).then_some(Quota { time, period })
}

/// The process's cgroup and each cgroup above it, with its distance in levels.
fn levels(cgroup: &CgroupDir) -> impl Iterator<Item = (CgroupLevel, &Path)> {
    (0..).map(CgroupLevel).zip(cgroup.ancestors())
}

/// Notes each mount that hides cgroups which may limit CPUs further.
fn note_hidden(tree: &mut Tree, cgroups: &Hierarchies) {
    let dirs = ["cpu", "cpuset"].into_iter().filter_map(|name| cgroups.controller(name));
    let hidden: BTreeSet<&Path> = dirs.filter(|dir| !dir.sees_root()).map(CgroupDir::mount).collect();
    for mount in hidden {
        tree.note(mount, "cgroups above it are hidden, as in a container; they may allow fewer CPUs");
    }
}

/// Kernel options that change which work runs on a CPU, without forbidding the CPU to anyone.
fn informative_restrictions(tree: &mut Tree, online: &CpuSet) -> Vec<Restriction> {
    let mut read_cpus = |name: &str| {
        let cpus = read_set(tree, format!("{CPUS}/{name}")).unwrap_or_default().intersection(online);
        (!cpus.is_empty()).then_some(cpus)
    };
    let isolated = read_cpus("isolated").map(|cpus| Restriction::Isolated { cpus });
    let nohz_full = read_cpus("nohz_full").map(|cpus| Restriction::NohzFull { cpus });
    isolated.into_iter().chain(nohz_full).collect()
}

/// CPUs that the scheduler does not balance, because no cpuset of version 1 asks for it.
///
/// The scheduler balances the CPUs of each cpuset that has `sched_load_balance` on. One such cpuset
/// on the way to the root is therefore enough (cpuset(7), and `generate_sched_domains` in
/// `kernel/cgroup/cpuset-v1.c`). The function does not examine sibling cpusets. The result is
/// `None` if the root is not visible. In version 2, the list of isolated CPUs includes an isolated
/// partition.
fn balance_restriction(tree: &mut Tree, cgroups: &Hierarchies, cpus: &CpuSet) -> Option<Restriction> {
    let cgroup = cgroups.controller("cpuset")?;
    if cgroup.version() != Version::V1 || !cgroup.sees_root() {
        return None;
    }
    let flags: Vec<_> = levels(cgroup)
        .filter_map(|(_, dir)| {
            let file = dir.join("cpuset.sched_load_balance");
            Some((read_number(tree, &file)?, file))
        })
        .collect();
    let (_, own) = flags.first()?;
    let off = flags.iter().all(|(balanced, _)| *balanced == 0);
    off.then(|| Restriction::NotBalanced { cpus: cpus.clone(), file: own.display().to_string() })
}
