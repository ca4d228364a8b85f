//! The threads of a workload, or processes instead: how many, and running one piece of work on each.
//!
//! They are started for a part of the run and live until its end. What they say to each other is the workload's
//! business.

use std::fmt;
use std::panic;
use std::sync::OnceLock;
use std::thread;

use clap::{Args, ValueEnum};
use morecores_study::Bytes;
use rustix::process::{Resource, getrlimit};

use crate::{WorkloadError, processes};

/// Most threads accepted. Linux's `NR_CPUS` is at most 8192 (`arch/x86/Kconfig`): more are a slip of the keyboard.
const MAX_THREADS: i64 = 8192;

/// Stack of a thread: what Rust's standard library takes, fixed here against `RUST_MIN_STACK`.
const STACK: Bytes = Bytes::from_kib(2 * 1024);

/// Address space, not memory, that glibc takes for the heap of each thread: `HEAP_MAX_SIZE` of its malloc/arena.c on
/// 64-bit machines.
const HEAP: Bytes = Bytes::from_kib(64 * 1024);

/// The argument that every workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
pub struct Threads {
    /// Threads that share the work
    #[arg(short = 't', long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: u16,
}

impl Threads {
    /// `count` threads; a workload needs one at least.
    pub const fn new(count: std::num::NonZeroU16) -> Self {
        Self { threads: count.get() }
    }

    /// How many.
    pub const fn count(self) -> usize {
        self.threads as usize
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.threads, if self.threads == 1 { "" } else { "s" })
    }
}

/// Who does the pieces of a workload that can be done by either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Threads of one process
    Threads,
    /// Processes of one thread each
    Processes,
}

impl By {
    /// So many of them, in words.
    pub(crate) fn count(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Threads => ("thread", "threads"),
            Self::Processes => ("process", "processes"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// What part `index` of `parts` has of `total`, which they share as equally as whole numbers allow.
pub(crate) const fn share(total: u64, index: usize, parts: usize) -> u64 {
    // What is left over goes to the first ones, one each.
    total / parts as u64 + ((index as u64) < total % parts as u64) as u64
}

/// Runs every piece of `work` by a thread or process of its own and returns their results in order. Where one fails, so
/// does the whole; what the others share with it must not make them wait for it for ever where they are threads.
pub(crate) fn run_by<W, const N: usize>(
    by: By,
    name: &str,
    work: Vec<W>,
) -> Result<Vec<[u64; N]>, WorkloadError>
where
    W: FnOnce() -> Result<[u64; N], WorkloadError> + Send,
{
    match by {
        By::Threads => run(name, work)?.into_iter().collect(),
        By::Processes => processes::run(work),
    }
}

/// Runs every piece of `work` on a thread of its own, named `name-1`, `name-2`, …, and returns their results in
/// order. No piece begins before all threads are there, and none at all where one cannot be started: pieces may wait
/// for each other. A panic in a piece goes on here.
pub(crate) fn run<W, T>(name: &str, work: Vec<W>) -> Result<Vec<T>, WorkloadError>
where
    W: FnOnce() -> T + Send,
    T: Send,
{
    let wanted = work.len();
    require_address_space(wanted)?;
    let all_there = OnceLock::<bool>::new();
    thread::scope(|scope| {
        let mut started = Vec::with_capacity(wanted);
        for (index, piece) in work.into_iter().enumerate() {
            let number = index + 1;
            let builder =
                thread::Builder::new().name(format!("{name}-{number}")).stack_size(STACK.0 as usize);
            let all_there = &all_there;
            let handle = builder.spawn_scoped(scope, move || all_there.wait().then(piece));
            match handle {
                Ok(handle) => started.push(handle),
                Err(source) => {
                    all_there.get_or_init(|| false);
                    return Err(WorkloadError::Thread { number, wanted, source });
                }
            }
        }
        all_there.get_or_init(|| true);
        Ok(started
            .into_iter()
            .filter_map(|handle| handle.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect())
    })
}

/// Refuses threads that a limit of the address space (`ulimit -v`) has no room for. Under such a limit a thread may
/// start and then miss the memory for its own set-up, which the standard library ends with an abort.
fn require_address_space(threads: usize) -> Result<(), WorkloadError> {
    let needed = Bytes((STACK.0 + HEAP.0) * threads as u64);
    match getrlimit(Resource::As).current {
        Some(limit) if limit < needed.0 => {
            Err(WorkloadError::AddressSpace { threads, needed, limit: Bytes(limit) })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_are_fair_and_sum_to_the_total(total: u64, parts in 1usize..100) {
            let shares: Vec<_> = (0..parts).map(|index| share(total, index, parts)).collect();
            prop_assert_eq!(shares.iter().map(|share| u128::from(*share)).sum::<u128>(), u128::from(total));
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn results_come_in_order_from_named_threads() {
        let work = (0..5).map(|i| move || (i, thread::current().name().map(str::to_owned))).collect();
        let results = run("team", work).unwrap();
        assert_eq!(results[4], (4, Some("team-5".to_owned())));
        assert!(results.iter().enumerate().all(|(i, (got, _))| i == *got));
    }

    #[test]
    #[should_panic(expected = "in a thread")]
    fn a_panic_is_not_lost() {
        let _ = run("team", vec![|| panic!("in a thread")]);
    }
}
