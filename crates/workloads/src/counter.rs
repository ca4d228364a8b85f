//! `counter`: threads that increment one counter, with and without synchronisation, and the number
//! of surviving increments.
//!
//! This module holds the arguments and the order of events. The counters are in `counter/kind.rs`,
//! and the locks are those of `lock`.

mod kind;

use morecores_study::Nanos;
use morecores_study::lock::LockName;

use self::kind::{Counter, CounterKind};
use crate::barrier::Barrier;
use crate::clock::Span;
use crate::lock::Lock;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, team, with_lock};

/// Arguments of `counter`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Threads that increment one counter")))]
#[command(after_help = "Memory: negligible beside the threads' stacks.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Kinds of counter, one after the other, each from zero
    #[arg(
        long,
        value_enum,
        value_name = "KIND,…",
        value_delimiter = ',',
        default_value = "plain,locked,atomic"
    )]
    kind: Vec<CounterKind>,
    /// Lock of the locked counter: spin, spin-backoff, sleep, block, adaptive, ticket, mcs, std,
    /// parking-lot, pthread-normal, pthread-adaptive, pthread-spin, c11-spin
    #[arg(long, value_name = "NAME", default_value_t = LockName::Std, value_parser = parse_lock)]
    lock: LockName,
    /// Increments of each counter by all threads together, in equal shares
    #[arg(long, value_name = "COUNT", default_value = "150000000", value_parser = clap::value_parser!(u64).range(1..))]
    increments: u64,
}

/// Parses the name of a lock that can guard a counter.
fn parse_lock(text: &str) -> Result<LockName, String> {
    match text.parse() {
        Ok(LockName::Kernel) => {
            Err("a lock of the kernel guards nothing of a program's: take another".to_owned())
        }
        Ok(lock) => Ok(lock),
        Err(error) => Err(error.to_string()),
    }
}

/// Result of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CounterResult {
    kind: CounterKind,
    /// Increments that the threads made.
    increments_made: u64,
    /// Final value of the counter.
    survived: u64,
    time: Nanos,
}

/// Increments the counters according to `args` and checks that only the plain one lost any.
///
/// # Errors
/// A refused thread or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let threads = args.threads.count();
    if args.lock == LockName::Adaptive {
        morecores_locks::prepare();
    }
    let one = |kind: &CounterKind| count(*kind, args.lock, args.increments, threads);
    let counters: Vec<_> = args.kind.iter().map(one).collect::<Result<_, _>>()?;
    let mut result = crc32fast::Hasher::new();
    for counter_result in &counters {
        check(counter_result, args.increments, threads)?;
        // The final value of a plain counter differs from run to run.
        let stable_value = if counter_result.kind == CounterKind::Plain {
            counter_result.increments_made
        } else {
            counter_result.survived
        };
        result.update(&stable_value.to_le_bytes());
    }
    let parallel_time = Nanos(counters.iter().map(|counter_result| counter_result.time.0).sum());
    let all = CounterResult {
        kind: CounterKind::Plain,
        increments_made: counters.iter().map(|c| c.increments_made).sum(),
        survived: 0,
        time: parallel_time,
    };
    let names: Vec<_> = args.kind.iter().map(|kind| describe_kind(*kind, args.lock)).collect();
    Ok(Outcome {
        name: "counter",
        parameters: format!("{}, {} increments each, {}", names.join(", "), args.increments, args.threads),
        parallel_time,
        rate: Rate { value: all.millions_per_second(), unit: "million increments/s" },
        figures: counters.iter().flat_map(CounterResult::figures).collect(),
        checksum: Checksum(result.finalize()),
        check_name: "none lost but by the plain counter of several threads",
    })
}

/// Name of a counter's kind, with its lock if it is not the default.
fn describe_kind(kind: CounterKind, lock: LockName) -> String {
    match kind {
        CounterKind::Locked if lock != LockName::Std => format!("{} by {lock}", kind.name()),
        _ => kind.name().to_owned(),
    }
}

/// Increments one counter `increments` times in total, on `threads` threads.
fn count(
    kind: CounterKind,
    lock: LockName,
    increments: u64,
    threads: usize,
) -> Result<CounterResult, WorkloadError> {
    with_lock!(lock,
        L => count_with_lock::<L>(kind, increments, threads),
        kernel => Err(WorkloadError::CannotRun("a lock of the kernel guards no counter".to_owned())),
    )
}

/// Increments one counter, with `L` as the lock of a locked counter.
fn count_with_lock<L: Lock>(
    kind: CounterKind,
    increments: u64,
    threads: usize,
) -> Result<CounterResult, WorkloadError> {
    let barrier = &Barrier::new(threads)?;
    let counter = &Counter::<L>::new();
    let piece = |index| {
        move || {
            barrier.wait();
            Span::measure(|| counter.increment(kind, team::range_length(increments, index, threads)))
        }
    };
    let results = team::run("counter", (0..threads).map(piece).collect())?;
    Ok(CounterResult {
        kind,
        increments_made: results.iter().map(|(_, increments_made)| increments_made).sum(),
        survived: counter.value(kind),
        time: Span::elapsed_time(results.iter().map(|(span, _)| *span)),
    })
}

/// Checks that no increment is lost where none may be, and that no additional increment appears.
fn check(counter_result: &CounterResult, increments: u64, threads: usize) -> Result<(), WorkloadError> {
    let &CounterResult { kind, increments_made, survived, .. } = counter_result;
    let min = match kind {
        // Every store is of one more than a value from zero on.
        CounterKind::Plain if threads > 1 => 1,
        _ => increments,
    };
    if increments_made == increments && (min..=increments).contains(&survived) {
        return Ok(());
    }
    Err(WorkloadError::WrongResult {
        what: format!("counter, {} by {threads} threads", kind.name()),
        expected: format!("{min} to {increments} after {increments} increments"),
        got: format!("{survived} after {increments_made}"),
    })
}

impl CounterResult {
    fn millions_per_second(&self) -> f64 {
        self.increments_made as f64 / 1e6 / self.time.max(Nanos(1)).as_secs_f64()
    }

    fn figures(&self) -> [Figure; 2] {
        let [survived, speed] = self.kind.figures();
        [
            Figure {
                name: survived,
                value: self.survived as f64 / self.increments_made as f64 * 100.0,
                unit: "%",
            },
            Figure { name: speed, value: self.millions_per_second(), unit: "million/s" },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use morecores_testkit::report_skip;
    use std::thread::available_parallelism;

    #[test]
    fn one_thread_loses_nothing_and_locked_and_atomic_never_do() {
        for &kind in CounterKind::value_variants() {
            for threads in [1, 2, 5] {
                if kind == CounterKind::Plain && threads > 1 {
                    continue;
                }
                let counter_result = count(kind, LockName::Std, 100_003, threads).unwrap();
                assert_eq!(
                    (counter_result.increments_made, counter_result.survived),
                    (100_003, 100_003),
                    "{kind:?} {threads}"
                );
                check(&counter_result, 100_003, threads).unwrap();
            }
        }
    }

    #[test]
    fn no_lock_loses_an_increment() {
        for lock in LockName::ALL.into_iter().filter(|lock| *lock != LockName::Kernel) {
            let counter_result = count(CounterKind::Locked, lock, 20_003, 4).unwrap();
            assert_eq!((counter_result.increments_made, counter_result.survived), (20_003, 20_003), "{lock}");
        }
    }

    #[test]
    fn a_plain_counter_loses_updates_on_two_cpus() {
        if available_parallelism().map_or(1, usize::from) < 2 {
            return report_skip("a_plain_counter_loses_updates_on_two_cpus", "there is one CPU");
        }
        // On a busy machine the two threads may not overlap in the first tenths of a second.
        let lost = (0..500).any(|_| {
            let counter_result = count(CounterKind::Plain, LockName::Std, 50_000_000, 2).unwrap();
            check(&counter_result, 50_000_000, 2).unwrap();
            counter_result.survived < counter_result.increments_made
        });
        assert!(lost);
    }

    #[test]
    fn a_lost_increment_and_one_too_many_are_wrong() {
        let counter_result =
            |kind, survived| CounterResult { kind, increments_made: 100, survived, time: Nanos(1) };
        for (kind, survived, threads, right) in [
            (CounterKind::Plain, 1, 2, true),
            (CounterKind::Plain, 0, 2, false),
            (CounterKind::Plain, 101, 2, false),
            (CounterKind::Plain, 99, 1, false),
            (CounterKind::Locked, 99, 2, false),
            (CounterKind::Atomic, 99, 2, false),
            (CounterKind::Atomic, 100, 2, true),
        ] {
            let result = check(&counter_result(kind, survived), 100, threads);
            assert_eq!(result.is_ok(), right, "{kind:?} {survived} {threads}");
        }
    }
}
