//! Findings about the requirements of tracing: privilege, BPF, the kernel's types and tracepoints,
//! counters.

use crate::{Finding, Remedy, State, Subject};
use morecores_study::trace::{LEAST_LINUX, Need, TRACEPOINTS};
use rustix::io::Errno;

use super::facts::{Capability, Facts, Privilege, Tracefs};
use super::remedy::{as_root, by_root, nothing, outside, said, taken_away};
use super::{fine, flaw, kernel_locks, probe};

/// First kernel in which BPF's memory counts against the cgroup and not against the limit of locked
/// memory: commits around "bpf: Eliminate rlimit-based memory accounting", Linux 5.11.
const UNLOCKED: (u32, u32) = (5, 11);

/// [`LEAST_LINUX`] in words.
pub(super) const TOO_OLD: &str =
    "BPF programs trace commands and kernel locks since Linux 5.19: boot a newer kernel";

/// Command that gives the tracer its capabilities. The measured command does not inherit them, so
/// it does not become root.
const SETCAP: &str = "setcap cap_bpf,cap_perfmon,cap_syslog=ep \"$(command -v morecores)\"";

/// Findings about tracing, in the order of [`Subject`].
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
    let what = Subject::Privilege;
    let matters = "tracing, --limit hotplug and --cold; timing needs none";
    let privilege = &facts.privilege;
    let admin = privilege.has(Capability::SysAdmin);
    let wanted = [
        ("CAP_BPF", privilege.has(Capability::Bpf) || admin),
        ("CAP_PERFMON", privilege.has(Capability::PerfMon) || admin),
        ("CAP_SYS_ADMIN", admin),
        // CAP_SYS_RESOURCE raises the limit of locked memory, if that limit still applies.
        ("CAP_SYS_RESOURCE", privilege.has(Capability::SysResource) || unlocked(facts)),
        ("CAP_NET_ADMIN", privilege.has(Capability::NetAdmin)),
    ];
    let lacking: Vec<&str> = wanted.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let user = if privilege.root { "root" } else { "an ordinary user" };
    if lacking.is_empty() {
        return fine(what, format!("{user}, with every capability needed"), matters);
    }
    let fact = match lacking.len() {
        _ if privilege.capabilities == 0 => format!("{user}, without capabilities"),
        _ => format!("{user}, without {}", lacking.join(", ")),
    };
    let remedy = if privilege.root && !privilege.confined() {
        taken_away()
    } else {
        by_root(&facts.privilege, "morecores run -- COMMAND")
    };
    flaw(what, State::Limited, fact, matters, remedy)
}

fn bpf(facts: &Facts) -> Finding {
    let what = Subject::Bpf;
    let matters = "every trace";
    match facts.bpf.load {
        Ok(()) => fine(what, "a tracing program loads", matters),
        Err(error @ (Errno::PERM | Errno::ACCESS)) => {
            let unprivileged = match facts.bpf.unprivileged_disabled {
                Some(0) => "",
                Some(_) => " (kernel.unprivileged_bpf_disabled is set)",
                None => "",
            };
            let fact = format!("loading a program is {}{unprivileged}", said(error));
            flaw(what, State::Missing, fact, matters, allow_tracing(&facts.privilege))
        }
        Err(error) => {
            let why = "the kernel was built without CONFIG_BPF_SYSCALL, or a sandbox hides it: boot one that has it";
            flaw(what, State::Missing, format!("loading a program: {}", said(error)), matters, nothing(why))
        }
    }
}

/// Remedy for a user who may not trace.
pub(super) fn allow_tracing(privilege: &Privilege) -> Remedy {
    if privilege.confined() {
        nothing("this container may not: start it with --cap-add=BPF --cap-add=PERFMON")
    } else {
        by_root(privilege, SETCAP)
    }
}

fn btf(facts: &Facts) -> Finding {
    let what = Subject::Btf;
    let matters = "traces that work on any kernel without its headers";
    if facts.tracing.btf {
        return fine(what, "the kernel describes its types", matters);
    }
    let why = "the kernel was built without CONFIG_DEBUG_INFO_BTF: boot one that has it";
    flaw(what, State::Missing, "the kernel does not describe its types", matters, nothing(why))
}

fn tracefs(facts: &Facts) -> Finding {
    let what = Subject::Tracefs;
    let matters = "the list of tracepoints and the places where probes can be put";
    match facts.tracing.tracefs {
        Tracefs::Readable => fine(what, "mounted and readable", matters),
        Tracefs::NotMounted => {
            let remedy = if facts.privilege.confined() {
                outside()
            } else {
                as_root(&facts.privilege, "mount -t tracefs tracefs /sys/kernel/tracing")
            };
            flaw(what, State::Limited, "not mounted", matters, remedy)
        }
        Tracefs::Closed => {
            let remedy = by_root(&facts.privilege, "morecores doctor");
            flaw(what, State::Limited, "only root may read it", matters, remedy)
        }
        Tracefs::Absent => {
            let why = "the kernel was built without CONFIG_FTRACE, or this container hides it";
            flaw(what, State::Missing, "the kernel has none", matters, nothing(why))
        }
    }
}

fn tracepoints(facts: &Facts) -> Finding {
    let what = Subject::Tracepoints;
    let matters = "who ran where, who woke whom, interrupts and kernel locks in a trace";
    let source = if facts.tracing.tracefs == Tracefs::Readable { "tracefs" } else { "the kernel's types" };
    match facts.tracing.missing_tracepoints.as_deref() {
        None => {
            let fact = "unknown: neither tracefs nor the kernel's types can be read";
            flaw(what, State::Limited, fact, matters, by_root(&facts.privilege, "morecores doctor"))
        }
        Some([]) => {
            fine(what, format!("all {} that a trace uses, by {source}", probe::wanted().count()), matters)
        }
        Some(missing) => {
            // The tracepoints for locks came with features that no trace can do without.
            let locks = missing.iter().any(|name| name.starts_with("lock:"));
            let old = locks && version(&facts.host.kernel).is_some_and(|version| version < LEAST_LINUX);
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
            flaw(what, state, format!("without {}", missing.join(", ")), matters, nothing(why))
        }
    }
}

fn samples(facts: &Facts) -> Finding {
    let what = Subject::Samples;
    let matters = "user against kernel time of each command in a trace, and spinning in user mode";
    match facts.tracing.samples {
        Ok(()) => fine(what, "whole CPUs can be sampled by their clock", matters),
        Err(error @ (Errno::PERM | Errno::ACCESS)) => {
            let fact = format!("sampling whole CPUs is {}", said(error));
            flaw(what, State::Missing, fact, matters, allow_tracing(&facts.privilege))
        }
        Err(error) => {
            let why = "the kernel was built without CONFIG_PERF_EVENTS, or a sandbox hides them: boot one that has them";
            flaw(what, State::Missing, format!("sampling whole CPUs: {}", said(error)), matters, nothing(why))
        }
    }
}

fn own_switches(facts: &Facts) -> Finding {
    let what = Subject::OwnSwitches;
    let matters = "traces without privilege: parallelism and serial phases, but no causes of waiting";
    match facts.tracing.own_switches {
        Ok(()) => fine(what, "the command's context switches can be recorded by perf events", matters),
        Err(error @ (Errno::PERM | Errno::ACCESS)) => {
            let fact = format!("recording the command's context switches is {}", said(error));
            flaw(what, State::Missing, fact, matters, allow_own_events(facts))
        }
        Err(error) => {
            let why = "the kernel was built without CONFIG_PERF_EVENTS, or a sandbox hides them: boot one that has them";
            let fact = format!("recording the command's context switches: {}", said(error));
            flaw(what, State::Missing, fact, matters, nothing(why))
        }
    }
}

/// Remedy for a user who may not open perf events of the user's own processes.
fn allow_own_events(facts: &Facts) -> Remedy {
    /// Highest setting that allows every user: `Documentation/admin-guide/sysctl/kernel.rst`.
    const MOST_PARANOID: i32 = 2;
    if facts.privilege.confined() {
        nothing("this container may not: start it with --cap-add=PERFMON")
    } else if facts.counters.paranoid.is_some_and(|level| level > MOST_PARANOID) {
        as_root(&facts.privilege, format!("sysctl kernel.perf_event_paranoid={MOST_PARANOID}"))
    } else {
        nothing("it is not kernel.perf_event_paranoid: a seccomp filter or a security module forbids it")
    }
}

fn kprobes(facts: &Facts) -> Finding {
    let what = Subject::Kprobes;
    let matters = "looking into kernel functions that have no tracepoint";
    probes(facts, what, facts.tracing.kprobes, matters, "CONFIG_KPROBE_EVENTS")
}

fn fentry(facts: &Facts) -> Finding {
    let what = Subject::Fentry;
    let matters = "looking into kernel functions at a fraction of a kprobe's cost";
    probes(facts, what, facts.tracing.fentry, matters, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS")
}

fn probes(facts: &Facts, what: Subject, there: Option<bool>, matters: &str, option: &str) -> Finding {
    match there {
        Some(true) => fine(what, "in the kernel", matters),
        Some(false) => {
            let why = format!("the kernel was built without {option}: boot one that has it");
            flaw(what, State::Missing, "not in this kernel", matters, nothing(why))
        }
        None => {
            let fact = "unknown: neither tracefs nor the kernel's configuration can be read";
            flaw(what, State::Limited, fact, matters, by_root(&facts.privilege, "morecores doctor"))
        }
    }
}

fn locked_memory(facts: &Facts) -> Finding {
    let what = Subject::LockedMemory;
    let matters = "the buffers of a trace";
    let limit = facts.tracing.memlock.map_or_else(|| "no limit".to_owned(), |bytes| bytes.to_string());
    if unlocked(facts) {
        return fine(what, format!("{limit}, which since Linux 5.11 does not bind BPF"), matters);
    }
    if facts.tracing.memlock.is_none() || facts.privilege.has(Capability::SysResource) {
        return fine(what, format!("{limit}, enough or within our right to raise"), matters);
    }
    let remedy = as_root(&facts.privilege, "prlimit --pid $$ --memlock=unlimited");
    flaw(
        what,
        State::Limited,
        format!("{limit}, and before Linux 5.11 BPF counts against it"),
        matters,
        remedy,
    )
}

/// Whether BPF's memory does not count as locked.
fn unlocked(facts: &Facts) -> bool {
    version(&facts.host.kernel).is_some_and(|version| version >= UNLOCKED)
}

/// First two numbers of `uname -r`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn hardware_counters(facts: &Facts) -> Finding {
    let what = Subject::HardwareCounters;
    let matters = "whether a slower run executed more instructions or executed them more slowly";
    let counters = &facts.counters;
    let (error, state, name) = match (counters.cycles, counters.instructions) {
        (Ok(()), Ok(())) => return fine(what, "cycles and instructions count", matters),
        (Err(error), Err(_)) => (error, State::Missing, "cycles and instructions"),
        (Err(error), Ok(())) => (error, State::Limited, "cycles"),
        (Ok(()), Err(error)) => (error, State::Limited, "instructions"),
    };
    let remedy = match error {
        Errno::PERM | Errno::ACCESS => allow_own_events(facts),
        _ if facts.host.hypervisor.is_some() => nothing(
            "the hypervisor gives this machine no counters: its host can (\"vPMU\"), or use a machine without one",
        ),
        _ => nothing("this kernel knows no counters of this CPU: a newer kernel may"),
    };
    flaw(what, state, format!("{name}: {}", said(error)), matters, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(version("5.4-custom"), Some((5, 4)));
        assert!(version("5.10.0") < Some(UNLOCKED) && version("5.11-rc1") >= Some(UNLOCKED));
        assert_eq!(version("weird"), None);
    }
}
