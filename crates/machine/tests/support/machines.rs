//! Invented machines, as facts of a diagnosis.
#![allow(dead_code)] // Each test binary uses a different part.

use std::path::PathBuf;

use morecores_machine::cgroup::Version;
use morecores_machine::doctor::{
    Accounting, Bpf, Capability, Clock, Counters, Cpusets, Facts, Groups, Hotplug, PeakMark, Privilege,
    Settings, Spinlocks, Tracefs, Tracing,
};
use morecores_study::topology::{Core, CoreClass, CoreType, Topology};
use morecores_study::usable::{CgroupLevel, Quota, Restriction, Usable};
use morecores_study::{Bytes, CpuEstimator, CpuSet, Frequency, Host, Nanos, OtherProgram, Quiet};
use rustix::io::Errno;

/// Parses a CPU list.
pub(crate) fn set(text: &str) -> CpuSet {
    text.parse().expect("a CPU list")
}

/// Equal cores for the CPUs of a list, all usable.
pub(crate) fn topology(cpus: &str) -> Topology {
    let cpus = set(cpus);
    let core = |cpu| Core { cpus: CpuSet::from_iter([cpu]), core_type: 0, max_frequency: None };
    Topology {
        present: cpus.clone(),
        online: cpus.clone(),
        cores: cpus.iter().map(core).collect(),
        core_types: vec![CoreType { class: CoreClass::Uniform, cpus: cpus.clone() }],
        usable: Usable { count: cpus.len(), cpus, ..Usable::default() },
        ..Topology::default()
    }
}

/// A dedicated server, as root, prepared for measuring; no finding has a flaw.
pub(crate) fn perfect() -> Facts {
    Facts {
        host: Host {
            kernel: "6.12.3".to_owned(),
            arch: "x86_64".to_owned(),
            clocksource: Some("tsc".to_owned()),
            frequency: Frequency {
                governor: Some("performance".to_owned()),
                driver: Some("intel_pstate".to_owned()),
                boost: Some(false),
            },
            topology: topology("0-3"),
            ..Host::default()
        },
        privilege: Privilege { root: true, capabilities: u64::MAX, container: false },
        bpf: Bpf { load: Ok(()), unprivileged_disabled: Some(2) },
        tracing: Tracing {
            btf: true,
            tracefs: Tracefs::Readable,
            missing_tracepoints: Some(vec![]),
            kprobes: Some(true),
            fentry: Some(true),
            spinlocks: Spinlocks {
                paravirt: Some(true),
                paravirt_spinlocks: Some(true),
                nopvspin: false,
                possible_cpus: 4,
                pv_unhalt: None,
                dedicated: None,
            },
            samples: Ok(()),
            own_switches: Ok(()),
            memlock: Some(Bytes(8 << 20)),
        },
        counters: Counters { cycles: Ok(()), instructions: Ok(()), paranoid: Some(2) },
        groups: Groups {
            v1: false,
            v2: Some(PathBuf::from("/sys/fs/cgroup")),
            accounting: Accounting::Group(CpuEstimator::Cgroup),
            peak: PeakMark::Resettable,
            cpusets: Cpusets::Usable(Version::V2),
            systemd: true,
        },
        hotplug: Hotplug { fixed: CpuSet::new(), writable: true },
        clock: Clock { read_cost: Nanos(24), available: vec!["tsc".to_owned(), "hpet".to_owned()] },
        settings: Settings {
            drop_caches: true,
            tick: Nanos::from_millis(4),
            swap: Bytes(0),
            swap_used: Bytes(0),
            aslr: Some(2),
            huge_pages: Some("madvise".to_owned()),
            pressure: true,
            pressure_built: Some(true),
            taskstats: Ok(()),
            boost_switch: Some(("/sys/devices/system/cpu/intel_pstate/no_turbo".to_owned(), "1".to_owned())),
            smt_control: Some("notsupported".to_owned()),
            tells_steal: None,
        },
        quiet: Quiet {
            watched_ns: Nanos::from_millis(500),
            busy_ns: Nanos::from_millis(10),
            steal_ns: Nanos::ZERO,
        },
        other_programs: vec![],
    }
}

/// An ordinary user on a desktop with systemd and version 2, logged in over SSH.
pub(crate) fn ordinary_user() -> Facts {
    let mut facts = perfect();
    facts.privilege = Privilege::default();
    facts.bpf.load = Err(Errno::PERM);
    facts.tracing.tracefs = Tracefs::Closed;
    facts.tracing.samples = Err(Errno::ACCESS);
    // Debian's setting 3 refuses perf events to every ordinary user.
    facts.tracing.own_switches = Err(Errno::ACCESS);
    facts.tracing.kprobes = None;
    facts.counters =
        Counters { cycles: Err(Errno::ACCESS), instructions: Err(Errno::ACCESS), paranoid: Some(3) };
    facts.groups.accounting = Accounting::Refused("cannot make a cgroup".to_owned());
    facts.groups.peak = PeakMark::Absent;
    facts.groups.cpusets = Cpusets::Refused("cannot make a cgroup".to_owned());
    facts.hotplug.writable = false;
    facts.settings.drop_caches = false;
    facts
}

/// Root of a container with a quota of half a CPU, on a machine of four CPUs.
pub(crate) fn container() -> Facts {
    let mut facts = ordinary_user();
    let some = [Capability::NetAdmin].map(|capability| 1_u64 << (capability as u8)).iter().sum();
    facts.privilege = Privilege { root: true, capabilities: some, container: true };
    let quota = Quota { time: Nanos::from_millis(50), period: Nanos::from_millis(100) };
    facts.host.topology.usable.count = 1;
    facts.host.topology.usable.quota_cpus = Some(0.5);
    facts.host.topology.usable.restrictions =
        vec![Restriction::Quota { level: CgroupLevel(0), quota, file: "/sys/fs/cgroup/cpu.max".to_owned() }];
    facts
}

/// An ordinary user on a laptop with two types of core, on battery, during a build.
pub(crate) fn laptop() -> Facts {
    let mut facts = ordinary_user();
    facts.host.frequency = Frequency {
        governor: Some("powersave".to_owned()),
        driver: Some("intel_pstate".to_owned()),
        boost: Some(true),
    };
    facts.host.topology = topology("0-7");
    facts.host.topology.core_types = vec![
        CoreType { class: CoreClass::Performance, cpus: set("0-3") },
        CoreType { class: CoreClass::Efficiency, cpus: set("4-7") },
    ];
    let core = |(cpus, core_type)| Core { cpus: set(cpus), core_type, max_frequency: None };
    facts.host.topology.cores =
        [("0-1", 0), ("2-3", 0), ("4", 1), ("5", 1), ("6", 1), ("7", 1)].map(core).to_vec();
    facts.quiet.busy_ns = Nanos::from_millis(900);
    facts.other_programs = vec![OtherProgram { name: "cc1plus".to_owned(), cpu_ns: Nanos::from_millis(800) }];
    facts.settings.swap = Bytes(8 << 30);
    facts.settings.swap_used = Bytes(1 << 30);
    facts
}

/// Root in a small virtual machine: version 1 cgroups, no counters, tracefs not mounted, no
/// kprobes.
pub(crate) fn virtual_machine() -> Facts {
    let mut facts = perfect();
    facts.host.hypervisor = Some("KVM".to_owned());
    facts.host.frequency = Frequency::default();
    facts.host.topology = topology("0-1");
    facts.settings.boost_switch = None;
    facts.settings.tells_steal = Some(true);
    facts.tracing.tracefs = Tracefs::NotMounted;
    facts.tracing.kprobes = Some(false);
    facts.tracing.spinlocks.pv_unhalt = Some(true);
    facts.tracing.spinlocks.dedicated = Some(false);
    facts.counters =
        Counters { cycles: Err(Errno::NOENT), instructions: Err(Errno::NOENT), paranoid: Some(2) };
    facts.groups = Groups {
        v1: true,
        v2: Some(PathBuf::from("/sys/fs/cgroup")),
        accounting: Accounting::Group(CpuEstimator::CgroupV1),
        peak: PeakMark::Resettable,
        cpusets: Cpusets::Usable(Version::V1),
        systemd: false,
    };
    facts
}
