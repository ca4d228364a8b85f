//! Errors of predictions for programs whose time on any number of CPUs is known. Also the speed of
//! a replay, and the memory of a prediction.
//!
//! The bench asserts nothing: the targets stand beside the figures. An argument selects a part of
//! the bench by a part of its name (`scoring`, `speed`, `memory`). `scoring` evaluates the programs
//! on which predictions are tuned and, beside them, those that nobody looks at while tuning; the
//! example `corpus_score` of the crate morecores-predict evaluates the former alone.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

#[path = "../../predict/tests/corpus/mod.rs"]
mod corpus;
#[path = "../../predict/tests/form_corpus/mod.rs"]
mod form_corpus;
#[path = "../../predict/tests/ratio_score/mod.rs"]
mod ratio_score;
#[path = "../../predict/tests/score/mod.rs"]
mod score;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_predict::demand::Demands;
use morecores_predict::forecast::{Evidence, MeasuredPoint, TracedProgram, forecast};
use morecores_predict::replay::{Machine, Program, Step, replay};
use morecores_statistics::median;
use morecores_study::trace::Event;
use morecores_study::trace::read_trace_events;
use morecores_study::{Nanos, Study};
use procfs::process::{Process, Status};

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let wants = |name: &str| name.contains(&wanted);
    if wants("speed") {
        speed();
    }
    if wants("memory") {
        memory();
    }
    if wants("scoring") {
        scoring();
    }
}

/// Prints the accuracy of predictions for both halves of each corpus.
fn scoring() {
    let halves = [("tuning", corpus::TUNING), ("scoring", corpus::SCORING)];
    for (half, seeds) in halves.clone() {
        println!("programs of the corpus, {half} half:");
        score::score_corpus(seeds, false);
    }
    let varied = halves.map(|(half, seeds)| (half, score::predict_varied_programs(seeds)));
    ratio_score::print_table("varied programs", &varied);
    let forms = [("tuning", form_corpus::TUNING), ("scoring", form_corpus::SCORING)]
        .map(|(half, seeds)| (half, form_corpus::predict_cases(seeds)));
    ratio_score::print_table("predictions from times alone", &forms);
}

// Speed of a replay.

/// Threads and segments of the replayed program.
const THREADS: u32 = 128;
const SEGMENTS: u32 = 1_000_000;

fn speed() {
    let each = SEGMENTS / THREADS;
    let mut first: Vec<Step> = (1..=THREADS).map(Step::Start).collect();
    first.extend((1..=THREADS).map(Step::Join));
    let mut threads = vec![first];
    for id in 0..THREADS {
        let segment = |index: u32| {
            let time = Nanos::from_micros(u64::from(50 + (index * 37 + id * 101) % 200));
            let between =
                if index.is_multiple_of(4) { Step::Sleep(Nanos::from_micros(30)) } else { Step::Mark };
            [Step::Run(time), between]
        };
        threads.push((0..each).flat_map(segment).collect());
    }
    let program = Program { threads, ..Program::default() };
    let machine = Machine::new(64);
    let times: Vec<f64> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(replay(&program, &machine));
            begun.elapsed().as_secs_f64()
        })
        .collect();
    println!(
        "replay of {SEGMENTS} segments on 64 CPUs: {:.3} s, median of {} (at most 0.3 s)",
        median(&times).expect("replays"),
        times.len()
    );
    let demands =
        Demands { threads: Vec::new(), locks: Vec::new(), wake_latency: None, slice: None, program };
    let elapsed = Nanos::from_secs_f64(100.0);
    let point = MeasuredPoint {
        cpus: 1,
        elapsed: elapsed.as_secs_f64(),
        error: 0.01,
        speedup_error: 0.0,
        deviation: 0.01,
        work: None,
        kernel: None,
    };
    let evidence = Evidence {
        points: vec![point],
        programs: vec![TracedProgram::from_demands(demands, 1, 1, elapsed)],
        is_time: true,
        ..Evidence::default()
    };
    let begun = Instant::now();
    std::hint::black_box(forecast(&evidence, &[64]).unwrap());
    println!("prediction from all its draws: {:.1} s", begun.elapsed().as_secs_f64());
}

// Memory of a prediction.

/// Measures the peak memory of a prediction, from the reading of the traces on. The workload
/// `multiuser` leaves the most events.
fn memory() {
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("study");
    let work = Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-work");
    let mut run = Command::new(env!("CARGO_BIN_EXE_morecores"));
    run.args([
        "run",
        "--max-time",
        "0",
        "--cpus",
        "1,2",
        "--runs",
        "1",
        "--min-runs",
        "1",
        "--predict=8",
        "--traced-runs",
        "1",
        "-q",
        "-o",
    ])
    .arg(&study);
    let made = run.arg("--").arg(work).args(["multiuser", "--threads", "{n}"]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = Study::read(&study).unwrap();
    let kib = |of: fn(&Status) -> Option<u64>| of(&Process::myself().unwrap().status().unwrap()).unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = kib(|status| status.vmrss);
    let (mut most, mut views, mut programs) = (0, Vec::new(), Vec::new());
    for header in &read.traces {
        let decoded = read_trace_events(&study, header).unwrap();
        most = most.max(decoded.events.len());
        let trace = DecodedTrace::new(header, decoded);
        let view = trace_view(&trace, &read.header.host.arch);
        programs.extend(TracedProgram::from_trace(&trace, &view));
        views.push(view);
    }
    let evidence = Evidence::from_view(&morecores_view::view(&read, &views), programs, None);
    let evidence = Evidence { receives_n: true, ..evidence };
    std::hint::black_box(forecast(&evidence, &[8]).unwrap());
    let taken = (kib(|status| status.vmhwm) - before) * 1024;
    let bytes = most * size_of::<Event>();
    println!(
        "memory: a prediction takes {} MiB, {:.1} times the largest of its decoded traces, {most} events in {} MiB (at most 3)",
        taken >> 20,
        taken as f64 / bytes as f64,
        bytes >> 20
    );
}
