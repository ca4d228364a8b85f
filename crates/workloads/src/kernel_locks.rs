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

use crate::clock::Span;
use crate::gate::Gate;
use crate::guard::Guard;
use crate::shared::Shared;
use crate::team::By;
use crate::{Outcome, Rate, Threads, WorkloadError, memory, team};
use tally::Tally;

/// Argument that determines the memory, for messages.
const LOWER: &str = "--operations";

/// Upper bound of the memory of a thread or process: its stack and its tables, and those of the
/// process that it makes.
const PER_WORKER: Bytes = Bytes::from_kib(1024);

/// Arguments of `kernel-locks`. `--help` says how much memory they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Threads or processes that share the work")))]
#[command(after_help = "\
Memory: at most 1 MiB a thread or process; 8 bytes an operation for file-offset (64 MB by default). Files, for dentry \
and file-offset alone, are in $TMPDIR, or in /dev/shm where that is not set.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Which lock is met
    #[arg(long, value_enum, default_value_t = Lock::Dentry)]
    lock: Lock,
    /// Who meets it: threads share their address space and their descriptors, processes only what is shared on purpose
    #[arg(long, value_enum, default_value_t = By::Threads)]
    by: By,
    /// Operations of all together [default: so many that they take 1 to 5 s]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    operations: Option<u32>,
}

/// Shared object, and so the contended lock. The page of the workload names the lock and the
/// functions that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Lock {
    /// Files are made in one directory and removed
    Dentry,
    /// One file is read through one descriptor, whose offset moves
    FileOffset,
    /// A page is mapped and unmapped
    Mmap,
    /// A page is mapped, touched for the first time, and unmapped
    PageFault,
    /// A futex operation on one word
    Futex,
    /// A message is written to one pipe, and one is read from it
    Pipe,
    /// A process is made, ends, and is waited for
    Fork,
    /// A message is sent through one socket, and one is received
    Socket,
}

impl Lock {
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
    const fn in_files(self) -> bool {
        matches!(self, Self::Dentry | Self::FileOffset)
    }

    /// Memory of `operations` operations, besides that of each thread.
    const fn memory(self, operations: u64) -> Bytes {
        match self {
            Self::FileOffset => Bytes(file::RECORD as u64 * operations),
            _ => Bytes(0),
        }
    }

    /// Shared object of the threads or processes, made before they start. `guard` cleans up below
    /// `parent`.
    fn object(self, guard: &Guard, parent: &Path, operations: u64) -> Result<Box<dyn Object>, WorkloadError> {
        Ok(match self {
            Self::Dentry => Box::new(directory::Directory::new(guard.directory(parent)?, operations)),
            Self::FileOffset => Box::new(file::Records::new(&guard.directory(parent)?, operations)?),
            Self::Mmap => Box::new(mapping::Map::changed()),
            Self::PageFault => Box::new(mapping::Map::changed_and_touched()),
            Self::Futex => Box::new(futex::Word::new(Shared::new(1, LOWER)?)),
            Self::Pipe => Box::new(messages::Channel::pipe()?),
            Self::Fork => Box::new(fork::Children::new(Shared::new(fork::WORDS, LOWER)?)),
            Self::Socket => Box::new(messages::Channel::socket()?),
        })
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// Shared object and its operations.
trait Object: Sync {
    /// Does these operations and returns their traces. Another thread or process does other
    /// operations at the same time; no operation waits for another worker's operation.
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError>;

    /// Operations that leave a trace to be checked.
    fn expected(&self, operations: u64) -> Tally {
        Tally::of(0..operations)
    }

    /// Traces that are visible after all workers have ended; `told` is the total that the workers
    /// reported.
    fn seen(&self, told: Tally) -> Result<Tally, WorkloadError> {
        Ok(told)
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
    memory::require(Bytes(PER_WORKER.0 * workers as u64), "--threads")?;
    memory::require(args.lock.memory(operations), LOWER)?;

    let guard = Guard::new()?;
    let parent = scratch();
    let object = args.lock.object(&guard, &parent, operations)?;
    let gate = Gate::new(workers)?;
    let work = shares(operations, workers)
        .map(|share| {
            let (object, gate) = (&*object, &gate);
            move || {
                gate.pass();
                let (span, tally) = Span::of(|| object.operate(share));
                let tally = tally?;
                Ok([span.from.0, span.to.0, tally.count, tally.sum])
            }
        })
        .collect();
    let results = team::run_by(args.by, "lock", work)?;

    let told = results.iter().map(|&[.., count, sum]| Tally { count, sum }).sum();
    let (seen, expected) = (object.seen(told)?, object.expected(operations));
    if seen != expected {
        return Err(WorkloadError::Wrong {
            what: format!("kernel-locks, traces of the operations on {}", args.lock),
            expected: expected.to_string(),
            got: seen.to_string(),
        });
    }
    let parallel =
        Span::around(results.iter().map(|&[from, to, ..]| Span { from: Nanos(from), to: Nanos(to) }));
    let place = if args.lock.in_files() { format!(" in {}", parent.display()) } else { String::new() };
    Ok(Outcome {
        name: "kernel-locks",
        parameters: format!("{}{place}, {operations} operations, {}", args.lock, args.by.count(workers)),
        parallel,
        // Operations too short for the clock still took some time.
        rate: Rate { value: operations as f64 / parallel.max(Nanos(1)).as_secs_f64(), unit: "operations/s" },
        figures: Vec::new(),
        checksum: seen.checksum(),
        checked: "every operation was done once",
    })
}

/// Directory for files. It is in memory unless the user names another one, since a disk's file
/// system has additional locks of its own.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match env::var_os("TMPDIR") {
        None if access(memory, Access::WRITE_OK).is_ok() => memory.to_owned(),
        _ => env::temp_dir(),
    }
}

/// `operations`, divided into one range per worker, as equal as possible.
fn shares(operations: u64, workers: usize) -> impl Iterator<Item = Range<u64>> {
    let workers = workers as u64;
    (0..workers).map(move |index| operations * index / workers..operations * (index + 1) / workers)
}

/// Error of a system call that fails independently of the arguments.
fn failed(call: &'static str, error: rustix::io::Errno) -> WorkloadError {
    WorkloadError::Failed { program: format!("the system call {call}"), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_hold_every_operation_once() {
        for (operations, workers) in [(10, 3), (2, 5), (u64::from(u32::MAX), 8192)] {
            let shares: Vec<_> = shares(operations, workers).collect();
            assert_eq!((shares.len(), shares[0].start), (workers, 0));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!(shares[workers - 1].end, operations);
        }
    }

    #[test]
    fn every_lock_by_anybody_gives_the_same_checksum() {
        for lock in Lock::value_variants() {
            let operations = Some(if *lock == Lock::Fork { 200 } else { 5000 });
            let run = |threads: u16, by| {
                let threads = Threads::new(threads.try_into().unwrap());
                run(&Args { threads, lock: *lock, by, operations }).unwrap().checksum
            };
            let alone = run(1, By::Threads);
            for by in [By::Threads, By::Processes] {
                assert_eq!(run(3, by), alone, "{lock} {by:?}");
            }
        }
    }

    /// Object that does one of its operations twice instead of another one.
    struct Twice(Box<dyn Object>);

    impl Object for Twice {
        fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError> {
            let first = operations.start;
            let told = self.0.operate(operations.start..operations.end - 1)?;
            Ok([told, self.0.operate(first..first + 1)?].into_iter().sum())
        }
    }

    #[test]
    fn an_operation_done_twice_and_another_never_is_seen() {
        let guard = Guard::new().unwrap();
        // The other locks only count operations, or detect the error themselves: a file cannot be
        // made twice.
        for lock in [Lock::PageFault, Lock::Pipe, Lock::Socket] {
            let object = Twice(lock.object(&guard, &scratch(), 100).unwrap());
            let told = object.operate(0..100).unwrap();
            let seen = object.0.seen(told).unwrap();
            assert_eq!(seen.count, 100);
            assert_ne!(seen, object.0.expected(100), "{lock}");
        }
    }
}
