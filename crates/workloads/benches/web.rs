//! Comparison of the load generator of `web` with wrk, against identical servers in one session.
//!
//! The first part compares the peak rates: equally many connections from one thread, in alternating
//! rounds. Each round gives one ratio, and the output has their median and its 95% interval. The
//! second part uses servers that stall, whose percentiles are known, and prints the percentiles of
//! both generators. Nothing is asserted: the targets are printed next to the figures.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and fails by panic")]

#[allow(dead_code, reason = "it serves other benches too")]
#[path = "../../cli/benches/common/mod.rs"]
mod common;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use morecores_statistics::{Design, median, median_interval};

/// Program that is compared with wrk.
const WORK: &str = env!("CARGO_BIN_EXE_morecores-work");

/// Connections, as in the workload's default.
const CONNECTIONS: &str = "64";

/// Rounds of each comparison: the interval leaves out the two smallest and the two largest ratios.
const ROUNDS: usize = 12;

/// Duration of each generator's load in a round, in seconds.
const SECONDS: u32 = 2;

/// Stalls in ms: the period, and the duration of the stall at its end. wrk corrects for the first
/// one afterwards. The second one exceeds wrk's timeout of 2 s, above which it keeps no latency.
const STALLS: [(u32, u32); 2] = [(1000, 100), (5000, 2500)];

/// Load during the stalls, for whole periods of each.
const RATE: u32 = 2000;
const STALL_SECONDS: u32 = 10;

fn main() {
    if Command::new("wrk").arg("-v").output().is_err() {
        println!("skipped: wrk is not installed; install it with: tools/install-deps.sh bench-workloads");
        return;
    }
    common::quiet();
    // The server can use all CPUs. The CPUs are then the limit, and the load generator's share of
    // them reduces the rate.
    let threads = std::thread::available_parallelism().unwrap().to_string();
    for server in ["embedded", "nginx"] {
        for file in ["15", "150"] {
            match TestServer::start(&["--server", server, "--threads", &threads, "--file", file]) {
                Some(server_process) => compare_peak_rates(&server_process, server, file),
                None => println!("skipped: {server} cannot be started here"),
            }
        }
    }
    for (period, duration) in STALLS {
        compare_latencies(period, duration);
    }
}

/// A server for both generators.
struct TestServer {
    child: Child,
    port: String,
}

impl TestServer {
    /// Starts a server; `None` if it ends at once.
    fn start(arguments: &[&str]) -> Option<Self> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let port = free.to_string();
        let mut command = Command::new(WORK);
        command.args(["web", "--clients", "0", "--port", &port]).args(arguments);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, free)).is_err() {
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            sleep(Duration::from_millis(10));
        }
        Some(Self { child, port })
    }

    /// Output of morecores' load generator, with one thread.
    fn run_ours(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(WORK);
        command.args(["web", "--server", "none", "--port", &self.port, "--connections", CONNECTIONS]);
        command_output(command.args(arguments))
    }

    /// Output of wrk, with one thread.
    fn run_wrk(&self, seconds: u32) -> String {
        let mut command = Command::new("wrk");
        command.args(["-t1", "-c", CONNECTIONS, "--latency", "-d", &format!("{seconds}s")]);
        command_output(command.arg(format!("http://127.0.0.1:{}/file", self.port)))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command_output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compares the requests per second of both generators.
fn compare_peak_rates(server_process: &TestServer, server: &str, file: &str) {
    let theirs = || parse_number(word_after(&server_process.run_wrk(SECONDS), "Requests/sec:"));
    // The number of requests makes a round of equal length; this round is also the warm-up.
    let requests = ((theirs() * f64::from(SECONDS)) as u64).to_string();
    let ours = || {
        let line = server_process.run_ours(&["--file", file, "--requests", &requests]);
        parse_number(word_before(&line, "requests/s,"))
    };
    let mut pairs = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Each generator comes first in every other round.
        let early = (round % 2 == 1).then(theirs);
        let ours = ours();
        pairs.push((ours, early.unwrap_or_else(theirs)));
    }
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    let interval = median_interval(&ratios, Design::Fixed).unwrap();
    let median_of =
        |value: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(value).collect::<Vec<_>>()).unwrap();
    println!("\n{server}, {file} KiB, {CONNECTIONS} connections from one thread, {ROUNDS} rounds");
    println!(
        "  ours {:.0} requests/s, wrk {:.0} requests/s",
        median_of(|pair| pair.0),
        median_of(|pair| pair.1)
    );
    let (ratio, lo, hi) = (median(&ratios).unwrap(), interval.lo, interval.hi);
    println!("  ours / wrk: {ratio:.3} ({lo:.3} to {hi:.3}); target at least 1.0");
}

/// Compares the latencies under stalls. For requests that fall due at an even rate, the share that
/// takes longer than t is (lasts - t) / every.
fn compare_latencies(period: u32, duration: u32) {
    let stall = format!("{period},{duration}");
    let server_process = TestServer::start(&["--server", "embedded", "--stall", &stall]).unwrap();
    let open = server_process.run_ours(&[
        "--rate",
        &RATE.to_string(),
        "--requests",
        &(RATE * STALL_SECONDS).to_string(),
    ]);
    let closed = server_process.run_ours(&["--requests", "300000"]);
    let wrk = server_process.run_wrk(STALL_SECONDS);
    println!("\na server that stalls for {duration} ms of every {period} ms; in ms");
    println!("            true    ours open  ours closed          wrk");
    let beyond = |share: f64| (f64::from(duration) - share * f64::from(period)).max(0.0);
    for (name, truth) in [("p90", beyond(0.1)), ("p99", beyond(0.01)), ("max", beyond(0.0))] {
        let theirs = match name {
            "p90" => word_after(&wrk, "90%"),
            "p99" => word_after(&wrk, "99%"),
            // The line "Latency" contains the mean, the deviation and the maximum.
            _ => words_after(&wrk, "Latency").nth(2).unwrap(),
        };
        let (open, closed) = (parse_number(word_after(&open, name)), parse_number(word_after(&closed, name)));
        println!("  {name} {truth:10.1} {open:12.1} {closed:12.1} {:12.1}", parse_milliseconds(theirs));
    }
    println!("  target: ours open is the truth");
}

fn words_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.split_whitespace().skip_while(move |w| *w != word).skip(1)
}

/// The word after `word`.
fn word_after<'a>(text: &'a str, word: &'a str) -> &'a str {
    words_after(text, word).next().unwrap_or_else(|| panic!("no {word} in: {text}"))
}

/// The word before `word`.
fn word_before<'a>(text: &'a str, word: &str) -> &'a str {
    let words: Vec<_> = text.split_whitespace().collect();
    words[words.iter().position(|w| *w == word).unwrap() - 1]
}

fn parse_number(word: &str) -> f64 {
    word.trim_end_matches(',').parse().unwrap()
}

/// Parses a time in wrk's format.
fn parse_milliseconds(text: &str) -> f64 {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let found = units.iter().find_map(|(unit, ms)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * ms));
    found.unwrap_or_else(|| panic!("no time: {text}"))
}
