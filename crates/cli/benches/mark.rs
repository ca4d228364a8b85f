//! Cost of `morecores mark --enforce`: the time of a start of an unmarked program with and without
//! it, in turn, and that of a marked program.
//!
//! The bench asserts nothing. `ROUNDS` (40) is the number of rounds, each with `STARTS` starts with
//! enforcement and as many without, in random order. It needs root.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

mod common;

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use morecores_statistics::{Design, median, median_interval, paired_ratio_interval};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use common::quiet;

/// Time after which the service is idle.
const SETTLE: Duration = Duration::from_millis(200);
/// Starts of each program in one part of a round.
const STARTS: usize = 50;

fn main() {
    let rounds: usize = env::var("ROUNDS").map_or(40, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let [marked, unmarked] = ["marked", "unmarked"].map(|name| {
        let path = folder.path().join(name);
        fs::copy("/bin/true", &path).unwrap();
        path
    });
    let done = morecores(folder.path(), &["mark", "--cpus", "1"]).arg(&marked).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    quiet();
    let mut random = ChaCha8Rng::seed_from_u64(30);
    let [mut with, mut without, mut of_marked] = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        let first = random.random_bool(0.5);
        for is_enforced in [first, !first] {
            // Both parts follow a start of the service, whose work would else favour one of them.
            let enforcement = enforce(folder.path());
            if is_enforced {
                settle(&unmarked);
                with.push(start_time(&unmarked));
                of_marked.push(start_time(&marked));
                end(enforcement);
            } else {
                end(enforcement);
                settle(&unmarked);
                without.push(start_time(&unmarked));
            }
        }
    }
    let ratios: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with / without).collect();
    let interval = paired_ratio_interval(&ratios, Design::Fixed).unwrap();
    println!(
        "start of an unmarked program, {} starts each way: {:.1} µs without enforcement, {:.1} µs with it; \
         ratio {:.4} (95% {:.4} to {:.4})",
        rounds * STARTS,
        median(&without).unwrap(),
        median(&with).unwrap(),
        median(&ratios).unwrap(),
        interval.lo,
        interval.hi
    );
    let interval = median_interval(&of_marked, Design::Fixed).unwrap();
    println!(
        "start of a marked program: {:.1} µs (95% {:.1} to {:.1})",
        median(&of_marked).unwrap(),
        interval.lo,
        interval.hi
    );
}

fn morecores(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_morecores"));
    command.args(arguments).env("XDG_STATE_HOME", folder);
    command
}

/// Starts the enforcement, and waits until it has begun.
fn enforce(folder: &Path) -> Child {
    let mut child = morecores(folder, &["mark", "--enforce"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("enforcing the marks of 1 program"), "{line}");
    child
}

fn end(mut enforcement: Child) {
    let line = format!("kill {}", enforcement.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    assert!(enforcement.wait().unwrap().success());
}

/// Lets the beginning or the end of the service pass, and the caches fill.
fn settle(program: &Path) {
    std::thread::sleep(SETTLE);
    start_time(program);
}

/// Median time of starts of a program with their ends, in microseconds.
fn start_time(program: &Path) -> f64 {
    let times: Vec<f64> = (0..STARTS)
        .map(|_| {
            let begin = Instant::now();
            assert!(Command::new(program).status().unwrap().success());
            begin.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    median(&times).unwrap()
}
