//! A machine's ability to measure, its noise and its memory, for a terminal or a pipe.
//!
//! The report has grouped findings, the noise, the memory, and a summary paragraph. Other crates
//! make the findings and compute the figures.

mod memory;
mod noise;
mod summary;

use morecores_machine::{Area, CheckedFacility, Diagnosis, Finding, Remedy, State};
use morecores_view::machine_memory::MachineMemory;
use morecores_view::machine_noise::MachineNoise;

use crate::Style;

/// Columns of a state and of a subject's name, with the spaces behind each.
const STATE_WIDTH: usize = "limited".len() + 2;
const NAME_WIDTH: usize = "hardware counters".len() + 2;

/// Indentation of every line of a group.
const INDENT: usize = 2;

/// Minimum width of the text at which a fact gets half of its line, next to state and name.
const LEAST_TWO_COLUMN_WIDTH: usize = 64;

/// Whole report, each line ended by a newline. Only a command makes a line wider than the style's
/// width: it is not broken, so that it can be copied.
pub fn doctor_report(
    diagnosis: &Diagnosis,
    noise: Option<&MachineNoise>,
    memory: Option<&MachineMemory>,
    style: &Style,
) -> String {
    let mut sections = vec![machine_lines(diagnosis, style)];
    for (area, title) in
        [(Area::Measuring, "Measuring"), (Area::Tracing, "Tracing"), (Area::Machine, "Machine")]
    {
        let findings: Vec<&Finding> = diagnosis.findings.iter().filter(|f| f.what.area() == area).collect();
        if !findings.is_empty() {
            let mut lines = vec![style.paint().bold(title)];
            lines.extend(findings.iter().flat_map(|f| finding_lines(f, style)));
            sections.push(lines);
        }
    }
    sections.extend(noise.map(|noise| noise::noise_lines(noise, style)));
    let memory = memory.map(|memory| memory::memory_lines(memory, style));
    sections.extend(memory.filter(|lines| !lines.is_empty()));
    sections.push(style.wrap(&summary::summary_text(diagnosis, noise), ""));
    sections.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// The machine in a line.
fn machine_lines(diagnosis: &Diagnosis, style: &Style) -> Vec<String> {
    let host = &diagnosis.host;
    let memory = (host.memory_bytes.0 > 0).then(|| host.memory_bytes.to_string());
    let parts = [
        Some(host.hostname.clone()),
        Some(host.cpu_model.clone()),
        memory,
        Some(host.os.clone()),
        Some(format!("Linux {}", host.kernel)),
        host.hypervisor.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect();
    style.wrap(&parts.join(" · "), "  ")
}

/// A finding: its fact; unless its state is fine, also its effect and the remedy.
fn finding_lines(finding: &Finding, style: &Style) -> Vec<String> {
    let state = match finding.state {
        State::Fine => "fine",
        State::Limited => "limited",
        State::Missing => "missing",
    };
    let label = format!("{:INDENT$}{state:STATE_WIDTH$}{:NAME_WIDTH$}", "", subject_name(finding.what));
    let two_columns = style.text_width() >= LEAST_TWO_COLUMN_WIDTH;
    let column = " ".repeat(if two_columns { INDENT + STATE_WIDTH + NAME_WIDTH } else { INDENT * 2 });

    let mut lines = if two_columns {
        style.wrap_after(&finding.fact, &label, &column)
    } else {
        let mut lines = vec![label.trim_end().to_owned()];
        lines.extend(wrap_indented(&finding.fact, &column, style));
        lines
    };
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(state, &style.paint().state(finding.state, state), 1);
    }
    let Some(remedy) = &finding.remedy else { return lines };
    let dim = |line: &String| style.paint().dim(line);
    let matters = format!("matters for {}", finding.matters);
    lines.extend(wrap_indented(&matters, &column, style).iter().map(dim));
    match remedy {
        Remedy::Command { command, reboot, .. } => {
            let letters = Style { unicode: true, ..*style };
            lines.push(format!("{column}$ {}", style.paint().bold(&letters.text(command))));
            if *reboot {
                lines.extend(wrap_indented("It takes effect at the next boot.", &column, style));
            }
        }
        Remedy::Nothing { why } => lines.extend(wrap_indented(why, &column, style)),
    }
    lines
}

/// Wraps text into a column that begins at the end of `column`.
fn wrap_indented(text: &str, column: &str, style: &Style) -> Vec<String> {
    style.wrap_after(text, column, column)
}

/// Readable name of a subject.
fn subject_name(subject: CheckedFacility) -> &'static str {
    match subject {
        CheckedFacility::UsableCpus => "usable CPUs",
        CheckedFacility::Quiet => "quiet",
        CheckedFacility::CpuTime => "CPU time",
        CheckedFacility::PeakMemory => "peak memory",
        CheckedFacility::LimitCpuset => "--limit cpuset",
        CheckedFacility::LimitHotplug => "--limit hotplug",
        CheckedFacility::ColdCache => "--cold",
        CheckedFacility::Taskstats => "taskstats",
        CheckedFacility::Privilege => "privilege",
        CheckedFacility::Bpf => "BPF",
        CheckedFacility::Btf => "BTF",
        CheckedFacility::Tracefs => "tracefs",
        CheckedFacility::Tracepoints => "tracepoints",
        CheckedFacility::KernelLocks => "kernel locks",
        CheckedFacility::Samples => "samples",
        CheckedFacility::OwnSwitches => "own switches",
        CheckedFacility::Kprobes => "kprobes",
        CheckedFacility::Fentry => "fentry",
        CheckedFacility::LockedMemory => "locked memory",
        CheckedFacility::HardwareCounters => "hardware counters",
        CheckedFacility::Clock => "clock",
        CheckedFacility::ClockRate => "clock rate",
        CheckedFacility::Boost => "boost",
        CheckedFacility::Smt => "cores",
        CheckedFacility::CoreTypes => "core types",
        CheckedFacility::Hypervisor => "hypervisor",
        CheckedFacility::Tick => "tick",
        CheckedFacility::Swap => "swap",
        CheckedFacility::Pressure => "pressure",
        CheckedFacility::Aslr => "ASLR",
        CheckedFacility::HugePages => "huge pages",
    }
}
