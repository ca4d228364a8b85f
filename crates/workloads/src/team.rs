//! The threads of a workload, or processes instead of them: their number, and one piece of work on
//! each.
//!
//! The threads are started for a part of the run and live until its end. Communication between them
//! is left to the workload.

use std::fmt;
use std::ops::Range;
use std::panic;
use std::sync::OnceLock;
use std::thread;

use clap::{Args, ValueEnum};
use morecores_study::Bytes;
use rustix::process::{Resource, getrlimit};

use crate::{WorkloadError, processes};

/// Largest accepted number of threads. Linux's `NR_CPUS` is at most 8192 (`arch/x86/Kconfig`), so a
/// larger number is a typing error.
const MAX_THREADS: i64 = 8192;

/// Stack of a thread: the default of Rust's standard library, fixed here so that `RUST_MIN_STACK`
/// has no effect.
const STACK_SIZE: Bytes = Bytes::from_kib(2 * 1024);

/// Address space (not memory) that glibc reserves for the heap of each thread: `HEAP_MAX_SIZE` of
/// its malloc/arena.c on 64-bit machines.
const HEAP_SIZE: Bytes = Bytes::from_kib(64 * 1024);

/// The argument that every workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
pub struct Threads {
    /// Threads that share the work
    #[arg(short = 't', long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: u16,
}

impl Threads {
    /// `count` threads. The type ensures at least one.
    pub const fn new(count: std::num::NonZeroU16) -> Self {
        Self { threads: count.get() }
    }

    /// Number of threads.
    pub const fn count(self) -> usize {
        self.threads as usize
    }
}

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.threads, if self.threads == 1 { "" } else { "s" })
    }
}

/// Choice of threads or processes, for a workload that supports both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkerKind {
    /// Threads of one process
    Threads,
    /// Processes of one thread each
    Processes,
}

impl WorkerKind {
    /// Number of threads or processes, in words.
    pub(crate) fn describe(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Threads => ("thread", "threads"),
            Self::Processes => ("process", "processes"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Part `index` of `0..total`, divided into `parts` ranges as equal as whole numbers allow.
pub(crate) const fn range(total: u64, index: usize, parts: usize) -> Range<u64> {
    const fn start(total: u64, index: usize, parts: usize) -> u64 {
        // The product may exceed 64 bits, the quotient does not.
        (total as u128 * index as u128 / parts as u128) as u64
    }
    start(total, index, parts)..start(total, index + 1, parts)
}

/// Length of part `index` of [`range`].
pub(crate) const fn range_length(total: u64, index: usize, parts: usize) -> u64 {
    let Range { start, end } = range(total, index, parts);
    end - start
}

/// Runs every piece of `work` on its own thread or process and returns the results in order. The
/// whole fails where one piece fails. A piece on a thread must not wait for ever for a failed
/// piece.
pub(crate) fn run_workers<W, const N: usize>(
    worker_kind: WorkerKind,
    name: &str,
    work: Vec<W>,
) -> Result<Vec<[u64; N]>, WorkloadError>
where
    W: FnOnce() -> Result<[u64; N], WorkloadError> + Send,
{
    match worker_kind {
        WorkerKind::Threads => run(name, work)?.into_iter().collect(),
        WorkerKind::Processes => processes::run(work),
    }
}

/// Runs every piece of `work` on its own thread, named `name-1`, `name-2`, …, and returns the
/// results in order. Pieces may wait for each other: no piece begins before all threads exist, and
/// none runs if one thread cannot be started. A panic in a piece is propagated to the caller.
///
/// # Errors
/// A limit of the address space without room for the threads, or a refused thread.
pub fn run<W, T>(name: &str, work: Vec<W>) -> Result<Vec<T>, WorkloadError>
where
    W: FnOnce() -> T + Send,
    T: Send,
{
    let wanted = work.len();
    require_address_space(wanted)?;
    let may_start = OnceLock::<bool>::new();
    thread::scope(|scope| {
        let mut handles = Vec::with_capacity(wanted);
        for (index, piece) in work.into_iter().enumerate() {
            let number = index + 1;
            let builder =
                thread::Builder::new().name(format!("{name}-{number}")).stack_size(STACK_SIZE.0 as usize);
            let may_start = &may_start;
            let handle = builder.spawn_scoped(scope, move || may_start.wait().then(piece));
            match handle {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    may_start.get_or_init(|| false);
                    return Err(WorkloadError::Thread { number, wanted, source });
                }
            }
        }
        may_start.get_or_init(|| true);
        Ok(handles
            .into_iter()
            .filter_map(|handle| handle.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect())
    })
}

/// Refuses a number of threads for which the address-space limit (`ulimit -v`) has no room. Under a
/// tight limit a thread may start and then lack memory for its own set-up. The standard library
/// aborts in that case.
fn require_address_space(threads: usize) -> Result<(), WorkloadError> {
    let needed = Bytes((STACK_SIZE.0 + HEAP_SIZE.0) * threads as u64);
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
        fn ranges_are_equal_and_make_up_the_total(total: u64, parts in 1usize..100) {
            let ranges: Vec<_> = (0..parts).map(|index| range(total, index, parts)).collect();
            prop_assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, total));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let lengths = (0..parts).map(|index| range_length(total, index, parts));
            prop_assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
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
