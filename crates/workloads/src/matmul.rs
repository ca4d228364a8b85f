//! `matmul`: the product of two square matrices, source 003's program with almost no kernel
//! activity.
//!
//! The matrices are in one shared mapping. Each process or thread computes a block of the product.
//! This module holds the arguments and the order of events. The arithmetic is in `kernel`, the
//! matrices in `matrices`, and a process's part in `worker`. `freivalds` checks the product without
//! a second multiplication.

mod freivalds;
mod kernel;
mod matrices;
mod worker;

use std::fmt;

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};

use crate::barrier::Barrier;
use crate::{Checksum, Outcome, Rate, Threads, WorkerKind, WorkloadError, memory, team};
use matrices::Matrices;
use worker::{Worker, WorkerResult};

/// Arguments that determine the memory, for messages.
const MEMORY_ARGUMENTS: &str = "--size or --threads";

/// Maximum number of rows in a matrix: 2^16, for which the three matrices take 96 GiB.
const MAX_SIZE: i64 = 65_536;

/// Maximum number of repetitions. With the largest size the entries of the result stay below 2^42,
/// far below the 2^53 up to which an `f64` holds every whole number.
const MAX_REPEAT: i64 = 1_000_000;

/// Arguments of `matmul`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(after_help = "\
Memory: 24 bytes for each entry of a matrix (23 MiB by default). The tuned kernel needs at most 8 bytes an entry \
more for each process or thread.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Rows and columns of the matrices
    #[arg(long, value_name = "ROWS", default_value = "1000")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_SIZE))]
    size: u32,
    /// Times that the product is computed and added to the result [default: 3 with the classic
    /// kernel, 50 with the tuned one]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_REPEAT))]
    repeat: Option<u32>,
    /// Algorithm for a block of the product
    #[arg(long, value_enum, default_value_t = Kernel::Classic)]
    kernel: Kernel,
    /// Kind of worker that computes the blocks; --threads is the number of workers
    #[arg(long = "by", value_name = "BY", value_enum, default_value_t = WorkerKind::Processes)]
    worker_kind: WorkerKind,
    /// Start value of the random matrices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Algorithm for a block of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kernel {
    /// Three nested loops, by rows, as published
    Classic,
    /// Library tuned for caches and vector instructions
    Tuned,
}

impl Kernel {
    /// Number of repetitions that take 1 to 5 s on one current CPU (on server cores of 2021 to
    /// 2024, size 1000).
    const fn default_repeat(self) -> u32 {
        match self {
            Self::Classic => 3,
            Self::Tuned => 50,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classic => "classic",
            Self::Tuned => "tuned",
        })
    }
}

/// Common parameters of all workers on a product.
#[derive(Clone, Copy, Debug)]
struct Plan {
    size: usize,
    repeat: u32,
    kernel: Kernel,
    seed: u64,
}

impl Plan {
    /// Memory of the matrices and of `count` workers.
    fn memory(&self, count: usize) -> Bytes {
        Bytes(matrices::memory(self.size).0 + kernel::memory(self.kernel, self.size, count).0)
    }
}

/// A row of the table of known results: size, repetitions, seed, checksum.
type KnownResult = (usize, u32, u64, Checksum);

/// Independently computed results: the product of the matrices by numpy 1.24.2 in 64-bit integers,
/// times the repetitions, and `zlib.crc32` of it as `float64`.
const KNOWN_RESULTS: [KnownResult; 2] = [
    (1000, Kernel::Classic.default_repeat(), 1, Checksum(0x8f38_e431)),
    (1000, Kernel::Tuned.default_repeat(), 1, Checksum(0xbb4f_84cc)),
];

/// Computes a product according to `args` and checks the result.
///
/// # Errors
/// More threads than rows, too little memory, a refused thread or process, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let plan = Plan {
        size: args.size as usize,
        repeat: args.repeat.unwrap_or_else(|| args.kernel.default_repeat()),
        kernel: args.kernel,
        seed: args.seed,
    };
    let count = args.threads.count();
    if count > plan.size {
        return Err(WorkloadError::TooManyThreads { threads: count, parts: plan.size, what: "rows" });
    }
    memory::require(plan.memory(count), MEMORY_ARGUMENTS)?;
    let matrices = Matrices::new(plan.size, MEMORY_ARGUMENTS)?;
    if plan.kernel == Kernel::Tuned {
        kernel::prepare(MEMORY_ARGUMENTS)?;
    }

    let (factors_ready, product_ready) = (Barrier::new(count)?, Barrier::new(count)?);
    let (factors_ready, product_ready) = (&factors_ready, &product_ready);
    let worker = move |index| Worker { plan, index, count, factors_ready, product_ready };
    let matrices = &matrices;
    let work = (0..count).map(|index| move || worker(index).run(matrices)).collect();
    let results: Vec<_> = team::run_workers(args.worker_kind, "matmul", work)?
        .into_iter()
        .map(WorkerResult::from_words)
        .collect();

    let checksum = worker::checksum(&results, plan.size);
    let check_name = check(&plan, checksum)?;
    let parallel_time = worker::parallel_time(&results);
    // Each entry of a row takes a multiplication and an addition.
    let operations = 2.0 * (plan.size as f64).powi(3) * f64::from(plan.repeat);
    let times = if plan.repeat == 1 { "once".to_owned() } else { format!("{} times", plan.repeat) };
    Ok(Outcome {
        name: "matmul",
        parameters: format!(
            "{size}x{size} {times}, {} kernel, seed {}, {}",
            plan.kernel,
            plan.seed,
            args.worker_kind.describe(count),
            size = plan.size,
        ),
        parallel_time,
        // A product too small for the clock still took some time.
        rate: Rate { value: operations / 1e6 / parallel_time.max(Nanos(1)).as_secs_f64(), unit: "Mflop/s" },
        figures: Vec::new(),
        checksum,
        check_name,
    })
}

/// Compares the checksum with the known one, if there is one. Every worker has already checked its
/// rows.
fn check(plan: &Plan, checksum: Checksum) -> Result<&'static str, WorkloadError> {
    let known = KNOWN_RESULTS
        .iter()
        .find(|(size, repeat, seed, _)| (*size, *repeat, *seed) == (plan.size, plan.repeat, plan.seed));
    match known {
        Some((.., expected)) if *expected != checksum => Err(WorkloadError::WrongResult {
            what: "matmul, known value".to_owned(),
            expected: expected.to_string(),
            got: checksum.to_string(),
        }),
        Some(_) => Ok("Freivalds' check and known value"),
        None => Ok("Freivalds' check"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_results_are_multiples_of_one_product() {
        let tuned_checksum = |size, repeat| {
            let matrices = Matrices::new(size, "").unwrap();
            matrices.fill(0..size, 1);
            // SAFETY: only this thread has the matrices.
            #[allow(unsafe_code)]
            unsafe {
                kernel::tuned(&matrices, &kernel::Block { rows: 0..size, columns: 0..size });
            }
            let sums = matrices.product().iter().map(|word| f64::from(repeat) * matrices::entry(word));
            Checksum(crc32fast::hash(&sums.flat_map(f64::to_le_bytes).collect::<Vec<_>>()))
        };
        for (size, repeat, _, checksum) in KNOWN_RESULTS {
            assert_eq!(tuned_checksum(size, repeat), checksum, "{repeat}");
        }
    }
}
