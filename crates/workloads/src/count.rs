//! `count`: processes or threads that only count.
//!
//! This module holds the arguments and the order of events. The processes or threads share nothing
//! but the start, which is the point of the workload.

use std::hint::black_box;

use morecores_study::Nanos;

use crate::barrier::Barrier;
use crate::clock::Span;
use crate::team::{self, WorkerKind, run_workers};
use crate::{Checksum, Outcome, Rate, Threads, WorkloadError, processes};

/// Default total count: 1 to 3 s on one current CPU, at one count in 1 to 4 cycles.
const TOTAL: u64 = 5_000_000_000;

/// Arguments of `count`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Processes or threads that count")))]
#[command(after_help = "Memory: negligible beside that of the processes themselves.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Kind of worker that counts
    #[arg(long = "by", value_name = "BY", value_enum, default_value_t = WorkerKind::Processes)]
    worker_kind: WorkerKind,
    /// Create from each process another one that also counts
    #[arg(long)]
    fork: bool,
    /// Total count of all workers, in equal shares [default: 5000000000]
    #[arg(long, value_name = "COUNT", conflicts_with = "each", value_parser = clap::value_parser!(u64).range(1..))]
    total: Option<u64>,
    /// Count of each worker
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    each: Option<u64>,
}

/// Amount to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Total(u64),
    Each(u64),
}

impl Work {
    /// Share of counter `index` among `counters`.
    const fn share(self, index: usize, counters: usize) -> u64 {
        match self {
            Self::Total(total) => team::range_length(total, index, counters),
            Self::Each(each) => each,
        }
    }

    /// Total of `counters` counters; `None` if it exceeds 64 bits.
    const fn total(self, counters: u64) -> Option<u64> {
        match self {
            Self::Total(total) => Some(total),
            Self::Each(each) => each.checked_mul(counters),
        }
    }
}

/// Counts from zero to `limit`. Every count is a load, an addition and a store: `black_box` hides
/// the counter from the compiler after each count. Otherwise the compiler would know the final
/// value without counting.
fn count(limit: u64) -> u64 {
    let mut counter = 0;
    while counter < limit {
        counter = black_box(counter + 1);
    }
    counter
}

/// Counts according to `args` and checks the result.
///
/// # Errors
/// Arguments that do not fit together, a refused process or thread, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    if args.fork && args.worker_kind == WorkerKind::Threads {
        return Err(WorkloadError::CannotRun("a thread cannot fork: --fork needs --by processes".to_owned()));
    }
    let work = args.each.map_or(Work::Total(args.total.unwrap_or(TOTAL)), Work::Each);
    let counters = args.threads.count() * if args.fork { 2 } else { 1 };
    let total = work.total(counters as u64).ok_or_else(|| {
        WorkloadError::CannotRun(format!("{counters} times --each is more than 64 bits hold: lower --each"))
    })?;
    let results = run_counters(args, work, counters)?;

    let mut counted = 0;
    for (index, &(got, _)) in results.iter().enumerate() {
        let expected = work.share(index, counters);
        if got != expected {
            return Err(WorkloadError::WrongResult {
                what: format!("count, counter {} of {counters}", index + 1),
                expected: expected.to_string(),
                got: got.to_string(),
            });
        }
        counted += got;
    }
    let parallel_time = Span::elapsed_time(results.iter().map(|(_, span)| *span));
    Ok(Outcome {
        name: "count",
        parameters: format!(
            "{total} counts by {}{}",
            args.worker_kind.describe(counters),
            if args.fork { ", half of them forked by the others" } else { "" }
        ),
        parallel_time,
        rate: Rate {
            value: counted as f64 / 1e6 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "million counts/s",
        },
        figures: Vec::new(),
        checksum: Checksum(crc32fast::hash(&counted.to_le_bytes())),
        check_name: "every counter's count",
    })
}

/// Count and time span of every counter.
fn run_counters(args: &Args, work: Work, counters: usize) -> Result<Vec<(u64, Span)>, WorkloadError> {
    let barrier = &Barrier::new(counters)?;
    let run_counter = move |index: usize| {
        barrier.wait();
        let (span, counted) = Span::measure(|| count(work.share(index, counters)));
        Ok([counted, span.start.0, span.end.0])
    };
    let results: Vec<[u64; 3]> = if args.fork {
        let run_pair = |pair: usize| {
            move || {
                let [own, other] =
                    processes::run_pair(|| run_counter(2 * pair), || run_counter(2 * pair + 1))?;
                let mut both = [0; 6];
                both[..3].copy_from_slice(&own);
                both[3..].copy_from_slice(&other);
                Ok(both)
            }
        };
        let pairs: Vec<[u64; 6]> = processes::run((0..args.threads.count()).map(run_pair).collect())?;
        pairs.iter().flat_map(|&[a, b, c, d, e, f]| [[a, b, c], [d, e, f]]).collect()
    } else {
        run_workers(
            args.worker_kind,
            "count",
            (0..counters).map(|index| move || run_counter(index)).collect(),
        )?
    };
    let span = |start, end| Span { start: Nanos(start), end: Nanos(end) };
    Ok(results.into_iter().map(|[counted, start, end]| (counted, span(start, end))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_gives_the_requested_count() {
        for limit in [0, 1, 2, 1000] {
            assert_eq!(count(limit), limit);
        }
    }

    #[test]
    fn every_count_is_made() {
        // A loop that the compiler had eliminated would take no time. A real count takes longer
        // than this on any machine: ten counts per nanosecond, where each needs the previous one.
        const COUNTS: u64 = 20_000_000;
        let (span, _) = Span::measure(|| count(COUNTS));
        assert!(span.end.since(span.start).0 > COUNTS / 10);
    }

    #[test]
    fn an_overflow_of_64_bits_is_noticed() {
        assert_eq!(Work::Each(u64::MAX).total(2), None);
        assert_eq!(Work::Each(100_000_000).total(8), Some(800_000_000));
    }
}
