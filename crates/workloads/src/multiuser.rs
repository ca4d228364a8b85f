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

use crate::clock::Span;
use crate::gate::Gate;
use crate::guard::Guard;
use crate::outcome::TMPDIR;
use crate::shared::Shared;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes, programs};
use user::User;

/// Upper bound of the memory of a working user: the allocation of `compute`, and the largest
/// pipeline.
const USER: Bytes = Bytes::from_kib(32 * 1024);

/// Rounds of each user: 1 to 5 s on one current CPU.
const ROUNDS: u32 = 100;

/// Maximum number of users: more processes than most systems allow at once (`PID_MAX_DEFAULT`,
/// include/linux/threads.h).
const MAX_USERS: i64 = 32_768;

/// Words that a user leaves in shared memory: the times of arrival and departure, and a checksum.
const WORDS: usize = 3;

/// Arguments of `multiuser`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Users at work at a time")))]
#[command(after_help = "\
Memory: 32 MiB a user at work. On the disk: at most 1 MB a user at work.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Users in all; who has no place yet waits until one has gone [default: --threads]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_USERS))]
    users: Option<u32>,
    /// How often each user does everything
    #[arg(long, value_name = "COUNT", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Where users have their files, in turn; may be given several times [default: $TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// Start value of what the users do
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// Runs the users according to `args` and checks all their work.
///
/// # Errors
/// More places than users, a missing program, too little memory or disk space, a refused process,
/// or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let places = args.threads.count();
    let users = args.users.map_or(places, |users| users as usize);
    if places > users {
        return Err(WorkloadError::TooManyThreads { threads: places, parts: users, what: "users" });
    }
    programs::require(&shell::PROGRAMS)?;
    memory::require(Bytes(USER.0 * places as u64), "--threads")?;

    let guard = Guard::new()?;
    let (parents, option) = match args.dir.as_slice() {
        [] => (vec![env::temp_dir()], TMPDIR),
        given => (given.to_vec(), "--dir"),
    };
    let named = |error: WorkloadError| error.named_by(option);
    let homes =
        parents.iter().map(|parent| guard.directory(parent)).collect::<Result<Vec<_>, _>>().map_err(named)?;
    let left = Shared::new(WORDS * users, "--users")?;
    let come = Shared::new(1, "--users")?;
    let gate = Gate::new(places)?;
    let place = || {
        gate.pass();
        guard.group(|| {
            // The next user takes the first free place.
            while let Some(number) = next(&come, users) {
                let home = homes[number % homes.len()].join(format!("user-{number}"));
                let (span, checksum) = Span::of(|| User::new(number, home, args.seed)?.work(args.rounds));
                leave(&left[WORDS * number..], span, checksum.map_err(named)?);
            }
            Ok([])
        })?
    };
    processes::run(vec![place; places])?;

    let stays: Vec<Span> = (0..users).map(|number| span(&left[WORDS * number..])).collect();
    let checksums: Vec<u8> = (0..users)
        .flat_map(|number| left[WORDS * number + 2].load(Ordering::Relaxed).to_le_bytes())
        .collect();
    let parallel = Span::around(stays.iter().copied());
    let seconds = |time: Nanos| time.as_secs_f64();
    let each = || stays.iter().map(|stay| seconds(stay.to.since(stay.from)));
    let activities = (users * args.rounds as usize * user::ACTIVITIES.len()) as f64;
    let some =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    Ok(Outcome {
        name: "multiuser",
        parameters: format!(
            "{}, {places} at a time, {}, {}, seed {}",
            some(users, "user", "users"),
            some(args.rounds as usize, "round", "rounds"),
            some(homes.len(), "directory", "directories"),
            args.seed
        ),
        parallel,
        rate: Rate { value: activities / seconds(parallel.max(Nanos(1))), unit: "activities/s" },
        figures: vec![
            Figure { name: "user mean", value: each().sum::<f64>() / users as f64, unit: "s" },
            Figure { name: "user max", value: each().fold(0.0, f64::max), unit: "s" },
        ],
        checksum: Checksum(crc32fast::hash(&checksums)),
        checked: "everything that was done was looked at",
    })
}

/// Number of the next user; `None` if all have come.
fn next(come: &Shared, users: usize) -> Option<usize> {
    let number = come.first()?.fetch_add(1, Ordering::Relaxed) as usize;
    (number < users).then_some(number)
}

/// Stores the results of a user who leaves.
fn leave(words: &[AtomicU64], stay: Span, checksum: Checksum) {
    let what = [stay.from.0, stay.to.0, u64::from(checksum.0)];
    words.iter().zip(what).for_each(|(word, what)| word.store(what, Ordering::Relaxed));
}

/// Times of a user's arrival and departure.
fn span(words: &[AtomicU64]) -> Span {
    let [from, to] = [0, 1].map(|index: usize| Nanos(words[index].load(Ordering::Relaxed)));
    Span { from, to }
}
