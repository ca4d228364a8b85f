//! Descriptions of hosts: from invented files for each kind of machine, and of the running machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use morecores_machine::host::{self, Cpuid, Uname};
use morecores_machine::kernel_files::Tree;
use morecores_study::{Bytes, Host};

fn host(files: &[(&str, &str)], cpuid: &Cpuid) -> Host {
    let files: BTreeMap<PathBuf, String> =
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
    host::read_from(&mut Tree::from_files(files), &Uname::default(), cpuid)
}

fn kvm() -> Cpuid {
    Cpuid { vendor: Some("KVM".to_owned()), tells_steal: Some(true), ..Cpuid::default() }
}

#[test]
fn the_host_of_a_laptop_is_read() {
    let laptop = host(
        &[
            ("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian \\\"12\\\"\"\n"),
            ("/proc/cpuinfo", "model name\t: 12th Gen Intel(R) Core(TM) i7-1260P\nflags\t\t: fpu vme\n"),
            ("/proc/meminfo", "MemTotal:       16089872 kB\nMemFree: 1 kB\n"),
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"),
            ("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave"),
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
            // Some firmware names a product in this way; only the CPU's flag decides.
            ("/sys/class/dmi/id/product_name", "KVM switch"),
        ],
        &Cpuid::default(),
    );
    assert_eq!(laptop.os, "Debian \"12\"");
    assert_eq!(laptop.cpu_model, "12th Gen Intel(R) Core(TM) i7-1260P");
    assert_eq!(laptop.hypervisor, None);
    assert_eq!(laptop.memory_bytes, Bytes::from_kib(16_089_872));
    assert_eq!(laptop.clocksource.as_deref(), Some("tsc"));
    assert_eq!(laptop.frequency.governor.as_deref(), Some("powersave"));
    assert_eq!(laptop.frequency.driver.as_deref(), Some("intel_pstate"));
    assert_eq!(laptop.frequency.boost, Some(true), "no_turbo is the other way round");
    assert_eq!(laptop.topology.online.to_string(), "0-1");
}

#[test]
fn different_governors_are_all_named_and_boost_is_found() {
    let with = |boost: (&str, &str)| {
        let policies = [
            ("/sys/devices/system/cpu/online", "0-1"),
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil"),
            ("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance"),
            boost,
        ];
        host(&policies, &Cpuid::default()).frequency
    };
    let frequency = with(("/sys/devices/system/cpu/cpufreq/boost", "0"));
    assert_eq!(frequency.governor.as_deref(), Some("performance, schedutil"));
    assert_eq!(frequency.boost, Some(false));
    assert_eq!(with(("/sys/devices/system/cpu/cpufreq/policy1/boost", "1")).boost, Some(true));
    assert_eq!(with(("/x", "")).boost, None);
}

#[test]
fn the_hypervisor_is_found_by_cpu_flag_or_firmware() {
    let hypervisor_for = |cpuinfo: &str, vendor: &str, cpuid: &Cpuid| {
        host(&[("/proc/cpuinfo", cpuinfo), ("/sys/class/dmi/id/sys_vendor", vendor)], cpuid).hypervisor
    };
    let (flagged, bare) = ("flags : fpu hypervisor sse", "flags : fpu sse");
    assert_eq!(hypervisor_for(flagged, "QEMU", &kvm()).as_deref(), Some("KVM"));
    assert_eq!(hypervisor_for(flagged, "QEMU", &Cpuid::default()).as_deref(), Some("QEMU"));
    assert_eq!(
        hypervisor_for(flagged, "Dell Inc.", &Cpuid::default()).as_deref(),
        Some("unknown hypervisor")
    );
    assert_eq!(hypervisor_for(bare, "QEMU", &kvm()), None);
    assert_eq!(hypervisor_for("CPU part : 0xd0c", "QEMU", &Cpuid::default()).as_deref(), Some("QEMU"));
    assert_eq!(hypervisor_for("CPU part : 0xd0c", "Amazon EC2", &Cpuid::default()), None);
}

#[test]
fn the_running_machine_is_read() {
    let host = host::read();
    assert!(!host.hostname.is_empty() && !host.kernel.is_empty() && !host.arch.is_empty(), "{host:?}");
    assert!(host.memory_bytes > Bytes(1 << 20) && !host.topology.online.is_empty(), "{host:?}");
    assert_eq!(host.hypervisor.is_some(), is_virtual(), "{host:?}");
}

/// Whether this is a virtual machine, according to the kernel.
fn is_virtual() -> bool {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").expect("a kernel with /proc");
    match cpuinfo.lines().find(|line| line.starts_with("flags")) {
        Some(flags) => flags.split(' ').any(|flag| flag == "hypervisor"),
        None => host::read().hypervisor.is_some(),
    }
}
