//! Reads what a reader of a study needs to know of the machine.

use std::fs;

use morecores_record::{Bytes, Frequency, Host};

use crate::topology;

/// Reads it; what cannot be read stays empty.
pub fn read() -> Host {
    let system = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    Host {
        hostname: text(system.nodename()),
        os: field("/etc/os-release", "PRETTY_NAME=")
            .map(|s| s.trim_matches('"').to_owned())
            .unwrap_or_default(),
        kernel: text(system.release()),
        arch: text(system.machine()),
        cpu_model: field("/proc/cpuinfo", "model name")
            .map(|s| s.trim_start_matches([' ', '\t', ':']).to_owned())
            .unwrap_or_default(),
        hypervisor: None,
        memory_bytes: memory().unwrap_or_default(),
        clocksource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency: Frequency {
            governor: line("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"),
            driver: line("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver"),
            boost: boost(),
        },
        topology: topology::read(),
        unknown: serde_json::Map::new(),
    }
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    fs::read_to_string(path).ok()?.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

fn memory() -> Option<Bytes> {
    field("/proc/meminfo", "MemTotal:")?.strip_suffix(" kB")?.trim().parse().ok().map(Bytes::from_kib)
}

/// Intel's driver counts the other way round.
fn boost() -> Option<bool> {
    let own = line("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == "1");
    own.or_else(|| line("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0"))
}
