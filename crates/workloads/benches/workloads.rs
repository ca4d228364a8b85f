//! Comparison of the workloads' own kernels with an expert's choice, in alternating runs of one
//! session.
//!
//! Each side is a separate process that reports its rate by its own clock. The start of an
//! interpreter and the making of the input therefore do not count. The two sorts are functions of
//! this process. Each round runs every side once and gives one ratio; the order rotates by one from
//! round to round. The output has the median of the ratios and its 95% interval. Nothing is
//! asserted: the targets are printed next to the figures. Arguments select parts by name.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use morecores_statistics::{Design, median, median_interval};
use morecores_workloads::{quicksort, soften};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::slice::ParallelSliceMut;

/// Rounds: a few more than the six that an interval needs.
const ROUNDS: usize = 10;

/// Rounds for runs of only some 10 to 100 ms, of which a few do not show the faster side.
const SHORT_ROUNDS: usize = 80;

/// Debian's Python, to which its packages of numpy and OpenCV belong; the first Python on the PATH
/// may be another one.
const PYTHON: &str = "/usr/bin/python3";

/// Matrices of the size and number of products of `matmul --kernel tuned`; prints millions of
/// operations per second.
const OPENBLAS: &str = "
import time, numpy
n, repeat = 1000, 50
a, b = (numpy.random.default_rng(seed).integers(-8, 8, (n, n)).astype(float) for seed in (1, 2))
c = numpy.empty((n, n))
numpy.matmul(a, b, out=c)
begun = time.perf_counter()
for _ in range(repeat):
    numpy.matmul(a, b, out=c)
print(2 * n**3 * repeat / 1e6 / (time.perf_counter() - begun))
";

/// The bitmap of `soften`, with passes for some seconds; prints millions of pixels per second.
const OPENCV: &str = "
import os, time, cv2, numpy
cv2.setNumThreads(int(os.environ['THREADS']))
width, height, passes = 1280, 1024, 1000
one = numpy.fromfile(os.environ['BITMAP'], dtype=numpy.uint8).reshape(height, width, 3)
other = numpy.empty_like(one)
begun = time.perf_counter()
for _ in range(passes):
    cv2.blur(one, (3, 3), dst=other, borderType=cv2.BORDER_REPLICATE)
    one, other = other, one
print(width * height * passes / 1e6 / (time.perf_counter() - begun))
";

/// Numbers to sort.
const ITEMS: usize = 20_000_000;

/// Initial order of the numbers.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Input {
    Random,
    Sorted,
    FewDistinct,
}

impl Input {
    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sorted => "sorted",
            Self::FewDistinct => "few distinct",
        }
    }

    fn numbers(self) -> Vec<u64> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let number = |index| match self {
            Self::Random => random.next_u64(),
            Self::Sorted => index,
            Self::FewDistinct => random.next_u64() % 16,
        };
        (0..ITEMS as u64).map(number).collect()
    }
}

/// One of the two sides of a comparison.
enum Side {
    /// `quicksort` in this process, on this number of threads.
    Sort(Input, usize),
    /// rayon's `par_sort_unstable` in this process, on this number of threads.
    Rayon(Input, usize),
    /// `morecores-work` with these arguments.
    Work(String),
    /// A Python program that prints its rate, and its maximum number of threads.
    Python(&'static str, usize),
}

/// A comparison: the rate of `ours` divided by that of `peer`.
struct Comparison {
    part: &'static str,
    name: String,
    ours: Side,
    peer: Side,
    rounds: usize,
    target: &'static str,
}

fn main() {
    // `cargo bench` adds its own argument.
    let selected_parts: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_selected =
        |part: &str| selected_parts.is_empty() || selected_parts.iter().any(|word| word == part);
    println!("rates, ours over the peer's: median of interleaved rounds and its 95% interval");
    let dir = match tempfile::tempdir() {
        Ok(dir) => dir,
        Err(error) => return println!("skipped: there is no place for the bitmap: {error}"),
    };
    let bitmap = dir.path().join("bitmap");
    if let Err(error) = std::fs::write(&bitmap, soften::bitmap(1280, 1024, 1)) {
        return println!("skipped: the bitmap cannot be written: {error}");
    }
    for comparison in comparisons().iter().filter(|comparison| is_selected(comparison.part)) {
        run_comparison(comparison, &bitmap);
    }
}

fn comparisons() -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for threads in [1, 2] {
        comparisons.push(Comparison {
            part: "matmul",
            name: format!("matmul --kernel tuned, OpenBLAS through numpy, {threads} threads"),
            ours: Side::Work(format!("matmul --kernel tuned --threads {threads}")),
            peer: Side::Python(OPENBLAS, threads),
            rounds: ROUNDS,
            target: "at least 0.9",
        });
    }
    for threads in [1, 2] {
        comparisons.push(Comparison {
            part: "soften",
            name: format!("soften, OpenCV's blur, {threads} threads"),
            ours: Side::Work(format!("soften --threads {threads}")),
            peer: Side::Python(OPENCV, threads),
            rounds: ROUNDS,
            target: "at least 1.0",
        });
    }
    for input in [Input::Random, Input::Sorted, Input::FewDistinct] {
        for threads in [1, 2] {
            comparisons.push(Comparison {
                part: "quicksort",
                name: format!("quicksort, rayon's par_sort_unstable, {}, {threads} threads", input.name()),
                ours: Side::Sort(input, threads),
                peer: Side::Rayon(input, threads),
                rounds: if input == Input::Random { ROUNDS } else { SHORT_ROUNDS },
                target: "at least 1.0",
            });
        }
    }
    comparisons.push(Comparison {
        part: "keysearch",
        name: "keysearch --core simd, --core scalar, 1 thread".to_owned(),
        ours: Side::Work("keysearch --core simd --bits 24".to_owned()),
        peer: Side::Work("keysearch --core scalar --bits 24".to_owned()),
        rounds: ROUNDS,
        target: "at least 4",
    });
    comparisons
}

/// Runs both sides in rounds and prints their ratio.
fn run_comparison(comparison: &Comparison, bitmap: &Path) {
    let sides = [&comparison.ours, &comparison.peer];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..comparison.rounds {
        for turn in 0..sides.len() {
            let index = (turn + round) % sides.len();
            match measure_rate(sides[index], bitmap) {
                Ok(rate) => rates[index].push(rate),
                Err(reason) => return println!("skipped: {}: {reason}", comparison.name),
            }
        }
    }
    let [ours, peer] = &rates;
    let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| ours / peer).collect();
    let interval = median_interval(&ratios, Design::Fixed);
    let interval_text = interval
        .map(|interval_text| format!(" [{:.3}, {:.3}]", interval_text.lo, interval_text.hi))
        .unwrap_or_default();
    let format_median =
        |values: &[f64]| median(values).map_or_else(|| "none".to_owned(), |value| format!("{value:.1}"));
    let ratio = median(&ratios).map_or_else(|| "none".to_owned(), |value| format!("{value:.3}"));
    println!("{}, {} rounds", comparison.name, comparison.rounds);
    println!(
        "  {ratio}{interval_text}  target {}  (rates {} and {})",
        comparison.target,
        format_median(ours),
        format_median(peer)
    );
}

/// Rate of one run, or the reason for a missing rate.
fn measure_rate(side: &Side, bitmap: &Path) -> Result<f64, String> {
    match side {
        Side::Sort(input, threads) => {
            sort_rate(*input, |numbers| quicksort::sort(numbers, *threads).map_err(|error| error.to_string()))
        }
        Side::Rayon(input, threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(*threads).build();
            let pool = pool.map_err(|error| error.to_string())?;
            sort_rate(*input, |numbers| {
                pool.install(|| numbers.par_sort_unstable());
                Ok(())
            })
        }
        Side::Work(arguments) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_morecores-work"));
            let line = command_output(command.args(arguments.split(' ')))?;
            // The rate is the number before the unit, which ends in `/s,`.
            let words: Vec<&str> = line.split_whitespace().collect();
            let unit = words.iter().position(|word| word.ends_with("/s,"));
            unit.and_then(|unit| words.get(unit.checked_sub(1)?)?.parse().ok())
                .ok_or_else(|| format!("no rate in: {line}"))
        }
        Side::Python(program, threads) => {
            let mut command = Command::new(PYTHON);
            let threads = threads.to_string();
            command.args(["-c", program]).env("OPENBLAS_NUM_THREADS", &threads).env("THREADS", &threads);
            command.env("BITMAP", bitmap);
            let text = command_output(&mut command)?;
            text.trim().parse().map_err(|_| format!("no rate in: {text}"))
        }
    }
}

/// Millions of numbers per second.
fn sort_rate(input: Input, sort: impl FnOnce(&mut [u64]) -> Result<(), String>) -> Result<f64, String> {
    let mut numbers = input.numbers();
    let start = Instant::now();
    sort(&mut numbers)?;
    let seconds = start.elapsed().as_secs_f64();
    if !numbers.is_sorted() {
        return Err("NOT SORTED".to_owned());
    }
    Ok(ITEMS as f64 / 1e6 / seconds)
}

/// Output of a command; on failure its last line.
fn command_output(command: &mut Command) -> Result<String, String> {
    let output =
        command.output().map_err(|error| format!("{PYTHON} or a workload cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().next_back().unwrap_or_default();
    Err(format!("{last}; install the peers with: tools/install-deps.sh bench-workloads"))
}
