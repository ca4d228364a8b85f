//! Diagnoses of machines with known facts, and of the machine that runs the tests.

#[path = "support/machines.rs"]
mod machines;

use std::path::PathBuf;

use machines::{container, laptop, ordinary_user, perfect, set, virtual_machine};
use morecores_machine::doctor::{Accounting, Cpusets, Facts, PeakMark, Settings, diagnose, examine};
use morecores_machine::{CheckedFacility, Diagnosis, Finding, Remedy, State};
use morecores_study::usable::{CgroupLevel, Quota, Restriction};
use morecores_study::{CpuEstimator, Nanos};

fn finding_about(diagnosis: &Diagnosis, what: CheckedFacility) -> &Finding {
    diagnosis.finding(what).unwrap_or_else(|| panic!("nothing about {what:?}"))
}

/// State and command of a finding; the command is empty if there is none.
fn advice(facts: &Facts, what: CheckedFacility) -> (State, String) {
    let diagnosis = diagnose(facts.clone());
    let finding = finding_about(&diagnosis, what);
    let command = match &finding.remedy {
        Some(Remedy::Command { command, .. }) => command.clone(),
        Some(Remedy::Nothing { .. }) | None => String::new(),
    };
    (finding.state, command)
}

#[test]
fn root_without_capabilities_learns_that_they_are_missing() {
    let mut facts = perfect();
    facts.privilege.capabilities = 0;
    facts.bpf.load = Err(rustix::io::Errno::PERM);
    let diagnosis = diagnose(facts);
    for what in [CheckedFacility::Bpf, CheckedFacility::Privilege] {
        let Some(Remedy::Nothing { why }) = &finding_about(&diagnosis, what).remedy else {
            panic!("a command is no remedy: {:?}", finding_about(&diagnosis, what))
        };
        assert!(why.contains("capabilities are missing although this is root"), "{why}");
    }
}

#[test]
fn a_complete_setup_needs_no_action() {
    let diagnosis = diagnose(perfect());
    let flaws: Vec<&Finding> = diagnosis.findings.iter().filter(|f| f.state != State::Fine).collect();
    assert!(flaws.is_empty(), "{flaws:#?}");
    assert_eq!(finding_about(&diagnosis, CheckedFacility::UsableCpus).fact, "4 of 4: 0-3");
    assert_eq!(finding_about(&diagnosis, CheckedFacility::Tick).fact, "250 Hz, every 4 ms");
    assert_eq!(
        finding_about(&diagnosis, CheckedFacility::CpuTime).fact,
        "counted by a cgroup of the command's own (cgroup)"
    );
}

#[test]
fn an_ordinary_user_gets_the_command_for_each_missing_part() {
    let facts = ordinary_user();
    let expect = |what, state, command: &str| {
        assert_eq!(advice(&facts, what), (state, command.to_owned()), "{what:?}")
    };
    expect(CheckedFacility::Privilege, State::Limited, "sudo morecores run -- COMMAND");
    expect(
        CheckedFacility::CpuTime,
        State::Limited,
        "systemd-run --user --scope -p Delegate=yes morecores run -- COMMAND",
    );
    expect(CheckedFacility::LimitCpuset, State::Missing, "sudo morecores run --limit cpuset -- COMMAND");
    expect(CheckedFacility::LimitHotplug, State::Missing, "sudo morecores run --limit hotplug -- COMMAND");
    expect(CheckedFacility::ColdCache, State::Missing, "sudo morecores run --cold -- COMMAND");
    expect(
        CheckedFacility::Bpf,
        State::Missing,
        "sudo setcap cap_bpf,cap_perfmon,cap_syslog=ep \"$(command -v morecores)\"",
    );
    expect(CheckedFacility::HardwareCounters, State::Missing, "sudo sysctl kernel.perf_event_paranoid=2");
    expect(
        CheckedFacility::Samples,
        State::Missing,
        "sudo setcap cap_bpf,cap_perfmon,cap_syslog=ep \"$(command -v morecores)\"",
    );
    expect(CheckedFacility::OwnSwitches, State::Missing, "sudo sysctl kernel.perf_event_paranoid=2");
    expect(CheckedFacility::Kprobes, State::Limited, "sudo morecores doctor");
    // Findings about the machine itself are as good as for root.
    for what in [
        CheckedFacility::UsableCpus,
        CheckedFacility::Quiet,
        CheckedFacility::Clock,
        CheckedFacility::ClockRate,
        CheckedFacility::Btf,
    ] {
        assert_eq!(advice(&facts, what).0, State::Fine, "{what:?}");
    }
}

#[test]
fn a_setting_that_allows_perf_events_needs_no_change() {
    for paranoid in [Some(2), Some(-1), None] {
        let mut facts = ordinary_user();
        facts.counters.paranoid = paranoid;
        let diagnosis = diagnose(facts);
        for what in [CheckedFacility::OwnSwitches, CheckedFacility::HardwareCounters] {
            let Some(Remedy::Nothing { why }) = &finding_about(&diagnosis, what).remedy else {
                panic!("{what:?}, {paranoid:?}: {diagnosis:?}")
            };
            assert!(why.contains("seccomp"), "{why}");
        }
    }
}

#[test]
fn a_tracepoint_of_some_traces_does_not_prevent_the_others() {
    for (missing, state) in [
        ("task:task_rename", State::Missing),
        ("workqueue:workqueue_queue_work", State::Missing),
        ("raw_syscalls:sys_enter", State::Limited),
        ("lock:contention_begin", State::Limited),
    ] {
        let mut facts = perfect();
        facts.tracing.missing_tracepoints = Some(vec![missing.to_owned()]);
        assert_eq!(advice(&facts, CheckedFacility::Tracepoints), (state, String::new()), "{missing}");
    }
}

#[test]
fn the_root_of_a_container_gets_no_circular_advice() {
    let diagnosis = diagnose(container());
    for finding in &diagnosis.findings {
        if let Some(Remedy::Command { command, .. }) = &finding.remedy {
            assert!(!command.contains("sudo") && !command.contains("/sys/fs/cgroup"), "{finding:?}");
        }
    }
    let usable = finding_about(&diagnosis, CheckedFacility::UsableCpus);
    assert_eq!(usable.state, State::Limited);
    assert!(usable.fact.contains("1 of 4") && usable.fact.contains("0.5 CPUs"), "{usable:?}");
    let Some(Remedy::Nothing { why }) = &finding_about(&diagnosis, CheckedFacility::Bpf).remedy else {
        panic!("{diagnosis:?}")
    };
    assert!(why.contains("--cap-add=BPF"), "{why}");
    let privilege = &finding_about(&diagnosis, CheckedFacility::Privilege).fact;
    assert_eq!(privilege, "root, without CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN");
}

#[test]
fn a_privileged_container_and_a_restricted_root_get_fitting_advice() {
    let mut facts = virtual_machine();
    facts.privilege.container = true;
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing";
    assert_eq!(advice(&facts, CheckedFacility::Tracefs), (State::Limited, mount.to_owned()));
    facts.privilege.container = false;
    facts.privilege.capabilities = 0;
    let diagnosis = diagnose(facts);
    let privilege = finding_about(&diagnosis, CheckedFacility::Privilege);
    assert_eq!(privilege.fact, "root, without capabilities");
    assert!(
        matches!(&privilege.remedy, Some(Remedy::Nothing { why }) if why.contains("service")),
        "{privilege:?}"
    );
}

#[test]
fn a_laptop_gets_the_advice_to_fix_its_clock_rate() {
    let facts = laptop();
    let tee = |value: &str, file: &str| (State::Limited, format!("echo {value} | sudo tee {file}"));
    let governors = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
    assert_eq!(advice(&facts, CheckedFacility::ClockRate), tee("performance", governors));
    let no_turbo = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    assert_eq!(advice(&facts, CheckedFacility::Boost), tee("1", no_turbo));
    let types = (State::Limited, "morecores run --cpu-list 0-3 -- COMMAND".to_owned());
    assert_eq!(advice(&facts, CheckedFacility::CoreTypes), types);
    assert_eq!(advice(&facts, CheckedFacility::Swap), (State::Limited, "sudo swapoff -a".to_owned()));
    let diagnosis = diagnose(facts);
    assert_eq!(
        finding_about(&diagnosis, CheckedFacility::Quiet).fact,
        "others kept 1.80 of 8 CPUs busy (cc1plus)"
    );
    assert!(
        finding_about(&diagnosis, CheckedFacility::Smt).fact.starts_with("2 threads a core"),
        "{diagnosis:?}"
    );
}

#[test]
fn a_virtual_machine_gets_the_actions_for_its_host() {
    let facts = virtual_machine();
    let expect = |what, state, command: &str| {
        assert_eq!(advice(&facts, what), (state, command.to_owned()), "{what:?}")
    };
    expect(CheckedFacility::CpuTime, State::Fine, "");
    expect(CheckedFacility::LimitHotplug, State::Fine, "");
    expect(CheckedFacility::Tracefs, State::Limited, "mount -t tracefs tracefs /sys/kernel/tracing");
    expect(CheckedFacility::Tracepoints, State::Fine, "");
    expect(CheckedFacility::Kprobes, State::Missing, "");
    expect(CheckedFacility::HardwareCounters, State::Missing, "");
    expect(CheckedFacility::ClockRate, State::Limited, "");
    expect(CheckedFacility::Hypervisor, State::Fine, "");
    let silent = Facts { settings: Settings { tells_steal: Some(false), ..facts.settings.clone() }, ..facts };
    assert_eq!(advice(&silent, CheckedFacility::Hypervisor).0, State::Limited);
}

#[test]
fn traced_spinlock_waits_follow_from_the_kernels_choice_at_boot() {
    type Change = fn(&mut Facts);
    let cases: [(Change, State, &str); 11] = [
        (|_| {}, State::Fine, "paravirtual queue"),
        (|facts| facts.host.hypervisor = None, State::Fine, "all but those of the first"),
        (|facts| facts.tracing.spinlocks.dedicated = Some(true), State::Fine, "all but those of the first"),
        (|facts| facts.tracing.spinlocks.nopvspin = true, State::Fine, "all but those of the first"),
        (|facts| facts.tracing.spinlocks.possible_cpus = 1, State::Fine, "all but those of the first"),
        (|facts| facts.tracing.spinlocks.paravirt = Some(false), State::Fine, "all but those of the first"),
        (|facts| facts.tracing.spinlocks.pv_unhalt = Some(false), State::Limited, "none for spinlocks"),
        (
            |facts| facts.tracing.spinlocks.paravirt_spinlocks = Some(false),
            State::Limited,
            "none for spinlocks",
        ),
        (|facts| facts.host.hypervisor = Some("VMware".to_owned()), State::Limited, "none for spinlocks"),
        (|facts| facts.host.hypervisor = Some("Xen".to_owned()), State::Limited, "only the kernel's log"),
        (
            |facts| facts.tracing.missing_tracepoints = Some(vec!["lock:contention_begin".to_owned()]),
            State::Missing,
            "no tracepoints",
        ),
    ];
    for (change, state, words) in cases {
        let mut facts = virtual_machine();
        change(&mut facts);
        let diagnosis = diagnose(facts);
        let finding = finding_about(&diagnosis, CheckedFacility::KernelLocks);
        assert_eq!(finding.state, state, "{finding:?}");
        assert!(finding.fact.contains(words), "`{words}` in {finding:?}");
    }
}

#[test]
fn each_restriction_gets_advice_for_its_own_file() {
    let level = CgroupLevel(1);
    let quota = Quota { time: Nanos::from_millis(200), period: Nanos::from_millis(100) };
    let cases = [
        (
            Restriction::Offline { cpus: set("2-3"), smt_off: false },
            "echo 1 | tee /sys/devices/system/cpu/cpu{2,3}/online",
        ),
        (
            Restriction::Offline { cpus: set("3"), smt_off: false },
            "echo 1 | tee /sys/devices/system/cpu/cpu3/online",
        ),
        (
            Restriction::Offline { cpus: set("2-3"), smt_off: true },
            "echo on | tee /sys/devices/system/cpu/smt/control",
        ),
        (Restriction::Affinity { cpus: set("0") }, "taskset -pc 0-3 $$"),
        (
            Restriction::Cpuset { level, cpus: set("0-1"), file: "/c/cpuset.cpus.effective".to_owned() },
            "echo 0-3 | tee /c/cpuset.cpus",
        ),
        (Restriction::Quota { level, quota, file: "/c/cpu.max".to_owned() }, "echo max | tee /c/cpu.max"),
        (
            Restriction::Quota { level, quota, file: "/c/cpu.cfs_quota_us".to_owned() },
            "echo -1 | tee /c/cpu.cfs_quota_us",
        ),
    ];
    for (restriction, command) in cases {
        let mut facts = perfect();
        facts.host.topology.usable.restrictions = vec![restriction];
        assert_eq!(advice(&facts, CheckedFacility::UsableCpus), (State::Limited, command.to_owned()));
    }
}

#[test]
fn a_slow_clock_gets_advice_if_a_better_one_exists() {
    let mut facts = perfect();
    facts.host.clocksource = Some("hpet".to_owned());
    facts.clock.read_cost = Nanos(1_300);
    let tsc = "echo tsc | tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_eq!(advice(&facts, CheckedFacility::Clock), (State::Limited, tsc.to_owned()));
    facts.clock.available = vec!["hpet".to_owned()];
    assert_eq!(advice(&facts, CheckedFacility::Clock), (State::Limited, String::new()));
    facts.host.clocksource = Some("kvm-clock".to_owned());
    facts.clock.read_cost = Nanos(30);
    assert_eq!(advice(&facts, CheckedFacility::Clock).0, State::Fine);
}

#[test]
fn an_old_kernel_gets_the_features_of_a_newer_one() {
    let mut facts = ordinary_user();
    facts.host.kernel = "5.4.0-150-generic".to_owned();
    facts.groups.accounting = Accounting::Group(CpuEstimator::Cgroup);
    facts.groups.peak = PeakMark::Fixed;
    let switches = ["/sys/fs/cgroup/cgroup.subtree_control", "/sys/fs/cgroup/a/cgroup.subtree_control"];
    facts.groups.cpusets = Cpusets::NotEnabled(switches.map(PathBuf::from).to_vec());
    facts.tracing.missing_tracepoints =
        Some(vec!["lock:contention_begin".to_owned(), "lock:contention_end".to_owned()]);
    let expect = |what, state, command: &str| {
        assert_eq!(advice(&facts, what), (state, command.to_owned()), "{what:?}")
    };
    expect(CheckedFacility::LockedMemory, State::Limited, "sudo prlimit --pid $$ --memlock=unlimited");
    expect(CheckedFacility::Tracepoints, State::Missing, "");
    expect(CheckedFacility::PeakMemory, State::Limited, "");
    expect(
        CheckedFacility::LimitCpuset,
        State::Missing,
        "echo +cpuset | sudo tee /sys/fs/cgroup/cgroup.subtree_control /sys/fs/cgroup/a/cgroup.subtree_control",
    );
    facts.settings.pressure = false;
    let diagnosis = diagnose(facts);
    let Some(Remedy::Command { reboot, .. }) = &finding_about(&diagnosis, CheckedFacility::Pressure).remedy
    else {
        panic!("{diagnosis:?}")
    };
    assert!(reboot);
}

#[test]
fn the_memory_controller_is_enabled_through_systemd_or_by_hand() {
    let mut facts = perfect();
    facts.groups.peak = PeakMark::Absent;
    let scope = "systemd-run --scope -p Delegate=yes morecores run -- COMMAND";
    assert_eq!(advice(&facts, CheckedFacility::PeakMemory), (State::Missing, scope.to_owned()));
    facts.groups.systemd = false;
    let by_hand = "echo +memory | tee /sys/fs/cgroup/cgroup.subtree_control";
    assert_eq!(advice(&facts, CheckedFacility::PeakMemory), (State::Missing, by_hand.to_owned()));
    facts.groups.accounting = Accounting::Refused("none is mounted".to_owned());
    facts.groups.v2 = None;
    let mount = "mount -t cgroup2 cgroup2 /sys/fs/cgroup";
    assert_eq!(advice(&facts, CheckedFacility::CpuTime), (State::Limited, mount.to_owned()));
}

/// Checks properties of every diagnosis, whatever the facts.
fn is_well_formed(diagnosis: &Diagnosis) {
    let subjects: Vec<CheckedFacility> = diagnosis.findings.iter().map(|finding| finding.what).collect();
    assert!(subjects.is_sorted() && subjects.windows(2).all(|pair| pair[0] != pair[1]), "{subjects:?}");
    assert_eq!(subjects.len(), 31);
    for finding in &diagnosis.findings {
        assert_eq!(finding.remedy.is_none(), finding.state == State::Fine, "{finding:?}");
        assert!(!finding.fact.is_empty() && !finding.matters.is_empty(), "{finding:?}");
        assert!(!finding.fact.contains('\n') && !finding.fact.ends_with('.'), "{finding:?}");
        if let Some(Remedy::Command { command, .. }) = &finding.remedy {
            assert!(!command.trim().is_empty() && !command.contains('\n'), "{finding:?}");
        }
    }
    let json = serde_json::to_string(diagnosis).expect("plain data");
    assert_eq!(&serde_json::from_str::<Diagnosis>(&json).expect("what was written"), diagnosis);
}

#[test]
fn every_diagnosis_is_complete_and_survives_json() {
    for facts in [perfect(), ordinary_user(), container(), laptop(), virtual_machine()] {
        is_well_formed(&diagnose(facts));
    }
}

#[test]
fn examining_the_running_machine_changes_nothing() {
    let groups = || {
        let own = format!("morecores-{}", std::process::id());
        let find = std::process::Command::new("find").args(["/sys/fs/cgroup", "-name", &own]).output();
        String::from_utf8_lossy(&find.expect("find").stdout).into_owned()
    };
    let open = || std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    let before = open();
    let diagnosis = examine();
    is_well_formed(&diagnosis);
    assert_eq!(groups(), "", "a probe's cgroup was left behind");
    assert_eq!(open(), before, "a probe's descriptor was left open");
    // These findings are certain in every environment of the test.
    let root = rustix::process::geteuid().is_root();
    assert_eq!(finding_about(&diagnosis, CheckedFacility::Privilege).fact.starts_with("root"), root);
    if !root {
        println!("skipped: what root may do, since the tests do not run as root");
        assert_eq!(finding_about(&diagnosis, CheckedFacility::ColdCache).state, State::Missing);
    }
    let tsc = finding_about(&diagnosis, CheckedFacility::Clock).fact.contains("ns a reading");
    assert!(tsc, "{diagnosis:?}");
}
