//! `kernel-locks`: loops that meet one lock of the kernel each, the question of source 003 put to one lock at a time.
//!
//! Threads or processes do nothing but one kind of system call on one object that they share. This module holds the
//! arguments and the order of events; what is shared and how one operation is done is in a module for each object, and
//! none of them measures time.

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

/// Argument that decides the memory, for messages.
const LOWER: &str = "--operations";

/// Memory of a thread or process, at most: its stack and its tables, and those of the process that it makes.
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

/// What is shared, and so which lock is met. The page names the lock and the functions that wait for it.
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
    /// Operations that take 1 to 5 s on one CPU of today (measured on a virtual machine of a 2024 server).
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

    /// Whether what is shared lies in a file system.
    const fn in_files(self) -> bool {
        matches!(self, Self::Dentry | Self::FileOffset)
    }

    /// Memory that so many operations take, besides what each thread does.
    const fn memory(self, operations: u64) -> Bytes {
        match self {
            Self::FileOffset => Bytes(file::RECORD as u64 * operations),
            _ => Bytes(0),
        }
    }

    /// What the threads or processes are to share, made before they are. `guard` clears up what lies below `parent`.
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

/// What is shared, and the operations on it.
trait Object: Sync {
    /// Does these operations and tells which traces they left. Another thread or process does others at the same time;
    /// none waits for one of another's.
    fn operate(&self, operations: Range<u64>) -> Result<Tally, WorkloadError>;

    /// Which operations leave a trace to be checked.
    fn expected(&self, operations: u64) -> Tally {
        Tally::of(0..operations)
    }

    /// What there is to see of the traces when all have ended; `told` is what those who worked told.
    fn seen(&self, told: Tally) -> Result<Tally, WorkloadError> {
        Ok(told)
    }
}

/// Meets a lock as `args` say and checks that every operation was done once.
///
/// # Errors
/// Too little memory or disk, a refused thread or process, a system call that failed, a wrong result.
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

/// Where files are made: in memory unless the user says where, since a disk's file system has locks of its own besides.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    match env::var_os("TMPDIR") {
        None if access(memory, Access::WRITE_OK).is_ok() => memory.to_owned(),
        _ => env::temp_dir(),
    }
}

/// `operations` cut into as many ranges as there are workers, as equal as can be.
fn shares(operations: u64, workers: usize) -> impl Iterator<Item = Range<u64>> {
    let workers = workers as u64;
    (0..workers).map(move |index| operations * index / workers..operations * (index + 1) / workers)
}

/// A system call that fails for no fault of the arguments.
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

    /// Does one of its operations twice in the place of another.
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
        // The others count alone, or refuse it themselves: a file cannot be made twice.
        for lock in [Lock::PageFault, Lock::Pipe, Lock::Socket] {
            let object = Twice(lock.object(&guard, &scratch(), 100).unwrap());
            let told = object.operate(0..100).unwrap();
            let seen = object.0.seen(told).unwrap();
            assert_eq!(seen.count, 100);
            assert_ne!(seen, object.0.expected(100), "{lock}");
        }
    }
}
