//! Findings about properties that affect every figure of this machine: its clock, its clock rate,
//! its CPUs.

use crate::{CheckedFacility, Finding, Remedy, State};
use morecores_study::topology::CoreClass;
use morecores_study::{Bytes, Nanos};

use super::facts::Facts;
use super::remedy::{no_remedy, plain_command, root_command, write_command};
use super::{fine_finding, flawed_finding};

/// Clock sources that are read over a bus: a reading takes a microsecond or more, and serves one
/// CPU at a time.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];

/// Upper limit for a clock reading in user space. The vDSO takes 20 to 50 ns; a system call or a
/// bus takes several times as long.
const SLOW_READING: Nanos = Nanos(200);

const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Findings about the machine, in the order of [`CheckedFacility`].
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    vec![
        clock(facts),
        clock_rate(facts),
        boost(facts),
        smt(facts),
        core_types(facts),
        hypervisor(facts),
        tick(facts),
        swap(facts),
        pressure(facts),
        aslr(facts),
        huge_pages(facts),
    ]
}

fn clock(facts: &Facts) -> Finding {
    let what = CheckedFacility::Clock;
    let matters = "the times of short commands, and programs that read the clock often";
    let source = facts.host.clocksource.as_deref().unwrap_or("unknown");
    let cost = facts.clock.read_cost;
    let fact = format!("{source}, {} ns a reading", cost.0);
    if !SLOW_CLOCKS.contains(&source) && cost <= SLOW_READING {
        return fine_finding(what, fact, matters);
    }
    let remedy = if source != "tsc" && facts.clock.available.iter().any(|name| name == "tsc") {
        write_command(&facts.privilege, "tsc", CLOCKSOURCE)
    } else if facts.host.hypervisor.is_some() {
        no_remedy("the hypervisor offers no faster clock")
    } else {
        no_remedy(
            "the kernel found the CPU's own clock (TSC) unstable or absent: `dmesg | grep -i tsc` says why",
        )
    };
    flawed_finding(what, State::Limited, fact, matters, remedy)
}

fn clock_rate(facts: &Facts) -> Finding {
    let what = CheckedFacility::ClockRate;
    let matters = "comparing CPU counts: a rate that falls with more busy CPUs looks like poor scaling";
    let frequency = &facts.host.frequency;
    let driver = frequency.driver.as_deref().map(|driver| format!(" ({driver})")).unwrap_or_default();
    match frequency.governor.as_deref() {
        Some("performance") => fine_finding(what, format!("governor performance{driver}"), matters),
        Some(governor) => {
            let remedy = write_command(
                &facts.privilege,
                "performance",
                "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
            );
            flawed_finding(what, State::Limited, format!("governor {governor}{driver}"), matters, remedy)
        }
        None if facts.host.hypervisor.is_some() => flawed_finding(
            what,
            State::Limited,
            "decided by the host of this virtual machine, and not visible here",
            matters,
            no_remedy("only the host can change it"),
        ),
        None => flawed_finding(
            what,
            State::Limited,
            "decided by the firmware: the kernel has no driver for it",
            matters,
            no_remedy("look for the CPU's power settings in the firmware's set-up"),
        ),
    }
}

fn boost(facts: &Facts) -> Finding {
    let what = CheckedFacility::Boost;
    let matters = "comparing CPU counts: one busy CPU is boosted further than many";
    match (facts.host.frequency.boost, &facts.settings.boost_switch) {
        (Some(false), _) => fine_finding(what, "off", matters),
        (Some(true), Some((file, off))) => {
            flawed_finding(what, State::Limited, "on", matters, write_command(&facts.privilege, off, file))
        }
        (Some(true), None) => {
            let remedy =
                write_command(&facts.privilege, "0", "/sys/devices/system/cpu/cpufreq/policy*/boost");
            flawed_finding(what, State::Limited, "on", matters, remedy)
        }
        (None, _) => {
            let who = if facts.host.hypervisor.is_some() { "the hypervisor's host" } else { "the firmware" };
            let remedy = no_remedy(format!("only {who} can switch it"));
            flawed_finding(what, State::Limited, "unknown: the kernel does not report it", matters, remedy)
        }
    }
}

fn smt(facts: &Facts) -> Finding {
    let what = CheckedFacility::Smt;
    let matters = "what one more CPU is: a second thread of a core gives less than a core";
    let topology = &facts.host.topology;
    let threads = topology.threads_per_core();
    let cores = topology.cores_in(&topology.usable.cpus);
    let whole = if cores == 1 { "1 whole core".to_owned() } else { format!("{cores} whole cores") };
    if threads > 1 {
        return fine_finding(
            what,
            format!("{threads} threads a core: counts above {cores} add second threads"),
            matters,
        );
    }
    let off = match facts.settings.smt_control.as_deref() {
        Some("off" | "forceoff") => ", SMT switched off",
        _ => ", as far as the kernel reports",
    };
    fine_finding(what, format!("{whole}{off}"), matters)
}

fn core_types(facts: &Facts) -> Finding {
    let what = CheckedFacility::CoreTypes;
    let matters = "efficiency and serial fraction, which are valid only among equal cores";
    let types = &facts.host.topology.core_types;
    if types.len() < 2 {
        return fine_finding(what, "all cores alike", matters);
    }
    let name = |class: CoreClass| match class {
        CoreClass::Performance => "performance".to_owned(),
        CoreClass::Efficiency => "efficiency".to_owned(),
        CoreClass::LowPower => "low-power".to_owned(),
        CoreClass::Uniform => "other".to_owned(),
        CoreClass::Capacity(capacity) => format!("capacity {capacity}"),
        CoreClass::HighestPerformance(rating) => format!("rated {rating}"),
        CoreClass::MaxClock(rate) => format!("up to {rate}"),
    };
    let kinds: Vec<String> = types.iter().map(|kind| format!("{} {}", name(kind.class), kind.cpus)).collect();
    let remedy = plain_command(format!("morecores run --cpu-list {} -- COMMAND", types[0].cpus));
    flawed_finding(
        what,
        State::Limited,
        format!("{} kinds: {}", types.len(), kinds.join("; ")),
        matters,
        remedy,
    )
}

fn hypervisor(facts: &Facts) -> Finding {
    let what = CheckedFacility::Hypervisor;
    let matters =
        "time that a hypervisor takes from a CPU (steal), which otherwise looks like the command's own";
    match (&facts.host.hypervisor, facts.settings.tells_steal) {
        (None, _) => fine_finding(what, "none", matters),
        (Some(name), Some(true)) => {
            fine_finding(what, format!("{name}, which reports the time that it takes (steal)"), matters)
        }
        (Some(name), Some(false)) => flawed_finding(
            what,
            State::Limited,
            format!("{name}, which does not report the time that it takes (steal)"),
            matters,
            no_remedy(
                "only its host can make it report this; measure the noise instead, and repeat at other hours",
            ),
        ),
        (Some(name), None) => flawed_finding(
            what,
            State::Limited,
            format!("{name}; whether it reports the time that it takes (steal) is unknown"),
            matters,
            no_remedy("measure the noise, and repeat at other hours"),
        ),
    }
}

/// Shortest plausible tick: a tenth of the shortest that Linux offers (`CONFIG_HZ=1000`). Sandboxes
/// that imitate Linux claim a resolution of 1 ns.
const SHORTEST_TICK: Nanos = Nanos::from_micros(100);

fn tick(facts: &Facts) -> Finding {
    let what = CheckedFacility::Tick;
    let matters = "the split into user and system time, which the kernel samples at each tick";
    let tick = facts.settings.tick;
    let fact = if tick < SHORTEST_TICK {
        "unknown: the coarse clock does not advance by ticks here".to_owned()
    } else {
        let (hz, tenths_ms) = (1.0 / tick.as_secs_f64(), tick.0 / 100_000);
        format!("{hz:.0} Hz, every {} ms", tenths_ms as f64 / 10.0)
    };
    fine_finding(what, fact, matters)
}

fn swap(facts: &Facts) -> Finding {
    let what = CheckedFacility::Swap;
    let matters = "runs that need memory: swapped-out memory waits for a device";
    let settings = &facts.settings;
    if settings.swap_used > Bytes(0) {
        let fact = format!("{} of {} in use", settings.swap_used, settings.swap);
        return flawed_finding(
            what,
            State::Limited,
            fact,
            matters,
            root_command(&facts.privilege, "swapoff -a"),
        );
    }
    let fact = if settings.swap > Bytes(0) {
        format!("{}, none of it in use", settings.swap)
    } else {
        "none".to_owned()
    };
    fine_finding(what, fact, matters)
}

fn pressure(facts: &Facts) -> Finding {
    let what = CheckedFacility::Pressure;
    let matters = "seeing how long work waited for CPUs, memory or disks (PSI)";
    if facts.settings.pressure {
        return fine_finding(what, "reported by the kernel", matters);
    }
    let remedy = if facts.settings.pressure_built == Some(true) && !facts.privilege.is_confined() {
        let sudo = if facts.privilege.root { "" } else { "sudo " };
        Remedy::Command {
            command: format!(
                "{sudo}sed -i 's/^GRUB_CMDLINE_LINUX=\"/&psi=1 /' /etc/default/grub && {sudo}update-grub"
            ),
            root: true,
            reboot: true,
        }
    } else {
        no_remedy("the kernel was built without CONFIG_PSI or started without psi=1")
    };
    flawed_finding(what, State::Missing, "not reported", matters, remedy)
}

fn aslr(facts: &Facts) -> Finding {
    let what = CheckedFacility::Aslr;
    let matters = "differences between runs: a program with a new layout in each run averages over layouts";
    let fact = match facts.settings.aslr {
        Some(0) => "off: every run has the same layout, fast or slow",
        Some(_) => "on",
        None => "unknown",
    };
    fine_finding(what, fact, matters)
}

fn huge_pages(facts: &Facts) -> Finding {
    let what = CheckedFacility::HugePages;
    let matters = "memory-bound programs, which may be faster or slower with them from run to run";
    fine_finding(what, facts.settings.huge_pages.as_deref().unwrap_or("not in this kernel"), matters)
}
