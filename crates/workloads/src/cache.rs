//! `cache`: threads that walk through working sets of growing size, pinned to a CPU, left free, or
//! migrated.
//!
//! This module holds the arguments and the order of events. The working set and the walk are in
//! `cache/working_set.rs`, the sizes in `cache/size.rs`, and the placement of threads in
//! `cache/placement.rs`.

mod placement;
mod size;
mod working_set;

use std::time::Duration;

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};

use self::placement::{Placement, Route};
use self::size::Size;
use self::working_set::WorkingSet;
use crate::barrier::Barrier;
use crate::clock::Span;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, team};

/// Arguments to lower if memory is short.
const MEMORY_ARGUMENTS: &str = "--threads or --sizes";

/// Arguments of `cache`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Threads, each with its own working set")))]
#[command(after_help = "Memory: the largest size for each thread; by default at most 256 MiB.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Sizes of the working set: powers of two from 1KiB to 64GiB [default: 16KiB to four times the
    /// last cache, at most 256MiB]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = size::parse)]
    sizes: Vec<Size>,
    /// Placement of the threads
    #[arg(long, value_enum, default_value_t = Placement::Pinned)]
    placement: Placement,
    /// Time of a migrating thread on each CPU, in milliseconds
    #[arg(long, value_name = "MS", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    every: u64,
    /// Minimum loads of each thread at each size, in whole rounds
    #[arg(long, value_name = "COUNT", default_value = "2000000")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    loads: u64,
    /// Start value of the random order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Walk of one thread through the set of one size.
#[derive(Clone, Copy, Debug)]
struct WalkResult {
    /// Fingerprint of the set.
    fingerprint: u64,
    loads: u64,
    span: Span,
}

/// Walks according to `args` and checks that every walk went through the whole set.
///
/// # Errors
/// Too little memory, a refused thread or CPU, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let threads = args.threads.count();
    let sizes = if args.sizes.is_empty() { size::default_sizes() } else { args.sizes.clone() };
    let largest = sizes.iter().map(|size| size.bytes().0).max().unwrap_or(0);
    memory::require(Bytes(largest.saturating_mul(threads as u64)), MEMORY_ARGUMENTS)?;

    let barriers: Vec<_> = sizes.iter().map(|_| Barrier::new(threads)).collect::<Result<_, _>>()?;
    let cpus = placement::cpus()?;
    let every = Duration::from_millis(args.every);
    let mut work = Vec::with_capacity(threads);
    for index in 0..threads {
        // The reservation comes before any thread waits for another.
        let set = WorkingSet::reserve(Bytes(largest))?;
        let route = Route::new(args.placement, &cpus, index, every);
        let (sizes, barriers) = (&sizes, &barriers);
        work.push(move || walk(set, route, sizes, barriers, args));
    }
    let results: Vec<(Vec<WalkResult>, u64)> =
        team::run("cache", work)?.into_iter().collect::<Result<_, _>>()?;
    outcome(args, &sizes, &results)
}

/// Work of one thread: returns its walks and its number of moves.
fn walk(
    mut set: WorkingSet,
    mut route: Route<'_>,
    sizes: &[Size],
    barriers: &[Barrier],
    args: &Args,
) -> Result<(Vec<WalkResult>, u64), WorkloadError> {
    route.move_to_first();
    let mut walks = Vec::with_capacity(sizes.len());
    let mut result = Ok(());
    for (size, barrier) in sizes.iter().zip(barriers) {
        set.link(*size, args.seed);
        // The check goes round the set once, which also fills the caches.
        let fingerprint = set.check();
        let rounds = args.loads.div_ceil(set.lines()).max(1);
        barrier.wait();
        let (span, end) = Span::measure(|| set.walk(rounds * set.lines(), || route.move_if_due()));
        // An error is reported at the end, since other threads wait at the next barrier.
        result = result.and(fingerprint.and_then(|fingerprint| {
            walks.push(WalkResult { fingerprint, loads: rounds * set.lines(), span });
            working_set::require_start(*size, end)
        }));
    }
    result?;
    Ok((walks, route.moves()?))
}

/// Outcome of all threads' walks.
fn outcome(
    args: &Args,
    sizes: &[Size],
    results: &[(Vec<WalkResult>, u64)],
) -> Result<Outcome, WorkloadError> {
    let mut checksum = crc32fast::Hasher::new();
    let mut figures = Vec::with_capacity(sizes.len() + 1);
    let (mut parallel_time, mut loads) = (0, 0);
    for (index, size) in sizes.iter().enumerate() {
        let walks: Vec<WalkResult> =
            results.iter().filter_map(|(walks, _)| walks.get(index).copied()).collect();
        let fingerprint = walks.first().map_or(0, |walk| walk.fingerprint);
        if let Some(other) = walks.iter().find(|walk| walk.fingerprint != fingerprint) {
            return Err(WorkloadError::WrongResult {
                what: format!("cache, the order of the set of {}", size.name()),
                expected: format!("{fingerprint:016x}"),
                got: format!("{:016x}", other.fingerprint),
            });
        }
        checksum.update(&fingerprint.to_le_bytes());
        let total_loads: u64 = walks.iter().map(|walk| walk.loads).sum();
        let time: u64 = walks.iter().map(|walk| walk.span.end.since(walk.span.start).0).sum();
        figures.push(Figure { name: size.name(), value: time as f64 / total_loads as f64, unit: "ns" });
        loads += total_loads;
        parallel_time += Span::elapsed_time(walks.iter().map(|walk| walk.span)).0;
    }
    if args.placement == Placement::Migrating {
        let moves: u64 = results.iter().map(|(_, moves)| moves).sum();
        figures.push(Figure { name: "moves", value: moves as f64, unit: "" });
    }
    let placement = args.placement.to_possible_value();
    let every = if args.placement == Placement::Migrating {
        format!(" every {} ms", args.every)
    } else {
        String::new()
    };
    let parallel_time = Nanos(parallel_time.max(1));
    Ok(Outcome {
        name: "cache",
        parameters: format!(
            "{}{every}, seed {}, {}",
            placement.as_ref().map_or("", |value| value.get_name()),
            args.seed,
            args.threads
        ),
        parallel_time,
        rate: Rate { value: loads as f64 / 1e6 / parallel_time.as_secs_f64(), unit: "million loads/s" },
        figures,
        checksum: Checksum(checksum.finalize()),
        check_name: "every walk through the whole set",
    })
}
