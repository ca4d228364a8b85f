//! Cost of tracing: traced and untraced runs, alternating in one session, beside the tracing
//! methods of perf.
//!
//! Each round runs the command once untraced and once under each kind of tracing. The order rotates
//! by one from round to round. The same executor takes every elapsed time, from the command's exec
//! to its end, on the same CPUs: the untraced side is `morecores run --trace off`, and perf traces
//! exactly that. The comparison therefore covers tracing alone, without the start of the tools.
//!
//! Each round gives one ratio; the bench prints the median ratio and its 95% interval. Beside them
//! stands each trace's own estimate of its cost, calibrated and counted. The estimate is the usable
//! figure if the machine's noise is larger than the cost; the interval of the untraced median
//! measures that noise. The bench asserts nothing: the targets stand beside the figures.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;

use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use morecores_statistics::{Design, median, median_interval};
use morecores_study::trace::read_events;
use morecores_study::trace::trace_events_path;
use morecores_study::{Cell, Coordinates, CpuId, Phase, Study};
use morecores_testkit::CProgram;
use morecores_view::TraceView;
use rustix::thread::{CpuSet, sched_setaffinity};

use common::{itself, quiet};

/// Number of rounds with perf: the fewest that give an interval.
const PERF_ROUNDS: usize = 6;

/// Argument with which this program runs its own loop of system calls.
const CALLS: &str = "getppid";

/// Name of the loop below.
const HOLDS: &str = "mutex";

/// Takes and releases a free mutex of the C library: a number of turns, and a file for the time per
/// turn in nanoseconds.
const HOLD_LOOP: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec begun, ended;
	long turns = argc > 2 ? atol(argv[1]) : 0;
	FILE *file = argc > 2 ? fopen(argv[2], "w") : NULL;

	if (!file)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (long i = 0; i < turns; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	fprintf(file, "%f
", ((ended.tv_sec - begun.tv_sec) * 1e9 + (ended.tv_nsec - begun.tv_nsec)) / turns);
	return fclose(file) != 0;
}
"#;

/// Kind of tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracing {
    None,
    Default,
    Exact,
    ExactLocks,
    PerfSchedRecord,
    PerfTraceSummary,
}

impl Tracing {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "untraced",
            Self::Default => "morecores trace",
            Self::Exact => "morecores trace --syscalls",
            Self::ExactLocks => "morecores trace --locks exact",
            Self::PerfSchedRecord => "perf sched record",
            Self::PerfTraceSummary => "perf trace -s",
        }
    }

    const fn perf(self) -> bool {
        matches!(self, Self::PerfSchedRecord | Self::PerfTraceSummary)
    }
}

/// Command to trace.
struct Subject {
    name: &'static str,
    cpus: u32,
    command: Vec<String>,
    /// Command that runs before every run, outside its time.
    prepare: Vec<String>,
    rounds: usize,
    tracings: &'static [(Tracing, &'static str)],
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, calls, file] = arguments.as_slice()
        && word == CALLS
    {
        return call(calls.parse().unwrap(), Path::new(file));
    }
    if !starts("perf") {
        println!("skipped: perf is not installed; install it with: tools/install-deps.sh bench-trace");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tried = traced(dir.path(), 1, &["true".to_owned()], &[]);
    if let Err(reason) = tried {
        println!("skipped: nothing can be traced here: {reason}");
        return;
    }
    quiet();
    // As in every bench, an argument selects subjects by a part of their names. A second argument,
    // `alone`, leaves out perf, which takes most of the time.
    let mut words = arguments.iter().skip(1).filter(|word| !word.starts_with('-')).map(String::as_str);
    let wanted = words.next().unwrap_or("");
    let alone = words.next() == Some("alone");
    for subject in subjects() {
        if subject.name.contains(wanted) {
            overhead(dir.path(), &subject, alone);
        }
    }
    if CALLS.contains(wanted) {
        calls(dir.path());
    }
    if HOLDS.contains(wanted) {
        holds(dir.path());
    }
    if "decoding".contains(wanted) {
        decoding(dir.path());
    }
}

fn subjects() -> Vec<Subject> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/kernel-part.sh");
    let kernel = |rest: &[&str]| {
        let script = script.to_string_lossy().into_owned();
        std::iter::once(script).chain(rest.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    vec![
        Subject {
            name: "mm/, lib/ and kernel/sched/ of a kernel build on 2 CPUs",
            cpus: 2,
            command: kernel(&["build", "2"]),
            prepare: kernel(&["clean"]),
            rounds: 10,
            tracings: &[
                (Tracing::Default, "at most 1%, upper end at most 2%"),
                (Tracing::PerfSchedRecord, ""),
                (Tracing::PerfTraceSummary, ""),
            ],
        },
        Subject {
            // Pairs of short runs suffer less if the machine's speed changes from minute to minute.
            name: "lib/ of a kernel build on 2 CPUs, in short rounds",
            cpus: 2,
            command: kernel(&["build", "2", "lib"]),
            prepare: kernel(&["clean"]),
            rounds: 20,
            tracings: &[(Tracing::Default, "at most 1%, upper end at most 2%")],
        },
        Subject {
            name: "`perf bench sched messaging` on 2 CPUs",
            cpus: 2,
            command: words("perf bench sched messaging -l 300"),
            prepare: Vec::new(),
            rounds: 20,
            tracings: &[
                (Tracing::Default, "at most 5%"),
                (Tracing::Exact, "at most 20%"),
                (Tracing::PerfSchedRecord, ""),
                (Tracing::PerfTraceSummary, ""),
            ],
        },
        Subject {
            name: "`perf bench sched pipe` on 1 CPU",
            cpus: 1,
            command: words("perf bench sched pipe -l 500000"),
            prepare: Vec::new(),
            rounds: 20,
            tracings: &[
                (Tracing::Default, "at most 15%"),
                (Tracing::Exact, "at most 40%"),
                (Tracing::PerfSchedRecord, ""),
                (Tracing::PerfTraceSummary, ""),
            ],
        },
    ]
}

/// Runs a subject in rounds and prints the cost of each kind of tracing.
fn overhead(dir: &Path, subject: &Subject, alone: bool) {
    let tracings: Vec<_> =
        subject.tracings.iter().filter(|(tracing, _)| !(alone && tracing.perf())).collect();
    let mut sides = vec![Tracing::None];
    sides.extend(tracings.iter().map(|(tracing, _)| *tracing));
    let mut times: Vec<Vec<Option<f64>>> = vec![Vec::new(); sides.len()];
    let mut own = vec![Vec::new(); sides.len()];
    for round in 0..subject.rounds {
        for turn in 0..sides.len() {
            let index = (turn + round) % sides.len();
            let left_out = sides[index].perf() && round >= PERF_ROUNDS;
            let time = (!left_out).then(|| {
                if let [program, rest @ ..] = subject.prepare.as_slice() {
                    output(Command::new(program).args(rest)).unwrap();
                }
                measure(dir, sides[index], subject.cpus, &subject.command)
            });
            times[index].push(match time {
                Some(Err(reason)) if round == 0 => {
                    println!("  {}: {reason}", sides[index].name());
                    None
                }
                time => time.and_then(Result::ok).map(|measured| {
                    own[index].extend(measured.own_cost);
                    measured.elapsed
                }),
            });
        }
    }
    let bare: Vec<f64> = times[0].iter().flatten().copied().collect();
    println!("\n{}, {} rounds; untraced {}", subject.name, subject.rounds, noisy(&bare));
    for (((tracing, target), column), own) in tracings.iter().zip(&times[1..]).zip(&own[1..]) {
        let pairs = column.iter().zip(&times[0]).filter_map(|(traced, bare)| Some((*traced)? / (*bare)?));
        let added: Vec<f64> = pairs.map(|ratio| 100.0 * (ratio - 1.0)).collect();
        line(tracing.name(), &added, "%", target);
        if !own.is_empty() {
            line("  by its own account", own, "%", "");
        }
    }
}

/// Measures the cost that tracing adds to an empty system call.
fn calls(dir: &Path) {
    // The numbers make a round take about a second, under perf's trace as well.
    let sides = [
        (Tracing::Default, "", 10),
        (Tracing::Exact, "at most 115 ns", 10),
        (Tracing::PerfTraceSummary, "", PERF_ROUNDS),
    ];
    loop_costs(
        dir,
        CALLS,
        &[itself(), CALLS.to_owned()],
        |tracing| if tracing.perf() { 50_000 } else { 5_000_000 },
        &sides,
    );
}

/// Measures the cost that tracing adds to a hold of a free mutex, with both calls.
fn holds(dir: &Path) {
    let turns = |tracing| if tracing == Tracing::ExactLocks { 100_000 } else { 20_000_000 };
    let program = CProgram::compile("hold", HOLD_LOOP);
    let program = [program.path().to_string_lossy().into_owned()];
    loop_costs(dir, HOLDS, &program, turns, &[(Tracing::Default, "", 10), (Tracing::ExactLocks, "", 10)]);
}

/// Measures the cost that tracing adds to a turn of a loop, by the loop's own clock. `program` gets
/// the number of turns and the file for their time. The sides are the kinds of tracing, with target
/// and rounds.
fn loop_costs(
    dir: &Path,
    name: &str,
    program: &[String],
    turns: impl Fn(Tracing) -> u64,
    sides: &[(Tracing, &str, usize)],
) {
    let file = dir.join("loop");
    let each = |tracing: Tracing| {
        let turns = turns(tracing).to_string();
        let command = [program, &[turns, file.to_string_lossy().into_owned()]].concat();
        measure(dir, tracing, 1, &command).ok()?;
        fs::read_to_string(&file).ok()?.trim().parse::<f64>().ok()
    };
    println!("\na loop of {name} on 1 CPU, 10 rounds");
    let mut added = vec![Vec::new(); sides.len()];
    for round in 0..10 {
        let Some(bare) = each(Tracing::None) else { continue };
        for turn in 0..sides.len() {
            let index = (turn + round) % sides.len();
            let (tracing, _, rounds) = sides[index];
            if round < rounds {
                added[index].extend(each(tracing).map(|traced| traced - bare));
            }
        }
    }
    for ((tracing, target, _), added) in sides.iter().zip(&added) {
        line(tracing.name(), added, " ns a turn", target);
    }
}

/// Makes the calls and writes the time per call, in nanoseconds.
fn call(calls: u64, file: &Path) {
    let begun = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(parent_id());
    }
    fs::write(file, (begun.elapsed().as_nanos() as f64 / calls as f64).to_string()).unwrap();
}

/// Measures the speed of reading a recorded stream on one CPU. It includes decompression and the
/// merging of the CPUs' events.
fn decoding(dir: &Path) {
    let study = dir.join("decoding.study");
    let command = "perf bench sched messaging -l 300".split(' ').map(str::to_owned).collect::<Vec<_>>();
    let view = traced(dir, 2, &command, &["-o", &study.to_string_lossy()]).unwrap();
    let stream =
        fs::read(trace_events_path(&study, &Cell::from_counts(view.cpus, view.n, &Coordinates::new()), 0))
            .unwrap();
    fs::remove_dir_all(&study).unwrap();
    let mut one = CpuSet::new();
    one.set(view.cpu_set.first().unwrap_or(CpuId(0)).0 as usize);
    sched_setaffinity(None, &one).unwrap();
    let mut speeds = Vec::new();
    let mut events = 0;
    for _ in 0..10 {
        let begun = Instant::now();
        let decoded = read_events(stream.as_slice()).unwrap();
        let took = begun.elapsed().as_secs_f64();
        assert!(decoded.is_complete());
        events = decoded.events.len();
        speeds.push(events as f64 / took / 1e6);
    }
    println!("\ndecoding {events} events, {:.1} bytes each, 10 times", stream.len() as f64 / events as f64);
    line("read_events", &speeds, " million a second", "at least 5 million");
}

/// Times of one run.
struct Measured {
    /// Elapsed time, in seconds.
    elapsed: f64,
    /// Cost of tracing according to the trace: the component `tracer` over the time of the CPUs, in
    /// percent.
    own_cost: Option<f64>,
}

/// Makes one run, or returns the reason why there is none.
fn measure(dir: &Path, tracing: Tracing, cpus: u32, command: &[String]) -> Result<Measured, String> {
    let data = dir.join("perf.data");
    let perf = |words: &[&str]| {
        let mut perf = Command::new("perf");
        perf.args(words).arg("-o").arg(&data).args(["--", env!("CARGO_BIN_EXE_morecores")]);
        untraced(perf, dir, cpus, command)
    };
    let ours = |options: &[&str]| {
        let view = traced(dir, cpus, command, options)?;
        let whole = f64::from(cpus) * view.elapsed_s;
        Ok(Measured { elapsed: view.elapsed_s, own_cost: Some(100.0 * view.components.tracer_s / whole) })
    };
    match tracing {
        Tracing::None => untraced(Command::new(env!("CARGO_BIN_EXE_morecores")), dir, cpus, command),
        Tracing::Default => ours(&[]),
        Tracing::Exact => ours(&["--syscalls"]),
        Tracing::ExactLocks => ours(&["--locks", "exact"]),
        Tracing::PerfSchedRecord => perf(&["sched", "record"]),
        Tracing::PerfTraceSummary => perf(&["trace", "-s"]),
    }
}

/// Makes one run without the tracing of morecores. `tool` is morecores, or a program that runs it.
fn untraced(mut tool: Command, dir: &Path, cpus: u32, command: &[String]) -> Result<Measured, String> {
    let path: PathBuf = dir.join("untraced.study");
    tool.args([
        "run",
        "-q",
        "--max-time",
        "0",
        "--cpus",
        &cpus.to_string(),
        "--trace",
        "off",
        "--precision",
        "0",
    ]);
    tool.args(["--warmup", "0", "--runs", "1", "-o"]).arg(&path).arg("--").args(command);
    let done = output(&mut tool);
    let study = Study::read(&path).map_err(|error| error.to_string());
    // If the study was not made, there is nothing to remove, and `done` holds the reason.
    fs::remove_dir_all(path).ok();
    done?;
    let run = study?.runs.into_iter().find(|run| run.phase == Phase::Timed);
    run.map(|run| Measured { elapsed: run.elapsed_ns.as_secs_f64(), own_cost: None })
        .ok_or_else(|| "it was not run".to_owned())
}

/// Makes one traced run and writes its stream in full.
fn traced(dir: &Path, cpus: u32, command: &[String], options: &[&str]) -> Result<TraceView, String> {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_morecores"));
    tool.args(["trace", "--json", "--cpus", &cpus.to_string()]).args(options).current_dir(dir);
    let printed = output(tool.arg("--").args(command))?;
    let view: TraceView = serde_json::from_slice(&printed.stdout).map_err(|error| error.to_string())?;
    if view.lost_events > 0 {
        println!("  {} events LOST: {command:?}", view.lost_events);
    }
    Ok(view)
}

fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}", output.status, said.lines().last().unwrap_or_default()))
}

fn starts(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_ok()
}

/// Median of some times, with its interval.
fn noisy(times: &[f64]) -> String {
    let ends =
        median_interval(times, Design::Fixed).map(|ends| format!(" [{:.3}, {:.3}] s", ends.lo, ends.hi));
    let median = median(times).map_or_else(|| "never ran".to_owned(), morecores_report::time);
    median + &ends.unwrap_or_default()
}

/// Prints the median and interval of some values.
fn line(what: &str, values: &[f64], unit: &str, target: &str) {
    let target = if target.is_empty() { String::new() } else { format!("  target {target}") };
    match (median(values), median_interval(values, Design::Fixed)) {
        (Some(median), Some(interval)) => {
            println!("  {what:26} {median:+.2}{unit} [{:+.2}, {:+.2}]{target}", interval.lo, interval.hi);
        }
        (Some(median), None) => println!("  {what:26} {median:+.2}{unit} (too few for an interval){target}"),
        _ => println!("  {what:26} never ran{target}"),
    }
}
