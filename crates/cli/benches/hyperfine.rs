//! Cost of measuring: `morecores run` beside `hyperfine -N` in one session, in alternating blocks.
//!
//! For `true` the bench compares the median elapsed time and the wall time of a run, start-up
//! included. For a loop of two seconds it compares only the elapsed time, and also prints the
//! loop's own measurement and the machine's noise at the time. Each pair of adjacent blocks gives
//! one ratio; the bench prints the median ratio and its 95% interval. It also prints the number of
//! rounds after which morecores answers for a parallel command of two CPU-seconds, and its time
//! beside that of 10 runs of hyperfine. It asserts nothing: the targets stand beside the figures.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use morecores_statistics::{Design, median, median_interval, noise_floor, ratio_interval};
use morecores_study::{Phase, Study};

use common::{itself, quiet};

/// Block of runs of one tool.
struct Block {
    /// Elapsed times of the block's runs, as the tool reports them, in seconds.
    elapsed: Vec<f64>,
    /// Wall time of the whole tool, divided by its number of runs, in seconds.
    wall: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, turns, own_times] = arguments.as_slice()
        && word == SPIN
    {
        let begun = Instant::now();
        std::hint::black_box(spin(turns.parse().unwrap()));
        let mut file = fs::File::options().append(true).create(true).open(own_times).unwrap();
        writeln!(file, "{}", begun.elapsed().as_secs_f64()).unwrap();
        return;
    }
    if let [_, word, threads, turns] = arguments.as_slice()
        && word == SPLIT
    {
        let threads: u64 = threads.parse().unwrap();
        let turns = turns.parse::<u64>().unwrap() / threads;
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| drop(scope.spawn(|| std::hint::black_box(spin(turns)))));
        });
        return;
    }
    let rival = Command::new("hyperfine").arg("--version").output();
    let Ok(version) = rival else {
        println!("skipped: hyperfine is not installed; install it with: tools/install-deps.sh bench");
        return;
    };
    println!("beside {}", String::from_utf8_lossy(&version.stdout).trim());
    quiet();
    let dir = tempfile::tempdir().unwrap();

    let pairs = blocks(dir.path(), &["true"], 1_000, 20);
    println!("\n`true`, {} pairs of blocks of 1,000 runs on all CPUs", pairs.len());
    line("median elapsed", &pairs, |block| median(&block.elapsed).unwrap(), "at most 1.0");
    line("wall time a run", &pairs, |block| block.wall, "at most 1.05");

    long_loop(dir.path());
    whole_answer(dir.path());
}

/// Answers whether two CPUs help a command that splits a loop of two seconds, and times hyperfine's
/// 10 runs of the same two commands, each with one run before them.
fn whole_answer(dir: &Path) {
    let (program, turns, path) = (itself(), two_seconds().to_string(), dir.join("answer.study"));
    println!("\na loop of two seconds, split over 1 and 2 CPUs");
    for trial in 1..=3 {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_morecores"));
        tool.args(["run", "-q", "--trace", "off", "--cpus", "1,2", "-o"]);
        tool.arg(&path).args(["--", &program, SPLIT, "{n}", &turns]);
        let ours = timed(tool, 1);
        let study = Study::read(&path).unwrap();
        fs::remove_dir_all(&path).unwrap();
        let view = morecores_view::view(&study, &[]);
        let rounds = study.runs.iter().filter(|run| run.phase == Phase::Timed).map(|run| run.round + 1).max();
        let mut tool = Command::new("hyperfine");
        tool.args(["-N", "--style", "none", "--warmup", "1", "--runs", "10"]);
        tool.args([1, 2].map(|threads| format!("'{program}' {SPLIT} {threads} {turns}")));
        let theirs = timed(tool, 1);
        println!(
            "  trial {trial}: {} rounds ({} disturbed), {:?}, {:.1} s; hyperfine's 10 runs of each {:.1} s; target 6 to 8 rounds",
            rounds.unwrap_or(0),
            view.disturbed_rounds.len(),
            view.verdict.answer,
            ours,
            theirs,
        );
    }
}

/// Measures a loop of two seconds that also records its own time. The difference shows the tool's
/// addition run by run, although the machine's speed changes by far more between runs.
fn long_loop(dir: &Path) {
    let (turns, own_times) = (two_seconds().to_string(), dir.join("own-times"));
    let command = [&itself(), SPIN, &turns, &own_times.to_string_lossy()];
    let pairs = blocks(dir, &command, 1, 20);
    println!("\na loop of two seconds, {} pairs of single runs on all CPUs", pairs.len());
    let (ours, theirs) = (column(&pairs, |p| p.0.elapsed[0]), column(&pairs, |p| p.1.elapsed[0]));
    let percent = |share: f64| 100.0 * share;

    // The loop's own times are in the order of the runs. The runs of morecores come first in every
    // other pair.
    let text = fs::read_to_string(own_times).unwrap();
    let own: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let first = |index: usize| usize::from(index % 2 == 1);
    let added = |reported: &[f64], ours: bool| -> f64 {
        let of = |index: usize| own[2 * index + if ours { first(index) } else { 1 - first(index) }];
        median(&reported.iter().enumerate().map(|(index, time)| time - of(index)).collect::<Vec<_>>())
            .unwrap()
    };
    let (added_by_us, added_by_them) = (added(&ours, true), added(&theirs, false));
    println!(
        "  added to what the loop itself measures: ours {}, theirs {}; they differ by {:+.4}% of the loop; target within 0.2%",
        morecores_report::time(added_by_us),
        morecores_report::time(added_by_them),
        percent((added_by_us - added_by_them) / median(&own).unwrap()),
    );
    let ratio = ratio_interval(&ours, &theirs, Design::Fixed).unwrap();
    println!(
        "  the medians themselves differ by {:+.2}% [{:+.2}%, {:+.2}%]; by chance alone (A/A) those of as many runs of one tool by up to {:.2}%",
        percent(median(&ours).unwrap() / median(&theirs).unwrap() - 1.0),
        percent(ratio.lo - 1.0),
        percent(ratio.hi - 1.0),
        percent(noise_floor(&ours).unwrap().max(noise_floor(&theirs).unwrap())),
    );
}

/// Argument with which this program runs the loop.
const SPIN: &str = "spin";

/// Argument with which this program splits the loop over threads.
const SPLIT: &str = "split";

/// Runs a chain of multiplications. Without memory accesses and system calls, its time depends only
/// on the clock rate.
fn spin(turns: u64) -> u64 {
    let mut x = 1_u64;
    for _ in 0..turns {
        // Knuth's MMIX generator; each step depends on the one before.
        x = std::hint::black_box(
            x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407),
        );
    }
    x
}

/// Makes pairs of blocks. The block of morecores comes first in every other pair.
fn blocks(dir: &Path, command: &[&str], runs: u32, pairs: usize) -> Vec<(Block, Block)> {
    let pair = |index| {
        if index % 2 == 0 {
            let ours = morecores(dir, command, runs);
            (ours, hyperfine(dir, command, runs))
        } else {
            let theirs = hyperfine(dir, command, runs);
            (morecores(dir, command, runs), theirs)
        }
    };
    (0..pairs).map(pair).collect()
}

fn morecores(dir: &Path, command: &[&str], runs: u32) -> Block {
    let path = dir.join("block.study");
    let mut tool = Command::new(env!("CARGO_BIN_EXE_morecores"));
    tool.args([
        "run",
        "--max-time",
        "0",
        "-q",
        "--trace",
        "off",
        "--cpus",
        "all",
        "--precision",
        "0",
        "--warmup",
        "0",
        "--runs",
        &runs.to_string(),
        "-o",
    ]);
    tool.arg(&path).arg("--").args(command);
    let wall = timed(tool, runs);
    let study = Study::read(&path).unwrap();
    fs::remove_dir_all(path).unwrap();
    let timed = study.runs.iter().filter(|run| run.phase == Phase::Timed);
    let elapsed: Vec<f64> = timed.map(|run| run.elapsed_ns.as_secs_f64()).collect();
    assert_eq!(elapsed.len(), runs as usize);
    Block { elapsed, wall }
}

fn hyperfine(dir: &Path, command: &[&str], runs: u32) -> Block {
    let path = dir.join("block.json");
    let line: Vec<String> = command.iter().map(|word| format!("'{word}'")).collect();
    let mut tool = Command::new("hyperfine");
    tool.args(["-N", "--style", "none", "--warmup", "0", "--runs", &runs.to_string(), "--export-json"]);
    tool.arg(&path).arg(line.join(" "));
    let wall = timed(tool, runs);
    let text = fs::read_to_string(path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let times = json["results"][0]["times"].as_array().unwrap();
    let elapsed: Vec<f64> = times.iter().map(|time| time.as_f64().unwrap()).collect();
    assert_eq!(elapsed.len(), runs as usize);
    Block { elapsed, wall }
}

/// Runs a tool and returns its wall time per run, in seconds.
fn timed(mut tool: Command, runs: u32) -> f64 {
    let begun = Instant::now();
    let status = tool.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    assert!(status.success(), "{tool:?}: {status}");
    wall / f64::from(runs)
}

/// Number of loop iterations that take about two seconds on this machine.
fn two_seconds() -> u64 {
    let turns = 100_000_000;
    let begun = Instant::now();
    std::hint::black_box(spin(turns));
    (turns as f64 * 2.0 / begun.elapsed().as_secs_f64()) as u64
}

fn column(pairs: &[(Block, Block)], pick: impl Fn(&(Block, Block)) -> f64) -> Vec<f64> {
    pairs.iter().map(pick).collect()
}

/// Prints the medians of both tools, and the ratio of morecores to hyperfine.
fn line(what: &str, pairs: &[(Block, Block)], pick: fn(&Block) -> f64, target: &str) {
    let column =
        |which: fn(&(Block, Block)) -> &Block| pairs.iter().map(|p| pick(which(p))).collect::<Vec<_>>();
    let (ours, theirs) = (column(|p| &p.0), column(|p| &p.1));
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let interval = median_interval(&ratios, Design::Fixed).unwrap();
    let unit = |values: &[f64]| morecores_report::time(median(values).unwrap());
    println!(
        "  {what:16} ours {:>9}  theirs {:>9}  ratio {:.4} [{:.4}, {:.4}]  target {target}",
        unit(&ours),
        unit(&theirs),
        median(&ratios).unwrap(),
        interval.lo,
        interval.hi
    );
}
