//! The findings in words.

use std::fmt::Write;
use std::path::Path;

use morecores_study::trace::SourceLine;

use crate::findings::{CoreFile, Evidence, Findings, FirstFailure, Replay, SiteEffect};
use crate::place::{Description, StackDescription, WaitDescription};
use crate::schedule::{Schedule, percent};
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
        let failures: Vec<String> = tally.failures.keys().map(ToString::to_string).collect();
        let name = schedule_text(*schedule, cpus);
        let _ = writeln!(text, "  {name:<22} {tally}  {}", failures.join("; "));
    }
    if let Some(first) = &findings.first_failure {
        let _ = writeln!(text, "\n{}", first_failure_text(first));
        let stacks = first.stacks.iter().map(stack_text);
        for line in first_failure_details(first).into_iter().chain(stacks) {
            let _ = writeln!(text, "  {line}");
        }
    }
    if !findings.effects.is_empty() {
        let _ = writeln!(text, "\nFailures on {cpus} CPUs, by the site of the holds:");
        let fails_alone =
            findings.effects.iter().any(|effect| effect.sites.len() == 1 && effect.tally.failed() > 0);
        for effect in findings.effects.iter().filter(|effect| effect.sites.len() == 1 || !fails_alone) {
            let meaning = if effect.tally.failed() == 0 { "; not seen to matter" } else { "" };
            let sites = effect_text(effect, "\n      or ");
            let _ = writeln!(text, "  {}{meaning}\n    {sites}", effect.tally);
        }
    }
    let _ = writeln!(text, "\n{}", summary_text(findings));
    text
}

/// Schedule in words, on `cpus` CPUs where it has several.
pub fn schedule_text(schedule: Schedule, cpus: usize) -> String {
    match schedule {
        Schedule::OneCpu => "1 CPU".to_owned(),
        Schedule::OneCpuHolds => "1 CPU, threads held".to_owned(),
        Schedule::Cpus => format!("{cpus} CPUs"),
        Schedule::CpusHolds => format!("{cpus} CPUs, threads held"),
        Schedule::CpusSplits => format!("{cpus} CPUs, updates split"),
        Schedule::CpusTogether => format!("{cpus} CPUs, rendezvous"),
    }
}

/// First failure in words.
pub fn first_failure_text(first: &FirstFailure) -> String {
    format!("The first failure was in run {} ({:.1} s): {}.", first.run, first.seconds, first.failure)
}

/// Crash, waits and core of the first failure, one line each.
pub fn first_failure_details(first: &FirstFailure) -> Vec<String> {
    let crash = first.crash.as_ref().map(|crash| format!("it ended at {}", site_text(crash)));
    let mut lines = Vec::from_iter(crash);
    let is_known = |wait: &&WaitDescription| wait.lock.is_some() || wait.holder.is_some();
    lines.extend(first.waits.iter().filter(is_known).map(|wait| {
        let lock =
            wait.lock.as_deref().map_or("a lock without a name".to_owned(), |name| format!("`{name}`"));
        let holder = wait.holder.map(|thread| format!(", which thread {thread} holds")).unwrap_or_default();
        format!("thread {} waits for {lock}{holder}", wait.thread)
    }));
    lines.extend(first.core.as_ref().map(|core| match core {
        CoreFile::Written(path) => format!("its core, for a debugger: {}", path.display()),
        CoreFile::Failed(reason) => format!("no core was written: {reason}"),
    }));
    lines
}

/// Stack of a thread as one line, the innermost functions first.
pub fn stack_text(stack: &StackDescription) -> String {
    let names = stack.frames.iter().take(SHOWN_FRAMES);
    let names = names.map(|frame| frame.function.as_deref().unwrap_or("?")).collect::<Vec<_>>();
    format!("thread {} in {}", stack.thread, names.join(" < "))
}

/// Moment and sites of the holds of some runs, with `or` between the sites.
pub fn effect_text(effect: &SiteEffect, or: &str) -> String {
    let sites: Vec<String> = effect.sites.iter().map(site_text).collect();
    let hit = effect.hit.map(|hit| format!(" (execution {hit} of each thread)"));
    format!("{} {}{}", moment(effect.schedule), sites.join(or), hit.unwrap_or_default())
}

/// Evidence in words, as the entry of a table.
pub fn evidence_text(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Race => "race",
        Evidence::NearRace => "near a race",
        Evidence::ThreadCall => "thread function",
        Evidence::Atomic => "atomic instruction",
        Evidence::SharedData => "shared memory",
        Evidence::NearAccess => "near a thread function or an atomic",
    }
}

/// Size of the search in one line.
pub fn summary_text(findings: &Findings) -> String {
    let sites = &findings.sites;
    let slowdown =
        findings.slowdown.map(|factor| format!("; runs with holds took {factor:.2} times as long"));
    format!(
        "{} runs in {:.0} s; {} of {} sites held, of {} candidates{}; seed {}",
        findings.runs,
        findings.seconds,
        sites.held,
        sites.executed,
        sites.candidates,
        slowdown.unwrap_or_default(),
        findings.seed,
    )
}

/// Verdict in words.
pub fn verdict_text(findings: &Findings) -> String {
    let cpus = findings.cpus;
    match findings.verdict {
        Verdict::NoFailure => {
            let runs: u64 = findings.tallies.values().map(|tally| tally.runs).sum();
            let bound = findings.tallies.get(&Schedule::CpusHolds).map_or(1.0, |tally| tally.rate().hi);
            format!(
                "No failure in {runs} runs. With threads held on {cpus} CPUs, fewer than {} of the runs fail \
                 (95%). That is no proof.",
                percent(bound)
            )
        }
        Verdict::NotThreadSafe => {
            "It is not thread-safe: it fails on one CPU too, if another thread runs at the wrong moment."
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
fn moment(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::CpusSplits => "inside",
        Schedule::CpusTogether => "together at",
        _ => "before",
    }
}

/// Result of repetitions in words.
pub fn replay_text(replay: &Replay) -> String {
    let then = replay.failure.as_ref().map_or("no failure".to_owned(), ToString::to_string);
    let again: Vec<String> = replay.tally.failures.keys().map(ToString::to_string).collect();
    format!("run {} ({then}) again: failed in {}  {}\n", replay.run, replay.tally, again.join("; "))
}

/// Site as one line: "`add dword ptr [counter], 1` in `worker`, counter.c:12".
pub fn site_text(site: &Description) -> String {
    let instruction =
        site.instruction.as_deref().map_or("an instruction".to_owned(), |text| format!("`{text}`"));
    let function = site.function.as_deref().map(|name| format!(" in `{name}`")).unwrap_or_default();
    let source = site.source.as_ref().map(|line| format!(", {}", line_text(line))).unwrap_or_default();
    format!("{instruction}{function}{source}")
}

/// Line with the name of its file, without the folders: "counter.c:12".
pub fn line_text(line: &SourceLine) -> String {
    let file = Path::new(&line.file).file_name().unwrap_or_default().display();
    format!("{file}:{}", line.line)
}
