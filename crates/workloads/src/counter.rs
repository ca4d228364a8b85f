//! `counter`: threads that increment one counter, with and without synchronisation, and the number
//! of surviving increments.
//!
//! This module holds the arguments and the order of events. The counters are in `counter/kind.rs`,
//! and the locks are those of the laboratory.

mod kind;

use morecores_study::Nanos;
use morecores_study::lock::LockName;

use self::kind::{Counter, Kind};
use crate::clock::Span;
use crate::gate::Gate;
use crate::laboratory::lock::{Lock, with_lock};
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, team};

/// Arguments of `counter`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Threads that increment one counter")))]
#[command(after_help = "Memory: none worth mentioning beside the threads' stacks.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Which counters, one after the other, each from zero
    #[arg(
        long,
        value_enum,
        value_name = "KIND,…",
        value_delimiter = ',',
        default_value = "plain,locked,atomic"
    )]
    kind: Vec<Kind>,
    /// The lock of the locked counter: spin, spin-backoff, sleep, block, adaptive, ticket, mcs, std, parking-lot,
    /// pthread-normal, pthread-adaptive, pthread-spin, c11-spin
    #[arg(long, value_name = "NAME", default_value_t = LockName::Std, value_parser = lock_of_a_program)]
    lock: LockName,
    /// Increments of each counter by all threads together, in equal shares
    #[arg(long, value_name = "COUNT", default_value = "150000000", value_parser = clap::value_parser!(u64).range(1..))]
    increments: u64,
}

/// Parses the name of a lock that can guard a counter.
fn lock_of_a_program(text: &str) -> Result<LockName, String> {
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
struct Counted {
    kind: Kind,
    /// Increments that the threads made.
    made: u64,
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
    let one = |kind: &Kind| count(*kind, args.lock, args.increments, threads);
    let counters: Vec<_> = args.kind.iter().map(one).collect::<Result<_, _>>()?;
    let mut result = crc32fast::Hasher::new();
    for counted in &counters {
        check(counted, args.increments, threads)?;
        // The final value of a plain counter differs from run to run.
        let same = if counted.kind == Kind::Plain { counted.made } else { counted.survived };
        result.update(&same.to_le_bytes());
    }
    let parallel = Nanos(counters.iter().map(|counted| counted.time.0).sum());
    let all = Counted {
        kind: Kind::Plain,
        made: counters.iter().map(|c| c.made).sum(),
        survived: 0,
        time: parallel,
    };
    let names: Vec<_> = args.kind.iter().map(|kind| kind_in_words(*kind, args.lock)).collect();
    Ok(Outcome {
        name: "counter",
        parameters: format!("{}, {} increments each, {}", names.join(", "), args.increments, args.threads),
        parallel,
        rate: Rate { value: all.millions_per_second(), unit: "million increments/s" },
        figures: counters.iter().flat_map(Counted::figures).collect(),
        checksum: Checksum(result.finalize()),
        checked: "none lost but by the plain counter of several threads",
    })
}

/// Name of a counter's kind, with its lock if it is not the default.
fn kind_in_words(kind: Kind, lock: LockName) -> String {
    match kind {
        Kind::Locked if lock != LockName::Std => format!("{} by {lock}", kind.name()),
        _ => kind.name().to_owned(),
    }
}

/// Increments one counter `increments` times in total, on `threads` threads.
fn count(kind: Kind, lock: LockName, increments: u64, threads: usize) -> Result<Counted, WorkloadError> {
    with_lock!(lock,
        L => count_under::<L>(kind, increments, threads),
        kernel => Err(WorkloadError::Unfit("a lock of the kernel guards no counter".to_owned())),
    )
}

/// Increments one counter, with `L` as the lock of a locked counter.
fn count_under<L: Lock>(kind: Kind, increments: u64, threads: usize) -> Result<Counted, WorkloadError> {
    let gate = &Gate::new(threads)?;
    let counter = &Counter::<L>::new();
    let piece = |index| {
        move || {
            gate.pass();
            Span::of(|| counter.increment(kind, team::share(increments, index, threads)))
        }
    };
    let results = team::run("counter", (0..threads).map(piece).collect())?;
    Ok(Counted {
        kind,
        made: results.iter().map(|(_, made)| made).sum(),
        survived: counter.value(kind),
        time: Span::around(results.iter().map(|(span, _)| *span)),
    })
}

/// Checks that no increment is lost where none may be, and that no additional increment appears.
fn check(counted: &Counted, increments: u64, threads: usize) -> Result<(), WorkloadError> {
    let &Counted { kind, made, survived, .. } = counted;
    let least = match kind {
        // Every store is of one more than a value from zero on.
        Kind::Plain if threads > 1 => 1,
        _ => increments,
    };
    if made == increments && (least..=increments).contains(&survived) {
        return Ok(());
    }
    Err(WorkloadError::Wrong {
        what: format!("counter, {} by {threads} threads", kind.name()),
        expected: format!("{least} to {increments} after {increments} increments"),
        got: format!("{survived} after {made}"),
    })
}

impl Counted {
    fn millions_per_second(&self) -> f64 {
        self.made as f64 / 1e6 / self.time.max(Nanos(1)).as_secs_f64()
    }

    fn figures(&self) -> [Figure; 2] {
        let [survived, speed] = self.kind.figures();
        [
            Figure { name: survived, value: self.survived as f64 / self.made as f64 * 100.0, unit: "%" },
            Figure { name: speed, value: self.millions_per_second(), unit: "million/s" },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use morecores_testkit::skipped;
    use std::thread::available_parallelism;

    #[test]
    fn one_thread_loses_nothing_and_locked_and_atomic_never_do() {
        for &kind in Kind::value_variants() {
            for threads in [1, 2, 5] {
                if kind == Kind::Plain && threads > 1 {
                    continue;
                }
                let counted = count(kind, LockName::Std, 100_003, threads).unwrap();
                assert_eq!((counted.made, counted.survived), (100_003, 100_003), "{kind:?} {threads}");
                check(&counted, 100_003, threads).unwrap();
            }
        }
    }

    #[test]
    fn no_lock_loses_an_increment() {
        for lock in LockName::ALL.into_iter().filter(|lock| *lock != LockName::Kernel) {
            let counted = count(Kind::Locked, lock, 20_003, 4).unwrap();
            assert_eq!((counted.made, counted.survived), (20_003, 20_003), "{lock}");
        }
    }

    #[test]
    fn a_plain_counter_loses_updates_on_two_cpus() {
        if available_parallelism().map_or(1, usize::from) < 2 {
            return skipped("a_plain_counter_loses_updates_on_two_cpus", "there is one CPU");
        }
        // On a busy machine the two threads may not overlap in the first tenths of a second.
        let lost = (0..500).any(|_| {
            let counted = count(Kind::Plain, LockName::Std, 50_000_000, 2).unwrap();
            check(&counted, 50_000_000, 2).unwrap();
            counted.survived < counted.made
        });
        assert!(lost);
    }

    #[test]
    fn a_lost_increment_and_one_too_many_are_wrong() {
        let counted = |kind, survived| Counted { kind, made: 100, survived, time: Nanos(1) };
        for (kind, survived, threads, right) in [
            (Kind::Plain, 1, 2, true),
            (Kind::Plain, 0, 2, false),
            (Kind::Plain, 101, 2, false),
            (Kind::Plain, 99, 1, false),
            (Kind::Locked, 99, 2, false),
            (Kind::Atomic, 99, 2, false),
            (Kind::Atomic, 100, 2, true),
        ] {
            let result = check(&counted(kind, survived), 100, threads);
            assert_eq!(result.is_ok(), right, "{kind:?} {survived} {threads}");
        }
    }
}
