//! The findings in words.

use std::fmt::Write;
use std::path::Path;

use morecores_study::trace::SourceLine;

use crate::description::{Description, WaitDescription};
use crate::findings::{CoreFile, Findings};
use crate::replay::Replay;
use crate::schedule::{Percent, Schedule};
use crate::verdict::Verdict;

/// Frames of a stack that are shown. The findings have all.
const SHOWN_FRAMES: usize = 8;

/// Text of the findings.
pub fn text(findings: &Findings) -> String {
    let mut text = String::new();
    let cpus = findings.cpus;
    let _ = writeln!(text, "{}", verdict_text(findings));
    let _ = writeln!(text);
    for (schedule, tally) in &findings.tallies {
        let name = match schedule {
            Schedule::OneCpu => "1 CPU".to_owned(),
            Schedule::OneCpuHolds => "1 CPU, threads held".to_owned(),
            Schedule::Cpus => format!("{cpus} CPUs"),
            Schedule::CpusHolds => format!("{cpus} CPUs, threads held"),
            Schedule::CpusSplits => format!("{cpus} CPUs, updates split"),
            Schedule::CpusTogether => format!("{cpus} CPUs, rendezvous"),
        };
        let failures: Vec<String> = tally.failures.keys().map(ToString::to_string).collect();
        let _ = writeln!(text, "  {name:<22} {tally}  {}", failures.join("; "));
    }
    if let Some(first) = &findings.first_failure {
        let _ = writeln!(
            text,
            "\nThe first failure was in run {} ({:.1} s): {}.",
            first.run, first.seconds, first.failure
        );
        if let Some(crash) = &first.crash {
            let _ = writeln!(text, "It ended at {}.", site_text(crash));
        }
        let is_known = |wait: &&WaitDescription| wait.lock.is_some() || wait.holder.is_some();
        for wait in first.waits.iter().filter(is_known) {
            let lock =
                wait.lock.as_deref().map_or("a lock without a name".to_owned(), |name| format!("`{name}`"));
            let holder =
                wait.holder.map(|thread| format!(", which thread {thread} holds")).unwrap_or_default();
            let _ = writeln!(text, "  thread {} waits for {lock}{holder}", wait.thread);
        }
    }
    match findings.first_failure.as_ref().and_then(|first| first.core.as_ref()) {
        Some(CoreFile::Written(path)) => _ = writeln!(text, "  its core, for a debugger: {}", path.display()),
        Some(CoreFile::Failed(reason)) => _ = writeln!(text, "  no core was written: {reason}"),
        None => {}
    }
    for stack in findings.first_failure.iter().flat_map(|first| &first.stacks) {
        let names = stack.frames.iter().take(SHOWN_FRAMES);
        let names = names.map(|frame| frame.function.as_deref().unwrap_or("?")).collect::<Vec<_>>();
        let _ = writeln!(text, "  thread {} in {}", stack.thread, names.join(" < "));
    }
    if !findings.effects.is_empty() {
        let _ = writeln!(text, "\nFailures on {cpus} CPUs, by the site of the holds:");
        let fails_alone =
            findings.effects.iter().any(|effect| effect.sites.len() == 1 && effect.tally.failed() > 0);
        for effect in findings.effects.iter().filter(|effect| effect.sites.len() == 1 || !fails_alone) {
            let moment = moment(effect.schedule);
            let sites: Vec<String> = effect.sites.iter().map(site_text).collect();
            let joined = sites.join("\n      or ");
            let meaning = if effect.tally.failed() == 0 { "; not seen to matter" } else { "" };
            let _ = writeln!(text, "  {}{meaning}\n    {moment} {joined}", effect.tally);
        }
    }
    let sites = &findings.sites;
    let _ = writeln!(
        text,
        "\n{} runs in {:.0} s; {} of {} sites held, of {} candidates{}; seed {}",
        findings.runs,
        findings.seconds,
        sites.held,
        sites.executed,
        sites.candidates,
        findings.slowdown.map(|factor| format!("; holds took {factor:.2} times as long")).unwrap_or_default(),
        findings.seed,
    );
    text
}

/// Verdict in words.
pub(crate) fn verdict_text(findings: &Findings) -> String {
    let cpus = findings.cpus;
    match findings.verdict {
        Verdict::NoFailure => {
            let runs: u64 = findings.tallies.values().map(|tally| tally.runs).sum();
            let bound = findings.tallies.get(&Schedule::CpusHolds).map_or(1.0, |tally| tally.rate().hi);
            format!(
                "No failure in {runs} runs. With threads held on {cpus} CPUs, fewer than {} of the runs fail \
                 (95%). That is no proof.",
                Percent(bound)
            )
        }
        Verdict::NotThreadSafe => {
            "It is not thread-safe: it fails on one CPU too, if another thread runs at the \
                                   wrong moment."
                .to_owned()
        }
        Verdict::UnlockedUpdate => format!(
            "It can fail on {cpus} CPUs and not on one: an update of memory without LOCK is atomic on one CPU \
             alone (shown by emulation)."
        ),
        Verdict::MemoryOrder => format!(
            "It fails on {cpus} CPUs and not on one, when two threads go on at the same time and under no hold: \
             it relies on an order of memory accesses that these CPUs do not keep. A fence is missing."
        ),
        Verdict::Priority => format!(
            "It fails on {cpus} CPUs and not on one: it relies on a real-time priority to keep other threads \
             from running."
        ),
        Verdict::OnlyOnSeveralCpus => {
            format!("It fails on {cpus} CPUs and not on one. The reason is unknown.")
        }
        Verdict::NotRepeated => {
            "One run failed, and none of the later ones. More runs would tell more (--time, --runs)."
                .to_owned()
        }
        Verdict::Unknown => format!(
            "It fails on {cpus} CPUs. Whether it fails on one CPU is unknown: more runs would tell (--time, --runs)."
        ),
    }
}

/// Moment of a hold at a site.
pub(crate) fn moment(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::CpusSplits => "inside",
        Schedule::CpusTogether => "together at",
        _ => "before",
    }
}

/// Result of repetitions in words.
pub fn replay_text(replay: &Replay) -> String {
    let then = replay.failure.as_deref().unwrap_or("no failure");
    let again: Vec<String> = replay.tally.failures.keys().map(ToString::to_string).collect();
    format!("run {} ({then}) again: failed in {}  {}\n", replay.run, replay.tally, again.join("; "))
}

/// Site as one line: "`add dword ptr [counter], 1` in `worker`, counter.c:12".
pub(crate) fn site_text(site: &Description) -> String {
    let instruction =
        site.instruction.as_deref().map_or("an instruction".to_owned(), |text| format!("`{text}`"));
    let function = site.function.as_deref().map(|name| format!(" in `{name}`")).unwrap_or_default();
    let source = site.source.as_ref().map(line_text).unwrap_or_default();
    format!("{instruction}{function}{source}")
}

/// Line with the name of its file, without the folders.
fn line_text(line: &SourceLine) -> String {
    let file = Path::new(&line.file).file_name().unwrap_or_default().display();
    format!(", {file}:{}", line.line)
}
