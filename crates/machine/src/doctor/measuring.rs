//! Findings about the requirements of timing: CPUs, a quiet machine, counters of the tree, methods
//! of limiting CPUs.

use crate::{CheckedFacility, Finding, Remedy, State};
use morecores_study::usable::Restriction;
use morecores_study::{CpuId, CpuSet};
use rustix::io::Errno;

use super::facts::{Accounting, Capability, Cpusets, Facts, PeakMark};
use super::remedy::{
    container_refusal, error_text, no_remedy, plain_command, root_command, root_remedy, write_command,
};
use super::{fine_finding, flawed_finding};
use crate::cgroup::Version;

/// Number of CPUs that other programs may keep busy without a warning. A larger number exceeds a
/// system's idle housekeeping. `morecores run` warns from the same amount.
const MAX_BUSY_CPUS: f64 = 0.1;

/// Findings about timing, in the order of [`CheckedFacility`].
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    vec![
        usable_cpus(facts),
        quiet(facts),
        cpu_time(facts),
        peak_memory(facts),
        limit_cpuset(facts),
        limit_hotplug(facts),
        cold_cache(facts),
        taskstats(facts),
    ]
}

fn usable_cpus(facts: &Facts) -> Finding {
    let what = CheckedFacility::UsableCpus;
    let matters = "the largest CPU count at full speed";
    let topology = &facts.host.topology;
    let usable = &topology.usable;
    let fact = format!("{} of {}: {}", usable.count, topology.present.len(), usable.cpus);
    let reasons: Vec<String> = usable.binding_restrictions().map(ToString::to_string).collect();
    let Some(first) = usable.binding_restrictions().next() else { return fine_finding(what, fact, matters) };
    let remedy = restriction_remedy(facts, first);
    flawed_finding(what, State::Limited, format!("{fact}; {}", reasons.join("; ")), matters, remedy)
}

/// Lifts the first restriction; the next diagnosis shows the others.
fn restriction_remedy(facts: &Facts, restriction: &Restriction) -> Remedy {
    let online = &facts.host.topology.online;
    let hidden = facts.privilege.is_confined();
    let fewer_cpus = "this container was started with fewer CPUs: start it with more";
    match restriction {
        Restriction::Offline { smt_off: true, .. } => {
            write_command(&facts.privilege, "on", "/sys/devices/system/cpu/smt/control")
        }
        Restriction::Offline { cpus, .. } => write_command(&facts.privilege, "1", &online_files(cpus)),
        // The command changes the shell's affinity, which its commands inherit.
        Restriction::Affinity { .. } => plain_command(format!("taskset -pc {online} $$")),
        Restriction::Cpuset { .. } | Restriction::Quota { .. } if hidden => no_remedy(fewer_cpus),
        // The read file may only report the effective CPUs; the writable file is in the same
        // directory.
        Restriction::Cpuset { file, .. } => {
            let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
            write_command(&facts.privilege, &online.to_string(), &format!("{directory}/cpuset.cpus"))
        }
        Restriction::Quota { file, .. } => {
            let none = if file.ends_with("cpu.max") { "max" } else { "-1" };
            write_command(&facts.privilege, none, file)
        }
        Restriction::Isolated { .. } | Restriction::NotBalanced { .. } | Restriction::NohzFull { .. } => {
            no_remedy("it takes no CPU away")
        }
    }
}

/// Switch files of some CPUs, as a shell pattern.
fn online_files(cpus: &CpuSet) -> String {
    let all: Vec<String> = cpus.iter().map(|cpu| cpu.to_string()).collect();
    let names = if all.len() == 1 { all.concat() } else { format!("{{{}}}", all.join(",")) };
    format!("/sys/devices/system/cpu/cpu{names}/online")
}

fn quiet(facts: &Facts) -> Finding {
    let what = CheckedFacility::Quiet;
    let matters = "every measured time: other programs slow the command down and add noise";
    let quiet = &facts.quiet;
    let watched = quiet.watched_ns.as_secs_f64().max(f64::MIN_POSITIVE);
    let busy = quiet.busy_ns.as_secs_f64() / watched;
    let stolen = quiet.steal_ns.as_secs_f64() / watched;
    let steal = if stolen > 0.0 { format!(", a hypervisor took {stolen:.2}") } else { String::new() };
    let all = facts.host.topology.online.len();
    let kept = format!("others kept {busy:.2} of {all} CPUs busy");
    if busy <= MAX_BUSY_CPUS {
        return fine_finding(what, format!("{kept} for {watched:.1} s{steal}"), matters);
    }
    let disturbers = facts.other_programs.iter().filter(|program| program.is_good_part_of(quiet.busy_ns));
    let names: Vec<&str> = disturbers.map(|program| program.name.as_str()).collect();
    let disturbers = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let remedy =
        no_remedy("stop the other programs or wait for their end, then run `morecores doctor` again");
    flawed_finding(what, State::Limited, format!("{kept}{disturbers}{steal}"), matters, remedy)
}

fn cpu_time(facts: &Facts) -> Finding {
    let what = CheckedFacility::CpuTime;
    let matters = "user and system time of short processes, and of processes without a waiting parent";
    match &facts.groups.accounting {
        Accounting::Group(estimator) => fine_finding(
            what,
            format!("counted by a cgroup of the command's own ({})", estimator.name()),
            matters,
        ),
        Accounting::Refused(why) => flawed_finding(
            what,
            State::Limited,
            format!("by getrusage only: {why}"),
            matters,
            cgroup_remedy(facts),
        ),
    }
}

/// Remedy that gives the process a cgroup in which it may create others.
fn cgroup_remedy(facts: &Facts) -> Remedy {
    let privilege = &facts.privilege;
    if privilege.is_confined() {
        no_remedy(
            "this container may not make cgroups: start it with a writable /sys/fs/cgroup (--privileged)",
        )
    } else if !facts.groups.v1 && facts.groups.v2.is_none() {
        root_command(&facts.privilege, "mount -t cgroup2 cgroup2 /sys/fs/cgroup")
    } else if facts.groups.v2.is_some() && facts.groups.systemd {
        // An ordinary user needs the service manager of their own session.
        let user = if privilege.root { "" } else { "--user " };
        plain_command(format!("systemd-run {user}--scope -p Delegate=yes morecores run -- COMMAND"))
    } else {
        root_remedy(&facts.privilege, "morecores run -- COMMAND")
    }
}

fn peak_memory(facts: &Facts) -> Finding {
    let what = CheckedFacility::PeakMemory;
    let matters = "the peak memory of all processes together; that of the largest one is always known";
    match (facts.groups.peak, &facts.groups.accounting) {
        (PeakMark::Resettable, _) => {
            fine_finding(what, "reported by the cgroup, reset before each run", matters)
        }
        (PeakMark::Fixed, _) => flawed_finding(
            what,
            State::Limited,
            "reported by the cgroup only for a run that needs more than all earlier runs",
            matters,
            no_remedy("Linux 6.12 and later can reset the mark: boot a newer kernel"),
        ),
        (PeakMark::Absent, Accounting::Refused(_)) => flawed_finding(
            what,
            State::Missing,
            "no cgroup of the command's own",
            matters,
            cgroup_remedy(facts),
        ),
        (PeakMark::Absent, Accounting::Group(_)) => flawed_finding(
            what,
            State::Missing,
            "no cgroup passes its memory controller on to the command's cgroup",
            matters,
            match &facts.groups.v2 {
                Some(mount)
                    if facts.privilege.root && !facts.groups.systemd && !facts.privilege.is_confined() =>
                {
                    write_command(
                        &facts.privilege,
                        "+memory",
                        &mount.join("cgroup.subtree_control").display().to_string(),
                    )
                }
                _ => cgroup_remedy(facts),
            },
        ),
    }
}

fn limit_cpuset(facts: &Facts) -> Finding {
    let what = CheckedFacility::LimitCpuset;
    let matters = "--limit cpuset, which a program cannot leave, unlike an affinity";
    let version = |version: &Version| match version {
        Version::V1 => 1,
        Version::V2 => 2,
    };
    match &facts.groups.cpusets {
        Cpusets::Usable(v) => fine_finding(what, format!("usable, cgroup version {}", version(v)), matters),
        Cpusets::NotEnabled(files) => {
            let fact = "the cpuset controller is not available in the cgroup of morecores";
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let remedy = if facts.privilege.is_confined() {
                container_refusal()
            } else {
                write_command(&facts.privilege, "+cpuset", &files.join(" "))
            };
            flawed_finding(what, State::Missing, fact, matters, remedy)
        }
        Cpusets::Refused(why) => {
            let remedy = root_remedy(&facts.privilege, "morecores run --limit cpuset -- COMMAND");
            flawed_finding(what, State::Missing, why.clone(), matters, remedy)
        }
    }
}

fn limit_hotplug(facts: &Facts) -> Finding {
    let what = CheckedFacility::LimitHotplug;
    let matters =
        "--limit hotplug, which alone keeps the other CPUs from helping with interrupts and kernel threads";
    let online = &facts.host.topology.online;
    if online.len() < 2 {
        return flawed_finding(
            what,
            State::Missing,
            "there is only one CPU",
            matters,
            no_remedy("nothing to switch off"),
        );
    }
    if !facts.hotplug.fixed.is_empty() {
        let fact = format!("CPUs without a switch: {}", facts.hotplug.fixed);
        let why = "this kernel or hypervisor cannot take CPUs offline: use --limit cpuset";
        return flawed_finding(what, State::Missing, fact, matters, no_remedy(why));
    }
    if facts.privilege.root && facts.hotplug.writable {
        let others = online.iter().filter(|cpu| *cpu != CpuId(0)).collect::<CpuSet>();
        let noun = if others.len() == 1 { "CPU" } else { "CPUs" };
        return fine_finding(what, format!("{noun} {others} can be taken offline"), matters);
    }
    let remedy = root_remedy(&facts.privilege, "morecores run --limit hotplug -- COMMAND");
    flawed_finding(what, State::Missing, "only root may take CPUs offline", matters, remedy)
}

fn cold_cache(facts: &Facts) -> Finding {
    let what = CheckedFacility::ColdCache;
    let matters = "--cold, which measures from an empty page cache";
    if facts.settings.drop_caches {
        return fine_finding(what, "the page cache can be dropped", matters);
    }
    let remedy = root_remedy(&facts.privilege, "morecores run --cold -- COMMAND");
    flawed_finding(what, State::Missing, "only root may drop the page cache", matters, remedy)
}

fn taskstats(facts: &Facts) -> Finding {
    let what = CheckedFacility::Taskstats;
    let matters = "raw times and delays of every process at its exit";
    match facts.settings.taskstats {
        Ok(()) if facts.privilege.has(Capability::NetAdmin) => {
            fine_finding(what, "reported by the kernel", matters)
        }
        Ok(()) => {
            let remedy = root_remedy(&facts.privilege, "morecores run -- COMMAND");
            flawed_finding(
                what,
                State::Missing,
                "reported by the kernel to CAP_NET_ADMIN only",
                matters,
                remedy,
            )
        }
        Err(Errno::NOENT) => {
            let why = "the kernel was built without CONFIG_TASKSTATS: boot one that has it";
            flawed_finding(what, State::Missing, "the kernel does not report them", matters, no_remedy(why))
        }
        Err(error) => {
            let why = "generic netlink is not available, as in some sandboxes";
            flawed_finding(what, State::Missing, error_text(error), matters, no_remedy(why))
        }
    }
}
