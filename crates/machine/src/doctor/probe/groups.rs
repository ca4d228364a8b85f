//! Probe that creates cgroups as a study does, reads their counters, and removes them.

use std::fs;
use std::path::{Path, PathBuf};

use morecores_study::{CpuEstimator, CpuSet};

use crate::cgroup::{CgroupDir, CpuSource, GroupPurpose, Hierarchies, StudyGroup, Survivors, Version};
use crate::doctor::facts::{Accounting, Cpusets, Groups, PeakMark};
use crate::undo::Journal;

/// Available cgroups, and their uses.
pub(in crate::doctor) fn probe(hierarchies: &Hierarchies, usable: &CpuSet) -> Groups {
    let (accounting, peak) = probe_accounting(hierarchies);
    Groups {
        v1: !hierarchies.v1.is_empty(),
        v2: hierarchies.v2.as_ref().map(|dir| dir.mount().to_owned()),
        accounting,
        peak,
        cpusets: probe_cpusets(hierarchies, usable),
        systemd: fs::exists("/run/systemd/system").unwrap_or(false),
    }
}

fn probe_accounting(hierarchies: &Hierarchies) -> (Accounting, PeakMark) {
    let mut journal = Journal::new();
    let mut group =
        match StudyGroup::create(hierarchies, GroupPurpose::Accounting, Survivors::End, &mut journal) {
            Ok(group) => group,
            Err(error) => return (Accounting::Refused(error.to_string()), PeakMark::Absent),
        };
    group.reset_peak();
    let peak = if group.peak_memory().is_some() {
        PeakMark::Resettable
    } else if group_file(&group, "memory.peak").is_some() {
        PeakMark::Fixed
    } else {
        PeakMark::Absent
    };
    let accounting = match group_file(&group, "cgroup.type") {
        // Such a cgroup accepts no process (`Documentation/admin-guide/cgroup-v2.rst`, "Threads").
        Some(kind) if kind.trim() == "domain invalid" => Accounting::Refused(
            "the cgroup of morecores has threaded controllers, so its children take no process".to_owned(),
        ),
        _ => match group.cpu_usage() {
            Some((CpuSource::V2, _)) => Accounting::Group(CpuEstimator::Cgroup),
            Some((CpuSource::V1, _)) => Accounting::Group(CpuEstimator::CgroupV1),
            None => Accounting::Refused("the cgroup has no readable CPU counters".to_owned()),
        },
    };
    (accounting, peak)
}

/// Content of a file of the version 2 cgroup.
fn group_file(group: &StudyGroup, name: &str) -> Option<String> {
    fs::read_to_string(group.v2()?.join(name)).ok()
}

fn probe_cpusets(hierarchies: &Hierarchies, usable: &CpuSet) -> Cpusets {
    let in_v1 = hierarchies.v1.contains_key("cpuset");
    let version = if in_v1 { Version::V1 } else { Version::V2 };
    let mut journal = Journal::new();
    let result = StudyGroup::create(hierarchies, GroupPurpose::Cpuset, Survivors::End, &mut journal)
        .and_then(|group| group.set_cpus(usable));
    let Err(error) = result else { return Cpusets::Usable(version) };
    let switches = hierarchies.v2.as_ref().filter(|_| !in_v1).map(missing_switches).unwrap_or_default();
    if switches.is_empty() { Cpusets::Refused(error.to_string()) } else { Cpusets::NotEnabled(switches) }
}

/// Files in which the cpuset controller must be enabled, from the top down, so that the parent has
/// it. A cgroup beside this process's cgroup then gets the controller from the parent.
fn missing_switches(own: &CgroupDir) -> Vec<PathBuf> {
    let above: Vec<&Path> = own.ancestors().skip(1).collect();
    let switches = above.into_iter().rev().map(|dir| dir.join("cgroup.subtree_control"));
    let enabled = |file: &Path| {
        let list = fs::read_to_string(file).unwrap_or_default();
        list.split_ascii_whitespace().any(|controller| controller == "cpuset")
    };
    switches.skip_while(|file| enabled(file)).collect()
}
