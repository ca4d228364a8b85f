//! Collects the facts about the running machine: reads the kernel's information, and tries
//! operations whose permission only an attempt reveals.

use std::fs;
use std::time::Instant;

use morecores_study::{Bytes, CpuId, CpuSet, Nanos};
use procfs::{ConfigSetting, Current as _, Meminfo};
use rustix::fs::{Access, access};
use rustix::process::{Resource, getrlimit};

use super::facts::{Bpf, Clock, Counters, Facts, Hotplug, Privilege, Settings, Spinlocks, Tracefs, Tracing};
use super::probe;
use crate::activity::{ActivityMonitor, OtherProgramMonitor};
use crate::cgroup::Hierarchies;
use crate::clock::{kernel_tick, monotonic};
use crate::host::{self, Cpuid};

impl Facts {
    /// Collects the facts about the running machine.
    pub fn gather() -> Self {
        let host = host::read();
        let hierarchies = Hierarchies::read_own();
        let config = procfs::kernel_config().unwrap_or_default();
        let mut monitor = OtherProgramMonitor::start();
        // The watch precedes the probes, because the probes themselves keep CPUs busy.
        let quiet = ActivityMonitor::new(&hierarchies).watch_quiet_machine();
        monitor.sample();
        Self {
            privilege: privilege(&hierarchies),
            bpf: Bpf {
                load: probe::bpf::load(),
                unprivileged_disabled: read_number("/proc/sys/kernel/unprivileged_bpf_disabled"),
            },
            tracing: tracing_facts(&config),
            counters: Counters {
                cycles: probe::perf::cycles(),
                instructions: probe::perf::instructions(),
                paranoid: read_number("/proc/sys/kernel/perf_event_paranoid"),
            },
            groups: probe::groups::probe(&hierarchies, &host.topology.usable.cpus),
            hotplug: hotplug_facts(&host.topology.online),
            clock: clock_facts(),
            settings: read_settings(&config),
            quiet,
            other_programs: monitor.busiest(),
            host,
        }
    }
}

type Config = std::collections::HashMap<String, ConfigSetting>;

/// Whether an option is built in; absent if the configuration cannot be read.
fn built_in(config: &Config, option: &str) -> Option<bool> {
    (!config.is_empty()).then(|| matches!(config.get(option), Some(ConfigSetting::Yes)))
}

fn read_number<T: std::str::FromStr>(path: &str) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

pub(super) fn privilege(hierarchies: &Hierarchies) -> Privilege {
    let exists = |path: &&str| fs::exists(path).unwrap_or(false);
    // Docker, Podman, and systemd-nspawn or LXC create these files. A virtual machine made from a
    // container's image has such a file too, but it runs in the initial PID namespace
    // (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
    let marked = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].iter().any(exists);
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let marked = marked && namespace.as_os_str() != "pid:[4026531836]";
    // Another sign of a container is a view of the cgroups that ends below their root.
    let cut_off = hierarchies.v2.iter().chain(hierarchies.v1.values()).any(|dir| !dir.sees_root());
    Privilege {
        root: rustix::process::geteuid().is_root(),
        capabilities: rustix::thread::capabilities(None).map_or(0, |sets| sets.effective.bits()),
        container: marked || cut_off,
    }
}

fn tracing_facts(config: &Config) -> Tracing {
    let tracefs = probe::tracefs();
    let readable = tracefs == Tracefs::Readable;
    let exists =
        |file: &str| readable.then(|| fs::exists(format!("{}/{file}", probe::TRACEFS)).unwrap_or(false));
    let memlock = getrlimit(Resource::Memlock).current.map(Bytes);
    Tracing {
        btf: fs::File::open(probe::BTF).is_ok(),
        tracefs,
        missing_tracepoints: probe::missing_tracepoints(tracefs),
        kprobes: exists("kprobe_events").or_else(|| built_in(config, "CONFIG_KPROBE_EVENTS")),
        // The call to a trampoline is placed in the space that dynamic ftrace reserves in each
        // function.
        fentry: built_in(config, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS")
            .or_else(|| exists("available_filter_functions")),
        spinlocks: spinlock_facts(config),
        samples: probe::perf::samples(),
        own_switches: probe::perf::own_switches(),
        memlock,
    }
}

fn spinlock_facts(config: &Config) -> Spinlocks {
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let command_line = procfs::cmdline().unwrap_or_default();
    let cpuid = Cpuid::read();
    Spinlocks {
        paravirt: built_in(config, "CONFIG_PARAVIRT"),
        paravirt_spinlocks: built_in(config, "CONFIG_PARAVIRT_SPINLOCKS"),
        nopvspin: command_line.iter().any(|word| word.trim_end() == "nopvspin"),
        possible_cpus: possible.trim().parse::<CpuSet>().map_or(0, |cpus| cpus.len()),
        pv_unhalt: cpuid.wakes_waiters,
        dedicated: cpuid.dedicated,
    }
}

fn hotplug_facts(online: &CpuSet) -> Hotplug {
    let switch = |cpu: CpuId| format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let others = || online.iter().filter(|cpu| *cpu != CpuId(0));
    let fixed: CpuSet = others().filter(|cpu| !fs::exists(switch(*cpu)).unwrap_or(false)).collect();
    let writable =
        others().filter(|cpu| !fixed.contains(*cpu)).all(|cpu| access(switch(cpu), Access::WRITE_OK).is_ok());
    Hotplug { fixed, writable }
}

fn clock_facts() -> Clock {
    /// Readings in a batch: enough to make the cost of the two surrounding readings negligible.
    const READINGS: u64 = 2_000;
    /// Batches; the fastest is the one without an interruption.
    const BATCHES: u32 = 10;
    let batch = |_| {
        let begin = Instant::now();
        for _ in 0..READINGS {
            std::hint::black_box(monotonic());
        }
        begin.elapsed().as_nanos() as u64 / READINGS
    };
    let available = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    Clock {
        read_cost: Nanos((0..BATCHES).map(batch).min().unwrap_or(0)),
        available: available.split_ascii_whitespace().map(str::to_owned).collect(),
    }
}

fn read_settings(config: &Config) -> Settings {
    let (swap, swap_free) = Meminfo::current().map_or((0, 0), |memory| (memory.swap_total, memory.swap_free));
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    // The active choice is in brackets.
    let huge_pages =
        huge_pages.as_deref().and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()));
    let boost_switch = host::BOOST_SWITCHES.iter().find(|(file, _)| fs::read(file).is_ok());
    Settings {
        drop_caches: access("/proc/sys/vm/drop_caches", Access::WRITE_OK).is_ok(),
        tick: kernel_tick(),
        swap: Bytes(swap),
        swap_used: Bytes(swap.saturating_sub(swap_free)),
        aslr: read_number("/proc/sys/kernel/randomize_va_space"),
        huge_pages,
        pressure: fs::read("/proc/pressure/cpu").is_ok(),
        pressure_built: built_in(config, "CONFIG_PSI"),
        taskstats: crate::taskstats::probe(),
        boost_switch: boost_switch.map(|(file, off)| ((*file).to_owned(), (*off).to_owned())),
        smt_control: fs::read_to_string("/sys/devices/system/cpu/smt/control")
            .ok()
            .map(|t| t.trim().to_owned()),
        tells_steal: Cpuid::read().tells_steal,
    }
}
