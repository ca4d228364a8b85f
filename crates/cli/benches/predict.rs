//! Errors of predictions: for published data, for commands on this machine, and for programs whose
//! time on any number of CPUs is known. Also the speed of a replay, and the memory of a prediction.
//!
//! The bench asserts nothing: the targets stand beside the figures. An argument selects parts of
//! the bench by a part of their names (`machine`, `corpus`, `scoring`, `forms`, `speed`, `memory`).
//! `corpus` evaluates the programs on which predictions are tuned; only `scoring` evaluates the
//! others. `forms` prints both halves of the cases for predictions from times alone.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;
#[path = "../../predict/tests/corpus/mod.rs"]
mod corpus;
#[path = "../../predict/tests/form_corpus/mod.rs"]
mod form_corpus;
#[path = "../../predict/tests/score/mod.rs"]
mod score;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use morecores_explain::{DecodedTrace, trace_view};
use morecores_predict::forecast::{Evidence, TracedProgram, forecast};
use morecores_predict::replay::{Machine, Program, Step, replay};
use morecores_statistics::median;
use morecores_study::trace::Event;
use morecores_study::trace::read_trace_events;
use morecores_study::{Nanos, Study};
use morecores_view::{Prediction, Summary};

use common::quiet;
use procfs::process::{Process, Status};
use score::{Outcome, Target};

fn main() {
    let wanted = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let wants = |name: &str| name.contains(&wanted);
    if wants("speed") {
        speed();
    }
    if wants("memory") {
        memory();
    }
    if wanted == "corpus" {
        score::score_corpus(corpus::TUNING, prints_each());
    } else if wants("scoring") {
        score::score_corpus(corpus::SCORING, prints_each());
    }
    if wants("forms") {
        for (half, seeds) in [("tuning", form_corpus::TUNING), ("scoring", form_corpus::SCORING)] {
            println!("closed forms, {half} half:");
            form_corpus::FormScore::from_seeds(seeds).iter().for_each(form_corpus::FormScore::print);
        }
    }
    if wants("machine") {
        quiet();
        score_machine();
    }
}

/// Whether to print every outcome of the corpus.
fn prints_each() -> bool {
    std::env::args().any(|argument| argument == "each")
}

// Predictions for this machine.

/// Bytes of the file that the compressors and sort read.
const FILE: usize = 48 << 20;

/// Commands: name, preparation before a run, command line. Words in capitals are replaced.
const COMMANDS: [(&str, &str, &str); 15] = [
    ("xz", "", "xz -kfc -1 -T{n} --block-size=2MiB FILE"),
    ("zstd", "", "zstd -qfc -9 -T{n} FILE"),
    ("pigz", "", "pigz -c -p{n} FILE"),
    ("sort", "", "sort --parallel={n} -S1G -o /dev/null FILE FILE FILE FILE"),
    ("kernel lib/ -j{n}", "KERNEL clean", "KERNEL build {n} lib"),
    ("kernel mm/ -j8", "KERNEL clean", "KERNEL build 8 mm"),
    ("work build", "", "WORK build --threads {n}"),
    ("work raytrace", "", "WORK raytrace --threads {n}"),
    ("work matmul", "", "WORK matmul --threads {n}"),
    ("work keysearch", "", "WORK keysearch --threads {n}"),
    ("work quicksort", "", "WORK quicksort --threads {n}"),
    ("work soften", "", "WORK soften --threads {n}"),
    ("work multiuser", "", "WORK multiuser --threads {n}"),
    ("work count", "", "WORK count --threads {n}"),
    ("gzip by xargs", "", "sh -c 'ls PIECES/* | xargs -P{n} -n1 gzip -kc > /dev/null'"),
];

fn score_machine() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, text(FILE)).unwrap();
    let pieces = dir.path().join("pieces");
    std::fs::create_dir(&pieces).unwrap();
    for (index, piece) in text(FILE / 2).chunks(FILE / 48).enumerate() {
        std::fs::write(pieces.join(format!("{index:02}")), piece).unwrap();
    }
    let only = std::env::args().skip(1).filter(|word| !word.starts_with('-')).nth(1).unwrap_or_default();
    let (mut outcomes, mut open) = (Vec::new(), Vec::new());
    for (name, prepare, command) in COMMANDS.iter().filter(|(name, ..)| name.contains(&only)) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/kernel-part.sh");
        let work = Path::new(env!("CARGO_BIN_EXE_morecores")).with_file_name("morecores-work");
        let fill = |line: &str| {
            line.replace("KERNEL", &script.to_string_lossy())
                .replace("WORK", &work.to_string_lossy())
                .replace("PIECES", &pieces.to_string_lossy())
                .replace("FILE", &file.to_string_lossy())
        };
        let study = dir.path().join("study");
        let _ = std::fs::remove_dir_all(&study);
        match on_two(&study, &fill(prepare), &fill(command)) {
            Ok((found, measured, [of_one, of_two])) => {
                if let Some(outcome) = Outcome::from_prediction((*name).to_owned(), &found, measured) {
                    let line = outcome.render_line();
                    println!("  {line} (1 CPU known to {:.1}%, 2 to {:.1}%)", 100.0 * of_one, 100.0 * of_two);
                    open.push(of_one.hypot(of_two));
                    outcomes.push(outcome);
                }
            }
            Err(reason) => println!("  {name}: skipped: {reason}"),
        }
    }
    score::print_score(
        "this machine, 1 to 2 CPUs",
        &outcomes,
        Some(Target { median: 1.5, p90: 5.0, covered: 83.0, width: 20.0 }),
    );
    // A prediction rests on the median of 1 CPU and is compared with that of 2. No model can be
    // more precise than these two medians.
    let errors = outcomes.iter().map(|outcome| outcome.error().map_or(0.0, f64::abs));
    let within = errors.zip(&open).filter(|(error, open)| error <= open).count();
    println!(
        "  {within} of {} are within what the measured medians leave open themselves, {:.1}% in the median",
        open.len(),
        100.0 * median(&open).unwrap_or(f64::NAN)
    );
}

/// Prediction for 2 CPUs from 1 CPU by the program under test. Also the elapsed time on 2 CPUs, and
/// half the relative widths of the intervals of 1 and 2 CPUs.
fn on_two(study: &Path, prepare: &str, command: &str) -> Result<(Prediction, f64, [f64; 2]), String> {
    let morecores = || Command::new(env!("CARGO_BIN_EXE_morecores"));
    let mut run = morecores();
    run.args([
        "run",
        "--max-time",
        "0",
        "--cpus",
        "1,2",
        "--runs",
        "9",
        "--min-runs",
        "9",
        "--precision",
        "0",
        "--predict",
        "-q",
        "-o",
    ]);
    run.arg(study);
    if !prepare.is_empty() {
        run.args(["--prepare", prepare]);
    }
    let made =
        run.args(["--shell", "--", command]).stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        return Err(said.lines().last().unwrap_or("no word").to_owned());
    }
    let told = morecores().args(["predict", "--from", "1", "--cpus", "2", "--json"]).arg(study).output();
    let told = told.map_err(|error| error.to_string())?;
    let prediction = serde_json::from_slice(&told.stdout)
        .map_err(|_| String::from_utf8_lossy(&told.stderr).lines().last().unwrap_or("no word").to_owned())?;
    let read = Study::read(study).map_err(|error| error.to_string())?;
    let view = morecores_view::view(&read, &[]);
    let [one, two] = view.points.as_slice() else { return Err("not measured on 1 and 2 CPUs".to_owned()) };
    let half = |of: Summary| of.ci95.map_or(f64::NAN, |[lo, hi]| (hi - lo) / 2.0 / of.median);
    Ok((prediction, two.elapsed_s.median, [half(one.elapsed_s), half(two.elapsed_s)]))
}

/// Text that compresses about as well as source code: words of a small vocabulary.
fn text(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut out = Vec::with_capacity(bytes + 16);
    while out.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = (state >> 33) % 4096;
        // The square makes small numbers more frequent.
        let word = word * word / 4096;
        out.extend(format!("w{word:x}").bytes());
        out.push(if state >> 60 == 0 { b'\n' } else { b' ' });
    }
    out.truncate(bytes);
    out
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
        "replay of {SEGMENTS} segments on 64 CPUs: {:.3} s, median of {} (at most 1 s)",
        median(&times).expect("replays"),
        times.len()
    );
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
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
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
