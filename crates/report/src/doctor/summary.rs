//! The summary of a diagnosis, in plain words.

use morecores_machine::{CheckedFacility, Diagnosis, Remedy, State};
use morecores_study::noise::CpuRelation;
use morecores_view::machine_noise::MachineNoise;

use crate::format::{cpus, join_with_and, percent, ratio, time, two_digits};

/// Slowdown from which a sentence is worthwhile: a curve does not show less.
const LEAST_SLOWDOWN: f64 = 1.02;

/// Summary in one paragraph: what can be measured, what can be traced, the smallest visible
/// difference, and what to do.
pub(super) fn summary_text(diagnosis: &Diagnosis, noise: Option<&MachineNoise>) -> String {
    let mut sentences = vec![timing_sentence(diagnosis), tracing_sentence(diagnosis)];
    sentences.extend(noise.map(visible_difference_sentence));
    sentences.extend(noise.and_then(attainable_speedup_sentence));
    sentences.extend(spoilers_sentence(diagnosis));
    sentences.push(remedies_sentence(diagnosis));
    sentences.join(" ")
}

fn is_fine(diagnosis: &Diagnosis, what: CheckedFacility) -> bool {
    diagnosis.finding(what).is_some_and(|finding| finding.state == State::Fine)
}

fn timing_sentence(diagnosis: &Diagnosis) -> String {
    let usable = diagnosis.host.topology.usable.count;
    let most = cpus(u32::try_from(usable).unwrap_or(u32::MAX));
    let counts = if usable > 1 { format!("1 to {most}") } else { most };
    let mut limits = vec!["affinity"];
    limits.extend(is_fine(diagnosis, CheckedFacility::LimitCpuset).then_some("cpuset"));
    limits.extend(is_fine(diagnosis, CheckedFacility::LimitHotplug).then_some("hotplug"));
    let split = if is_fine(diagnosis, CheckedFacility::CpuTime) {
        "user and system time of every process are counted"
    } else {
        "user and system time of short processes are not reliable"
    };
    format!("Commands can be timed here on {counts}, limited by {}; {split}.", join_with_and(limits))
}

fn tracing_sentence(diagnosis: &Diagnosis) -> String {
    let needed = [
        (CheckedFacility::Bpf, "BPF"),
        (CheckedFacility::Btf, "BTF"),
        (CheckedFacility::Tracepoints, "tracepoints"),
    ];
    let missing: Vec<&str> =
        needed.iter().filter(|(what, _)| !is_fine(diagnosis, *what)).map(|(_, name)| *name).collect();
    if !missing.is_empty() {
        let instead = if is_fine(diagnosis, CheckedFacility::OwnSwitches) {
            "; the command's context switches alone can be recorded"
        } else {
            ""
        };
        return format!("Tracing lacks {}{instead}.", join_with_and(missing));
    }
    let counters = if is_fine(diagnosis, CheckedFacility::HardwareCounters) {
        ""
    } else {
        ", without hardware counters"
    };
    format!("The kernel allows tracing{counters}.")
}

fn visible_difference_sentence(noise: &MachineNoise) -> String {
    match noise.floor {
        Some(floor) => format!(
            "Between two commands of {}, run {} times each, a difference of {} or less may be \
             chance. Longer runs average some of it out.",
            time(noise.loop_s),
            noise.arm,
            percent(floor)
        ),
        None => "The smallest visible difference is not known: measure the noise for longer.".to_owned(),
    }
}

/// Best speedup that all CPUs together can give, if they slow each other down.
fn attainable_speedup_sentence(noise: &MachineNoise) -> Option<String> {
    let all = noise.disturbances.iter().find(|disturbance| disturbance.relation == CpuRelation::All)?;
    let n = all.cpus.len();
    let waited = noise.cpus.iter().filter_map(|cpu| cpu.waited).fold(0.0, f64::max);
    if waited > LEAST_SLOWDOWN - 1.0 {
        return Some(format!(
            "Other programs took up to {} of a CPU's time meanwhile, so these figures show their noise and not \
             the machine's: stop them and measure again.",
            percent(waited)
        ));
    }
    let [low, high] = all.slowdown.ci95.unwrap_or([1.0, f64::INFINITY]);
    Some(if low >= LEAST_SLOWDOWN {
        format!(
            "With all {n} CPUs computing, each takes {} times as long as alone: even a perfect program gets a \
             speedup of about {} here, not {n}.",
            ratio(all.slowdown.value),
            two_digits(n as f64 / all.slowdown.value)
        )
    } else if high < LEAST_SLOWDOWN {
        format!("The {n} CPUs do not slow each other down by more than {}.", percent((high - 1.0).max(0.001)))
    } else {
        "Whether the CPUs slow each other down is not known, because the noise is too large: measure it for \
         longer, or on a quieter machine."
            .to_owned()
    })
}

/// Problems that spoil figures without any other sign, repeated in the summary.
fn spoilers_sentence(diagnosis: &Diagnosis) -> Option<String> {
    let names = [
        (CheckedFacility::Quiet, "other work"),
        (CheckedFacility::Clock, "the slow clock"),
        (CheckedFacility::ClockRate, "the changing clock rate"),
        (CheckedFacility::Boost, "boost"),
        (CheckedFacility::CoreTypes, "the mixed core types"),
        (CheckedFacility::Hypervisor, "the hypervisor"),
        (CheckedFacility::Swap, "swapping"),
    ];
    let spoilers: Vec<&str> = names
        .iter()
        .filter(|(what, _)| diagnosis.finding(*what).is_some_and(|f| f.state != State::Fine))
        .map(|(_, name)| *name)
        .collect();
    (!spoilers.is_empty()).then(|| format!("Figures may be wrong because of {}.", join_with_and(spoilers)))
}

fn remedies_sentence(diagnosis: &Diagnosis) -> String {
    let flaws = diagnosis.findings.iter().filter(|finding| finding.state != State::Fine).count();
    let commands =
        diagnosis.findings.iter().filter(|finding| matches!(finding.remedy, Some(Remedy::Command { .. })));
    match (flaws, commands.count()) {
        (0, _) => "Nothing is left to set up.".to_owned(),
        (1, 0) => "No command can change the one thing that is not fine.".to_owned(),
        (flaws, 0) => {
            format!("No command can change any of the {flaws} things that are not fine.")
        }
        (flaws, commands) if flaws == commands => {
            "A command above changes each thing that is not fine.".to_owned()
        }
        (flaws, 1) => format!("A command above changes 1 of the {flaws} things that are not fine."),
        (flaws, commands) => {
            format!("Commands above change {commands} of the {flaws} things that are not fine.")
        }
    }
}
