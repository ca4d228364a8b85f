//! Findings about the requirements of tracing: privilege, BPF, the kernel's types and tracepoints,
//! counters.

use crate::{CheckedFacility, Finding, Remedy, State};
use morecores_study::trace::{LEAST_LINUX, Need, TRACEPOINTS};
use rustix::io::Errno;

use super::facts::{Capability, Facts, Privilege, Tracefs};
use super::remedy::{
    container_refusal, error_text, missing_capabilities, no_remedy, root_command, root_remedy,
};
use super::{fine_finding, flawed_finding, kernel_locks, probe, unknown_finding};

/// First kernel in which BPF's memory counts against the cgroup and not against the limit of locked
/// memory: commits around "bpf: Eliminate rlimit-based memory accounting", Linux 5.11.
const NO_MEMLOCK_LIMIT_SINCE: (u32, u32) = (5, 11);

/// [`LEAST_LINUX`] in words.
pub(super) const TOO_OLD: &str =
    "BPF programs trace commands and kernel locks since Linux 5.19: boot a newer kernel";

/// Command that gives the tracer its capabilities. The measured command does not inherit them, so
/// it does not become root.
const SETCAP: &str = "setcap cap_bpf,cap_perfmon,cap_syslog=ep \"$(command -v morecores)\"";

/// Findings about tracing, in the order of [`CheckedFacility`].
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    vec![
        privilege(facts),
        bpf(facts),
        btf(facts),
        tracefs(facts),
        tracepoints(facts),
        kernel_locks::finding(facts),
        samples(facts),
        own_switches(facts),
        kprobes(facts),
        fentry(facts),
        locked_memory(facts),
        hardware_counters(facts),
    ]
}

fn privilege(facts: &Facts) -> Finding {
    let what = CheckedFacility::Privilege;
    let matters = "tracing, --limit hotplug and --cold; timing needs none";
    let privilege = &facts.privilege;
    let admin = privilege.has(Capability::SysAdmin);
    let wanted = [
        ("CAP_BPF", privilege.has(Capability::Bpf) || admin),
        ("CAP_PERFMON", privilege.has(Capability::PerfMon) || admin),
        ("CAP_SYS_ADMIN", admin),
        // CAP_SYS_RESOURCE raises the limit of locked memory, if that limit still applies.
        ("CAP_SYS_RESOURCE", privilege.has(Capability::SysResource) || ignores_memlock_limit(facts)),
        ("CAP_NET_ADMIN", privilege.has(Capability::NetAdmin)),
    ];
    let missing: Vec<&str> = wanted.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let user = if privilege.root { "root" } else { "an ordinary user" };
    if missing.is_empty() {
        return fine_finding(what, format!("{user}, with every capability needed"), matters);
    }
    let fact = match missing.len() {
        _ if privilege.capabilities == 0 => format!("{user}, without capabilities"),
        _ => format!("{user}, without {}", missing.join(", ")),
    };
    let remedy = if privilege.root && !privilege.is_confined() {
        missing_capabilities()
    } else {
        root_remedy(&facts.privilege, "morecores run -- COMMAND")
    };
    flawed_finding(what, State::Limited, fact, matters, remedy)
}

fn bpf(facts: &Facts) -> Finding {
    let what = CheckedFacility::Bpf;
    let matters = "every trace";
    let is_set = facts.bpf.unprivileged_disabled.is_some_and(|level| level != 0);
    let attempt = Attempt {
        result: facts.bpf.load,
        success: "a tracing program loads",
        action: "loading a program",
        setting: if is_set { " (kernel.unprivileged_bpf_disabled is set)" } else { "" },
        permission: allow_tracing(&facts.privilege),
        lack: "the kernel was built without CONFIG_BPF_SYSCALL, or a sandbox hides it: boot one that has it",
    };
    attempt_finding(what, matters, attempt)
}

/// Result of an attempt that shows what the kernel permits.
struct Attempt<'a> {
    result: Result<(), Errno>,
    success: &'a str,
    action: &'a str,
    /// Setting behind a refusal, in parentheses, or nothing.
    setting: &'a str,
    /// Remedy for a refusal.
    permission: Remedy,
    /// Reason for any other failure, which has no remedy.
    lack: &'a str,
}

fn attempt_finding(what: CheckedFacility, matters: &str, attempt: Attempt<'_>) -> Finding {
    let action = attempt.action;
    let (fact, remedy) = match attempt.result {
        Ok(()) => return fine_finding(what, attempt.success, matters),
        Err(error @ (Errno::PERM | Errno::ACCESS)) => {
            (format!("{action} is {}{}", error_text(error), attempt.setting), attempt.permission)
        }
        Err(error) => (format!("{action}: {}", error_text(error)), no_remedy(attempt.lack)),
    };
    flawed_finding(what, State::Missing, fact, matters, remedy)
}

/// Remedy for a user who may not trace.
pub(super) fn allow_tracing(privilege: &Privilege) -> Remedy {
    if privilege.is_confined() {
        no_remedy("the container does not allow it: start it with --cap-add=BPF --cap-add=PERFMON")
    } else {
        root_remedy(privilege, SETCAP)
    }
}

fn btf(facts: &Facts) -> Finding {
    let what = CheckedFacility::Btf;
    let matters = "traces that work on any kernel without its headers";
    if facts.tracing.btf {
        return fine_finding(what, "the kernel describes its types", matters);
    }
    let why = "the kernel was built without CONFIG_DEBUG_INFO_BTF: boot one that has it";
    flawed_finding(what, State::Missing, "the kernel does not describe its types", matters, no_remedy(why))
}

fn tracefs(facts: &Facts) -> Finding {
    let what = CheckedFacility::Tracefs;
    let matters = "the list of tracepoints and the places where probes can be put";
    match facts.tracing.tracefs {
        Tracefs::Readable => fine_finding(what, "mounted and readable", matters),
        Tracefs::NotMounted => {
            let remedy = if facts.privilege.is_confined() {
                container_refusal()
            } else {
                root_command(&facts.privilege, "mount -t tracefs tracefs /sys/kernel/tracing")
            };
            flawed_finding(what, State::Limited, "not mounted", matters, remedy)
        }
        Tracefs::Closed => {
            let remedy = root_remedy(&facts.privilege, "morecores doctor");
            flawed_finding(what, State::Limited, "only root may read it", matters, remedy)
        }
        Tracefs::Absent => {
            let why = "the kernel was built without CONFIG_FTRACE, or this container hides it";
            flawed_finding(what, State::Missing, "the kernel has none", matters, no_remedy(why))
        }
    }
}

fn tracepoints(facts: &Facts) -> Finding {
    let what = CheckedFacility::Tracepoints;
    let matters = "where threads ran, what woke them, interrupts and kernel locks in a trace";
    let source = if facts.tracing.tracefs == Tracefs::Readable { "tracefs" } else { "the kernel's types" };
    match facts.tracing.missing_tracepoints.as_deref() {
        None => {
            let fact = "unknown: neither tracefs nor the kernel's types can be read";
            unknown_finding(facts, what, fact, matters)
        }
        Some([]) => fine_finding(
            what,
            format!("all {} that a trace uses, by {source}", probe::needed_tracepoints().count()),
            matters,
        ),
        Some(missing) => {
            // The tracepoints for locks came with features that no trace can do without.
            let locks = missing.iter().any(|name| name.starts_with("lock:"));
            let old = locks && parse_version(&facts.host.kernel).is_some_and(|version| version < LEAST_LINUX);
            let needed = |name: &String| {
                TRACEPOINTS
                    .iter()
                    .any(|it| it.need == Need::Every && name.ends_with(&format!(":{}", it.name)))
            };
            let state = if old || missing.iter().any(needed) { State::Missing } else { State::Limited };
            let why = if old {
                TOO_OLD
            } else {
                "the kernel was built without them (CONFIG_TRACEPOINTS, CONFIG_FTRACE_SYSCALLS): boot one that has them"
            };
            flawed_finding(what, state, format!("without {}", missing.join(", ")), matters, no_remedy(why))
        }
    }
}

fn samples(facts: &Facts) -> Finding {
    let what = CheckedFacility::Samples;
    let matters = "user and kernel time of each command in a trace, and spinning in user mode";
    let attempt = Attempt {
        result: facts.tracing.samples,
        success: "whole CPUs can be sampled by their clock",
        action: "sampling whole CPUs",
        setting: "",
        permission: allow_tracing(&facts.privilege),
        lack: NO_PERF_EVENTS,
    };
    attempt_finding(what, matters, attempt)
}

/// Reason for perf events that fail without a refusal.
const NO_PERF_EVENTS: &str =
    "the kernel was built without CONFIG_PERF_EVENTS, or a sandbox hides them: boot one that has them";

fn own_switches(facts: &Facts) -> Finding {
    let what = CheckedFacility::OwnSwitches;
    let matters =
        "traces without privilege: parallelism, serial phases and functions, but no causes of waiting";
    let attempt = Attempt {
        result: facts.tracing.own_switches,
        success: "the command's context switches can be recorded by perf events",
        action: "recording the command's context switches",
        setting: "",
        permission: allow_own_events(facts),
        lack: NO_PERF_EVENTS,
    };
    attempt_finding(what, matters, attempt)
}

/// Remedy for a user who may not open perf events of the user's own processes.
fn allow_own_events(facts: &Facts) -> Remedy {
    /// Highest setting that allows every user: `Documentation/admin-guide/sysctl/kernel.rst`.
    const MOST_PARANOID: i32 = 2;
    if facts.privilege.is_confined() {
        no_remedy("the container does not allow it: start it with --cap-add=PERFMON")
    } else if facts.counters.paranoid.is_some_and(|level| level > MOST_PARANOID) {
        root_command(&facts.privilege, format!("sysctl kernel.perf_event_paranoid={MOST_PARANOID}"))
    } else {
        no_remedy("it is not kernel.perf_event_paranoid: a seccomp filter or a security module forbids it")
    }
}

fn kprobes(facts: &Facts) -> Finding {
    let what = CheckedFacility::Kprobes;
    let matters = "looking into kernel functions that have no tracepoint";
    probe_finding(facts, what, facts.tracing.kprobes, matters, "CONFIG_KPROBE_EVENTS")
}

fn fentry(facts: &Facts) -> Finding {
    let what = CheckedFacility::Fentry;
    let matters = "looking into kernel functions at a fraction of a kprobe's cost";
    probe_finding(facts, what, facts.tracing.fentry, matters, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS")
}

fn probe_finding(
    facts: &Facts,
    what: CheckedFacility,
    is_present: Option<bool>,
    matters: &str,
    option: &str,
) -> Finding {
    match is_present {
        Some(true) => fine_finding(what, "in the kernel", matters),
        Some(false) => {
            let why = format!("the kernel was built without {option}: boot one that has it");
            flawed_finding(what, State::Missing, "not in this kernel", matters, no_remedy(why))
        }
        None => {
            let fact = "unknown: neither tracefs nor the kernel's configuration can be read";
            unknown_finding(facts, what, fact, matters)
        }
    }
}

fn locked_memory(facts: &Facts) -> Finding {
    let what = CheckedFacility::LockedMemory;
    let matters = "the buffers of a trace";
    let limit = facts.tracing.memlock.map_or_else(|| "no limit".to_owned(), |bytes| bytes.to_string());
    if ignores_memlock_limit(facts) {
        return fine_finding(what, format!("{limit}, which since Linux 5.11 does not bind BPF"), matters);
    }
    if facts.tracing.memlock.is_none() || facts.privilege.has(Capability::SysResource) {
        return fine_finding(
            what,
            format!("{limit}, enough or within the right of morecores to raise it"),
            matters,
        );
    }
    let remedy = root_command(&facts.privilege, "prlimit --pid $$ --memlock=unlimited");
    flawed_finding(
        what,
        State::Limited,
        format!("{limit}, and before Linux 5.11 BPF counts against it"),
        matters,
        remedy,
    )
}

/// Whether BPF's memory does not count as locked.
fn ignores_memlock_limit(facts: &Facts) -> bool {
    parse_version(&facts.host.kernel).is_some_and(|version| version >= NO_MEMLOCK_LIMIT_SINCE)
}

/// First two numbers of `uname -r`.
fn parse_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn hardware_counters(facts: &Facts) -> Finding {
    let what = CheckedFacility::HardwareCounters;
    let matters = "whether a slower run executed more instructions or executed them more slowly";
    let counters = &facts.counters;
    let (error, state, name) = match (counters.cycles, counters.instructions) {
        (Ok(()), Ok(())) => return fine_finding(what, "cycles and instructions count", matters),
        (Err(error), Err(_)) => (error, State::Missing, "cycles and instructions"),
        (Err(error), Ok(())) => (error, State::Limited, "cycles"),
        (Ok(()), Err(error)) => (error, State::Limited, "instructions"),
    };
    let remedy = match error {
        Errno::PERM | Errno::ACCESS => allow_own_events(facts),
        _ if facts.host.hypervisor.is_some() => no_remedy(
            "the hypervisor gives this machine no counters: its host can (\"vPMU\"), or use a machine without one",
        ),
        _ => no_remedy("this kernel knows no counters of this CPU: a newer kernel may"),
    };
    flawed_finding(what, state, format!("{name}: {}", error_text(error)), matters, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(parse_version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(parse_version("5.4-custom"), Some((5, 4)));
        assert!(
            parse_version("5.10.0") < Some(NO_MEMLOCK_LIMIT_SINCE)
                && parse_version("5.11-rc1") >= Some(NO_MEMLOCK_LIMIT_SINCE)
        );
        assert_eq!(parse_version("weird"), None);
    }
}
