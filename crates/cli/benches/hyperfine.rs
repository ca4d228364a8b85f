//! What measuring costs: `morecores run` beside `hyperfine -N` in one session, in blocks that take turns.
//!
//! For `true`, the median elapsed time and the wall time a run, start-up included; for a loop of two seconds, the
//! elapsed time alone. Each pair of neighbouring blocks gives one ratio; printed are their median and its 95%
//! interval. Nothing is asserted: the targets stand beside the figures.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use morecores_analyse::{Design, median, median_interval};
use morecores_experiment::machine::Clocks;
use morecores_record::{Phase, Study};

/// One block of runs of one tool.
struct Block {
    /// Median elapsed time of a run, as the tool reports it, in seconds.
    elapsed: f64,
    /// Wall time of the whole tool over its runs, in seconds.
    wall: f64,
}

fn main() {
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
    line("median elapsed", &pairs, |block| block.elapsed, "at most 1.0");
    line("wall time a run", &pairs, |block| block.wall, "at most 1.05");

    let program = two_seconds();
    let pairs = blocks(dir.path(), &["awk", &program], 1, 15);
    println!("\na loop of two seconds, {} pairs of single runs on all CPUs", pairs.len());
    line("elapsed", &pairs, |block| block.elapsed, "0.998 to 1.002");
    let of = |pick: fn(&(Block, Block)) -> f64| median(&pairs.iter().map(pick).collect::<Vec<_>>()).unwrap();
    let difference = of(|pair| pair.0.elapsed) / of(|pair| pair.1.elapsed) - 1.0;
    println!("  difference of the medians of all runs: {:+.3}%", 100.0 * difference);
}

/// Says how busy the machine is before anything is measured.
fn quiet() {
    let (before, begun) = (Clocks::read(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let done = Clocks::read().since(&before, |_| true);
    let busy = done.busy.as_secs_f64() / begun.elapsed().as_secs_f64();
    let verdict = if busy > 0.1 { "NOT quiet: repeat on a quiet machine" } else { "quiet" };
    println!("before: {busy:.2} CPUs busy, steal {:.2} s: {verdict}", done.steal.as_secs_f64());
}

/// Pairs of blocks, ours first in every other pair.
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
        "-q",
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
    Block { elapsed: median(&elapsed).unwrap(), wall }
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
    Block { elapsed: median(&elapsed).unwrap(), wall }
}

/// Wall time a run, in seconds.
fn timed(mut tool: Command, runs: u32) -> f64 {
    let begun = Instant::now();
    let status = tool.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let wall = begun.elapsed().as_secs_f64();
    assert!(status.success(), "{tool:?}: {status}");
    wall / f64::from(runs)
}

/// An awk program that takes about two seconds here.
fn two_seconds() -> String {
    let program = |turns: u64| format!("BEGIN {{ for (i = 0; i < {turns}; i++) x += i }}");
    let turns = 3_000_000;
    let begun = Instant::now();
    assert!(Command::new("awk").arg(program(turns)).status().unwrap().success());
    program((turns as f64 * 2.0 / begun.elapsed().as_secs_f64()) as u64)
}

/// Ours over theirs.
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
