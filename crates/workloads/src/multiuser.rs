//! `multiuser`: simulated users who each do typical terminal work. Test 4 of source 004.
//!
//! This module holds the arguments and the order of events. A user is in `user`, their activities
//! in `shell`, `files` and `compute`. The users share only the machine.

mod compute;
mod files;
mod shell;
mod user;

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use morecores_study::{Bytes, Nanos};

use crate::barrier::Barrier;
use crate::cleanup::CleanupProcess;
use crate::clock::Span;
use crate::outcome::TMPDIR;
use crate::shared::SharedWords;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes, programs};
use user::User;

/// Upper bound of the memory of a working user: the allocation of `compute`, and the largest
/// pipeline.
const USER_MEMORY: Bytes = Bytes::from_kib(32 * 1024);

/// Rounds of each user: 1 to 5 s on one current CPU.
const DEFAULT_ROUNDS: u32 = 100;

/// Maximum number of users: more processes than most systems allow at once (`PID_MAX_DEFAULT`,
/// include/linux/threads.h).
const MAX_USERS: i64 = 32_768;

/// Words that a user leaves in shared memory: the times of arrival and departure, and a checksum.
const RECORD_WORDS: usize = 3;

/// Arguments of `multiuser`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Users at work at once")))]
#[command(after_help = "\
Memory: 32 MiB for each user at work. Disk: at most 1 MB for each user at work.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Total number of users; a user without a place waits until another one leaves [default:
    /// --threads]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_USERS))]
    users: Option<u32>,
    /// Rounds of each user; a round contains every activity once
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_ROUNDS, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Directory of the users' files (repeatable); several are used in turn [default: $TMPDIR, or
    /// /tmp]
    #[arg(long, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// Start value of the users' work
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Runs the users according to `args` and checks all their work.
///
/// # Errors
/// More places than users, a missing program, too little memory or disk space, a refused process,
/// or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let slots = args.threads.count();
    let users = args.users.map_or(slots, |users| users as usize);
    if slots > users {
        return Err(WorkloadError::TooManyThreads { threads: slots, parts: users, what: "users" });
    }
    programs::require(&shell::PROGRAMS)?;
    memory::require(Bytes(USER_MEMORY.0 * slots as u64), "--threads")?;

    let cleanup = CleanupProcess::new()?;
    let (parents, option) = match args.dir.as_slice() {
        [] => (vec![env::temp_dir()], TMPDIR),
        given => (given.to_vec(), "--dir"),
    };
    let with_option = |error: WorkloadError| error.with_option(option);
    let homes = parents
        .iter()
        .map(|parent| cleanup.make_directory(parent))
        .collect::<Result<Vec<_>, _>>()
        .map_err(with_option)?;
    let records = SharedWords::new(RECORD_WORDS * users, "--users")?;
    let arrivals = SharedWords::new(1, "--users")?;
    let barrier = Barrier::new(slots)?;
    let run_slot = || {
        barrier.wait();
        cleanup.run_in_group(|| {
            // The next user takes the first free place.
            while let Some(number) = next_user(&arrivals, users) {
                let home = homes[number % homes.len()].join(format!("user-{number}"));
                let (span, checksum) =
                    Span::measure(|| User::new(number, home, args.seed)?.work(args.rounds));
                store_record(&records[RECORD_WORDS * number..], span, checksum.map_err(with_option)?);
            }
            Ok([])
        })?
    };
    processes::run(vec![run_slot; slots])?;

    let sessions: Vec<Span> = (0..users).map(|number| load_span(&records[RECORD_WORDS * number..])).collect();
    let checksums: Vec<u8> = (0..users)
        .flat_map(|number| records[RECORD_WORDS * number + 2].load(Ordering::Relaxed).to_le_bytes())
        .collect();
    let parallel_time = Span::elapsed_time(sessions.iter().copied());
    let seconds = |time: Nanos| time.as_secs_f64();
    let each = || sessions.iter().map(|session| seconds(session.end.since(session.start)));
    let activities = (users * args.rounds as usize * user::ACTIVITIES.len()) as f64;
    let format_count =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    Ok(Outcome {
        name: "multiuser",
        parameters: format!(
            "{}, {slots} at a time, {}, {}, seed {}",
            format_count(users, "user", "users"),
            format_count(args.rounds as usize, "round", "rounds"),
            format_count(homes.len(), "directory", "directories"),
            args.seed
        ),
        parallel_time,
        rate: Rate { value: activities / seconds(parallel_time.max(Nanos(1))), unit: "activities/s" },
        figures: vec![
            Figure { name: "user mean", value: each().sum::<f64>() / users as f64, unit: "s" },
            Figure { name: "user max", value: each().fold(0.0, f64::max), unit: "s" },
        ],
        checksum: Checksum(crc32fast::hash(&checksums)),
        check_name: "everything that was done was looked at",
    })
}

/// Number of the next user; `None` if all have come.
fn next_user(arrivals: &SharedWords, users: usize) -> Option<usize> {
    let number = arrivals.first()?.fetch_add(1, Ordering::Relaxed) as usize;
    (number < users).then_some(number)
}

/// Stores the results of a user who leaves.
fn store_record(words: &[AtomicU64], session: Span, checksum: Checksum) {
    let values = [session.start.0, session.end.0, u64::from(checksum.0)];
    words.iter().zip(values).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
}

/// Times of a user's arrival and departure.
fn load_span(words: &[AtomicU64]) -> Span {
    let [start, end] = [0, 1].map(|index: usize| Nanos(words[index].load(Ordering::Relaxed)));
    Span { start, end }
}
