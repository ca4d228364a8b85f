//! Bounds on what a part of the critical path can be worth, against edited runs: the work of a
//! command is cut from the demands of a recorded trace, and the rest is replayed. No cut may gain
//! more than the bound that `explain` computes from the trace alone.

use std::path::{Path, PathBuf};

use morecores_explain::trace::{ThreadId, Timeline};
use morecores_explain::{DecodedTrace, Programs, trace_view};
use morecores_predict::demand::Demands;
use morecores_predict::replay::{Machine, Program, Step, replay};
use morecores_study::Nanos;
use morecores_study::trace::{TraceHeader, read_trace_events, read_trace_headers, trace_name};
use morecores_view::PathActivity;

/// Largest error of a replay, as in `recorded_traces.rs`: a gain may exceed its bound by as much.
const ALLOWED: f64 = 0.015;
/// Parts of the work that the cuts leave.
const LEFT: [f64; 3] = [0.0, 0.3, 0.8];
/// Largest traces of committed studies to read, in bytes: the others take too long.
const LARGEST_TRACES: u64 = 200_000;

#[test]
fn no_cut_of_work_gains_more_than_its_bound() {
    let (mut cuts, mut gains) = (0, 0);
    for study in traced_studies() {
        for header in read_trace_headers(&study).expect("headers").whole {
            let decoded = read_trace_events(&study, &header).expect("its events");
            let trace = DecodedTrace::new(&header, decoded);
            let name = format!("{}: {}", study.display(), trace_name(&header));
            let (made, worth) = check_trace(&name, &header, &trace);
            (cuts, gains) = (cuts + made, gains + worth);
        }
    }
    // The test compares something: many cuts, and a good part of them saves time.
    assert!(cuts >= 200 && gains * 2 >= cuts, "{gains} of {cuts} cuts save time");
}

/// Cuts the work of each command on the path of a trace. Returns the number of cuts, and of those
/// that save more than the allowed error.
fn check_trace(name: &str, header: &TraceHeader, trace: &DecodedTrace<'_>) -> (u32, u32) {
    let (Some(demands), timeline) = (Demands::from_timeline(&trace.timeline), &trace.timeline) else {
        return (0, 0);
    };
    let Some(path) = trace_view(trace, "x86_64").critical_path else { return (0, 0) };
    let programs = Programs::from_timeline(timeline);
    let machine = Machine {
        slice: demands.slice.unwrap_or(Machine::new(1).slice),
        wake_latency: demands.wake_latency.unwrap_or(Nanos::ZERO),
        ..Machine::new(header.run.cpus)
    };
    let elapsed = |program: &Program| replay(program, &machine).elapsed.as_secs_f64();
    let whole = elapsed(&demands.program);
    let (mut cuts, mut gains) = (0, 0);
    for part in path.parts.iter().filter(|part| part.activity == PathActivity::Running) {
        let (Some(command), Some(bound)) = (&part.command, part.gain_bound_s) else { continue };
        for left in LEFT {
            let is_cut = |thread: usize| {
                only_program(timeline, &programs, demands.threads[thread]).as_ref() == Some(command)
            };
            let gain = whole - elapsed(&cut(&demands.program, is_cut, left));
            assert!(
                gain <= bound + ALLOWED * whole,
                "{name}, {command} at {left}: {gain}, bound {bound} of {whole}"
            );
            cuts += 1;
            gains += u32::from(gain > ALLOWED * whole);
        }
    }
    (cuts, gains)
}

/// Program of a thread, if it ran only this one.
fn only_program(timeline: &Timeline, programs: &Programs, id: ThreadId) -> Option<String> {
    let segments = &timeline.thread(id).segments;
    let mut names =
        segments.iter().flat_map(|s| [s.from, s.to]).map(|at| programs.thread_name(timeline, id, at));
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

/// Program with a share of the work of some threads.
fn cut(program: &Program, is_cut: impl Fn(usize) -> bool, left: f64) -> Program {
    let mut edited = program.clone();
    let scale = |steps: &mut Vec<Step>| {
        for step in steps {
            if let Step::Run(time) | Step::Hold { time, .. } = step {
                *time = Nanos::from_secs_f64(time.as_secs_f64() * left);
            }
        }
    };
    for (_, script) in edited.threads.iter_mut().enumerate().filter(|(thread, _)| is_cut(*thread)) {
        scale(script);
    }
    for shared in &mut edited.shared_work {
        if shared.members.iter().all(|member| is_cut(*member as usize)) {
            shared.pieces.iter_mut().for_each(scale);
        }
    }
    edited
}

/// Folders with traces: the fixtures, and the committed studies with small traces.
fn traced_studies() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let dates = entries(&root.join("studies"));
    let studies = dates.iter().flat_map(|date| entries(date));
    let bytes = |study: &PathBuf| -> u64 {
        let files = std::fs::read_dir(study.join("traces")).into_iter().flatten().flatten();
        files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum()
    };
    let small = studies.filter(|study| (1..LARGEST_TRACES).contains(&bytes(study)));
    let mut all: Vec<PathBuf> = entries(&root.join("fixtures/traces")).into_iter().chain(small).collect();
    all.sort();
    all
}
