//! `kernel-locks`: loops that each contend for one kernel lock. It asks the question of source 003
//! about one lock at a time.
//!
//! Threads or processes make only one kind of system call on one shared object. This module holds
//! the arguments and the order of events. Each object and its operation have their own module, and
//! none of these modules measures time.

mod directory;
mod file;
mod fork;
mod futex;
mod mapping;
mod messages;
mod tally;

use std::env;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};
use rustix::fs::{Access, access};

use crate::barrier::Barrier;
use crate::cleanup::CleanupProcess;
use crate::clock::Span;
use crate::shared::SharedWords;
use crate::team::WorkerKind;
use crate::{Outcome, Rate, Threads, WorkloadError, memory, team};
use tally::Tally;

/// Argument that determines the memory, for messages.
const MEMORY_ARGUMENTS: &str = "--operations";

/// Upper bound of the memory of a thread or process: its stack and its tables, and those of the
/// process that it makes.
const WORKER_MEMORY: Bytes = Bytes::from_kib(1024);

/// Arguments of `kernel-locks`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Threads or processes that share the work")))]
#[command(after_help = "\
Memory: at most 1 MiB for each thread or process; 8 bytes for each operation of file-offset (64 MB by default). Only \
dentry and file-offset have files: in $TMPDIR, or in /dev/shm if this is not set.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Contended lock
    #[arg(long, value_enum, default_value_t = KernelLock::Dentry)]
    lock: KernelLock,
    /// Kind of worker: threads share their address space and descriptors, processes only what they
    /// share on purpose
    #[arg(long = "by", value_name = "BY", value_enum, default_value_t = WorkerKind::Threads)]
    worker_kind: WorkerKind,
    /// Total operations of all workers [default: as many as take 1 to 5 s]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    operations: Option<u32>,
}

/// Shared object, and so the contended lock. The page of the workload names the lock and the
/// functions that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelLock {
    /// Creation and removal of files in one directory
    Dentry,
    /// Reads of one file through one descriptor, which move its offset
    FileOffset,
    /// Mapping and unmapping of a page
    Mmap,
    /// Mapping of a page, its first touch, and its unmapping
    PageFault,
    /// Futex operations on one word
    Futex,
    /// Write of a message to one pipe, and read of a message from it
    Pipe,
    /// Creation of a process, its end, and the wait for it
    Fork,
    /// Send of a message through one socket, and receipt of a message
    Socket,
}

impl KernelLock {
    /// Number of operations that take 1 to 5 s on one current CPU (measured on a virtual machine of
    /// a 2024 server).
    const fn default_operations(self) -> u32 {
        match self {
            Self::Dentry => 400_000,
            Self::FileOffset => 8_000_000,
            Self::Mmap => 1_000_000,
            Self::PageFault => 500_000,
            Self::Futex => 5_000_000,
            Self::Pipe => 3_000_000,
            Self::Fork => 10_000,
            Self::Socket => 1_000_000,
        }
    }

    /// Whether the shared object is in a file system.
    const fn uses_files(self) -> bool {
        matches!(self, Self::Dentry | Self::FileOffset)
    }

    /// Memory of `operations` operations, besides that of each thread.
    const fn memory(self, operations: u64) -> Bytes {
        match self {
            Self::FileOffset => Bytes(file::RECORD_BYTES as u64 * operations),
            _ => Bytes(0),
        }
    }

    /// Shared object of the threads or processes, made before they start. `cleanup` cleans up below
    /// `parent`.
    fn object(
        self,
        cleanup: &CleanupProcess,
        parent: &Path,
        operations: u64,
    ) -> Result<Box<dyn SharedObject>, WorkloadError> {
        Ok(match self {
            Self::Dentry => Box::new(directory::Directory::new(cleanup.make_directory(parent)?, operations)),
            Self::FileOffset => Box::new(file::Records::new(&cleanup.make_directory(parent)?, operations)?),
            Self::Mmap => Box::new(mapping::AddressSpace::with_rare_page_faults()),
            Self::PageFault => Box::new(mapping::AddressSpace::with_page_faults()),
            Self::Futex => Box::new(futex::FutexCounter::new(SharedWords::new(1, MEMORY_ARGUMENTS)?)),
            Self::Pipe => Box::new(messages::Channel::pipe()?),
            Self::Fork => Box::new(fork::Children::new(SharedWords::new(fork::WORDS, MEMORY_ARGUMENTS)?)),
            Self::Socket => Box::new(messages::Channel::socket()?),
        })
    }
}

impl fmt::Display for KernelLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// Shared object and its operations.
trait SharedObject: Sync {
    /// Does these operations and returns their traces. Another thread or process does other
    /// operations at the same time; no operation waits for another worker's operation.
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError>;

    /// Operations that leave a trace to be checked.
    fn expected_tally(&self, operations: u64) -> Tally {
        Tally::from_numbers(0..operations)
    }

    /// Traces that are visible after all workers have ended; `reported` is the total that the
    /// workers reported.
    fn observed_tally(&self, reported: Tally) -> Result<Tally, WorkloadError> {
        Ok(reported)
    }
}

/// Contends for a lock according to `args` and checks that every operation was done once.
///
/// # Errors
/// Too little memory or disk space, a refused thread or process, a failed system call, or a wrong
/// result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let workers = args.threads.count();
    let operations = u64::from(args.operations.unwrap_or_else(|| args.lock.default_operations()));
    memory::require(Bytes(WORKER_MEMORY.0 * workers as u64), "--threads")?;
    memory::require(args.lock.memory(operations), MEMORY_ARGUMENTS)?;

    let cleanup = CleanupProcess::new()?;
    let parent = scratch_directory();
    let object = args.lock.object(&cleanup, &parent, operations)?;
    let barrier = Barrier::new(workers)?;
    let work = (0..workers)
        .map(|index| {
            let share = team::range(operations, index, workers);
            let (object, barrier) = (&*object, &barrier);
            move || {
                barrier.wait();
                let (span, tally) = Span::measure(|| object.operate(share));
                let tally = tally?;
                Ok([span.start.0, span.end.0, tally.count, tally.sum])
            }
        })
        .collect();
    let results = team::run_workers(args.worker_kind, "lock", work)?;

    let reported = results.iter().map(|&[.., count, sum]| Tally { count, sum }).sum();
    let (observed, expected) = (object.observed_tally(reported)?, object.expected_tally(operations));
    if observed != expected {
        return Err(WorkloadError::WrongResult {
            what: format!("kernel-locks, traces of the operations on {}", args.lock),
            expected: expected.to_string(),
            got: observed.to_string(),
        });
    }
    let parallel_time =
        Span::elapsed_time(results.iter().map(|&[from, to, ..]| Span { start: Nanos(from), end: Nanos(to) }));
    let place = if args.lock.uses_files() { format!(" in {}", parent.display()) } else { String::new() };
    Ok(Outcome {
        name: "kernel-locks",
        parameters: format!(
            "{}{place}, {operations} operations, {}",
            args.lock,
            args.worker_kind.describe(workers)
        ),
        parallel_time,
        // Operations too short for the clock still took some time.
        rate: Rate {
            value: operations as f64 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "operations/s",
        },
        figures: Vec::new(),
        checksum: observed.checksum(),
        check_name: "every operation was done once",
    })
}

/// Directory for files. It is in memory unless the user names another one, since a disk's file
/// system has additional locks of its own.
fn scratch_directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match env::var_os("TMPDIR") {
        None if access(memory, Access::WRITE_OK).is_ok() => memory.to_owned(),
        _ => env::temp_dir(),
    }
}

/// Error of a system call that fails independently of the arguments.
fn call_error(call: &'static str, error: rustix::io::Errno) -> WorkloadError {
    WorkloadError::ProgramFailed { program: format!("the system call {call}"), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lock_gives_one_checksum_for_any_workers() {
        for lock in KernelLock::value_variants() {
            let operations = Some(if *lock == KernelLock::Fork { 200 } else { 5000 });
            let run = |threads: u16, worker_kind| {
                let threads = Threads::new(threads.try_into().unwrap());
                run(&Args { threads, lock: *lock, worker_kind, operations }).unwrap().checksum
            };
            let expected = run(1, WorkerKind::Threads);
            for worker_kind in [WorkerKind::Threads, WorkerKind::Processes] {
                assert_eq!(run(3, worker_kind), expected, "{lock} {worker_kind:?}");
            }
        }
    }

    /// Object that does one of its operations twice instead of another one.
    struct RepeatingObject(Box<dyn SharedObject>);

    impl SharedObject for RepeatingObject {
        fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
            let first = operations.start;
            let reported = self.0.operate(operations.start..operations.end - 1)?;
            Ok([reported, self.0.operate(first..first + 1)?].into_iter().sum())
        }
    }

    #[test]
    fn a_repeated_and_a_missing_operation_are_found() {
        let cleanup = CleanupProcess::new().unwrap();
        // The other locks only count operations, or detect the error themselves: a file cannot be
        // made twice.
        for lock in [KernelLock::PageFault, KernelLock::Pipe, KernelLock::Socket] {
            let object = RepeatingObject(lock.object(&cleanup, &scratch_directory(), 100).unwrap());
            let reported = object.operate(0..100).unwrap();
            let observed = object.0.observed_tally(reported).unwrap();
            assert_eq!(observed.count, 100);
            assert_ne!(observed, object.0.expected_tally(100), "{lock}");
        }
    }
}
