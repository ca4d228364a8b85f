//! Checks that the programs with known truth work on this machine as long as requested and no
//! longer, by bash's `time`, which reads the kernel's accounts. Each line is one figure and its
//! target, to 5% and 30 ms; the exit status is 1 if a figure misses its target. Part of `make
//! accuracy`; the tests check only what holds on any machine.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

use std::process::{Command, ExitCode};

use morecores_accuracy::Truth;

/// Tries of each figure. A pause that a hypervisor hides from the kernel counts as work, and can
/// only add to it.
const TRIES: usize = 3;

fn main() -> ExitCode {
    let work: [(&[&str], f64); 9] = [
        (&["serial-fork", "--percent", "0", "--work-s", "1"], 1.0),
        (&["serial-fork", "--percent", "50", "--work-s", "1"], 1.0),
        (&["serial-threads", "--percent", "0", "--work-s", "1"], 1.0),
        (&["serial-threads", "--percent", "50", "--work-s", "1"], 1.0),
        (&["pipe-chain", "--work-s", "0.9"], 0.9),
        (&["pool", "--batches", "10"], 0.6),
        (&["pinned", "--work-s", "0.8"], 0.8),
        (&["calls", "--percent", "30", "--work-s", "4", "--threads", "2"], 4.0),
        (&["faults", "--percent", "30", "--work-s", "4", "--threads", "2"], 4.0),
    ];
    let mut right = true;
    for (words, asked) in work {
        let (own, user, system) =
            (0..TRIES).map(|_| measure_cpu_times(words)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        right &= check_figure(words, "CPU time by its own clock", own, asked, 0.03 + 0.05 * asked);
        right &= check_figure(words, "CPU time by the kernel", user + system, asked, 0.03 + 0.05 * asked);
        if words[1] == "--percent" && ["calls", "faults"].contains(&words[0]) {
            // Some 1000 ticks decide: the standard error is 1.4 points, and the tolerance is five
            // standard errors.
            right &= check_figure(words, "share in the kernel", system / (user + system), 0.3, 0.07);
        }
    }
    // Half held by each: the two threads must meet. None held: they do not meet.
    right &= check_figure(&["mutex"], "waited for a mutex that is held", waited_seconds("50"), 0.5, 0.45);
    right &= check_figure(&["mutex"], "waited for one that is not", waited_seconds("0"), 0.0, 0.15);
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check_figure(words: &[&str], what: &str, figure: f64, truth: f64, off: f64) -> bool {
    let right = (figure - truth).abs() <= off;
    let verdict = if right { "ok  " } else { "MISS" };
    println!("{verdict} {}: {what}: {figure:.3}, to be {truth:.3} to {off:.3}", words.join(" "));
    right
}

/// CPU time by the program's own clock, and user and system time by the kernel's account, in
/// seconds.
fn measure_cpu_times(words: &[&str]) -> (f64, f64, f64) {
    let (truth, times) = run_program(words);
    (truth.cpu_s, times[0], times[1])
}

fn waited_seconds(percent: &str) -> f64 {
    run_program(&["mutex", "--percent", percent, "--elapsed-s", "1"]).0.waited_s.unwrap()
}

fn run_program(words: &[&str]) -> (Truth, [f64; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let truth = dir.path().join("truth");
    let mut bash = Command::new("bash");
    bash.args(["-c", "TIMEFORMAT='%U %S'; time \"$@\"", "bash", env!("CARGO_BIN_EXE_morecores-accuracy")]);
    bash.args(["program", "--truth"]).arg(&truth).args(words).env("LC_ALL", "C");
    let output = bash.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {stderr}");
    let times: Vec<f64> = stderr.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
    (Truth::read(&truth).unwrap(), times.try_into().unwrap())
}
