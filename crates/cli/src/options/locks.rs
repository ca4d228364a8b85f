//! Turns the texts of `morecores locks` into a plan that fits this machine, and a plan back into a
//! command line.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, ensure};
use morecores_machine::placement::CpuOrder;
use morecores_study::lock::{LockHeader, LockName, LockPlan, Think};
use morecores_study::topology::Topology;
use morecores_study::{Nanos, Placement};

use super::{LEAST_RUNS, NewStudy, clock_seed, texts};
use crate::args::LocksArgs;

/// Default number of rounds: one more than an interval needs. An end of the interval then never
/// rests on a single disturbed round.
const ROUNDS: u32 = LEAST_RUNS + 1;
/// Default number of rounds with `--quick`.
const QUICK_ROUNDS: u32 = LEAST_RUNS;
/// Default hold times: from none to the duration of a lock around a system call.
const HOLDS: &str = "0,100ns,1us,10us,100us";
/// Default hold times with `--quick`: both ends, and one near the spin limit of most machines.
const QUICK_HOLDS: &str = "0,1us,100us";
/// Default think times: none, for a lock that is always wanted, and as long as the hold, for one
/// that is wanted half of the time.
const THINKS: &str = "0,hold";
/// Duration of one measurement of contention: about ten time slices of the kernel (3 ms by
/// default), for locks that sleep.
const WINDOW: Nanos = Nanos::from_millis(30);
/// Duration of one measurement of contention with `--quick`.
const QUICK_WINDOW: Nanos = Nanos::from_millis(10);
/// Duration of one measurement of contention with timed waits. It is longer because the longest
/// waits are rare.
const WATCHED: Nanos = Nanos::from_millis(300);
/// The same with `--quick`. These measurements still take most of its time.
const QUICK_WATCHED: Nanos = Nanos::from_millis(60);
/// Largest number of threads at a lock. Linux allows a process as many in a common container
/// (pids.max), and the number is twice what any machine of today needs.
const MOST_THREADS: u32 = 8192;
/// Longest hold and think time. A measurement must contain many of them.
const LONGEST: Nanos = Nanos::from_millis(100);

/// Options of `morecores locks` for a new study.
#[derive(Debug)]
pub(crate) struct LocksOptions {
    pub(crate) plan: LockPlan,
    pub(crate) study: NewStudy,
}

impl LocksOptions {
    /// Reads the arguments, for a machine with `topology`.
    pub(crate) fn new(args: &LocksArgs, topology: &Topology) -> Result<Self> {
        let pick = |quick, thorough| if args.quick { quick } else { thorough };
        let order = CpuOrder::from_policy(topology, &topology.usable.cpus, Placement::CoresFirst);
        let count = topology.usable.count.clamp(1, order.steps().len().max(1));
        let mut holds = parse_list("--hold", args.hold.as_deref().unwrap_or(pick(QUICK_HOLDS, HOLDS)), time)?;
        holds.sort_unstable();
        let window_ns = if args.quick { QUICK_WINDOW } else { WINDOW };
        let plan = LockPlan {
            locks: match &args.lock {
                Some(text) => parse_list("--lock", text, |name| Ok(name.parse::<LockName>()?))?,
                None => LockName::ALL.to_vec(),
            },
            cpus: order.cpus(count),
            threads: threads(args, count)?,
            holds,
            thinks: parse_list("--think", args.think.as_deref().unwrap_or(THINKS), think)?,
            rounds: runs(args)?.unwrap_or(if args.quick { QUICK_ROUNDS } else { ROUNDS }),
            window_ns,
            watched_ns: if args.quick { QUICK_WATCHED } else { WATCHED },
            watched_rounds: 1,
            seed: args.seed.unwrap_or_else(clock_seed),
        };
        let study = NewStudy::with_name(args.out.as_deref(), "locks");
        Ok(Self { plan, study })
    }
}

/// Options that may differ when a study of locks is resumed.
#[derive(Debug)]
pub(crate) struct ResumeLocksOptions {
    pub(crate) study: PathBuf,
    runs: Option<u32>,
}

impl ResumeLocksOptions {
    /// Reads the arguments; none for a new study.
    pub(crate) fn new(args: &LocksArgs) -> Result<Option<Self>> {
        let Some(study) = args.out.clone().filter(|_| args.resume) else { return Ok(None) };
        Ok(Some(Self { study, runs: runs(args)? }))
    }

    /// Changes the plan as the user asked.
    pub(crate) fn adjust(&self, header: &mut LockHeader) {
        header.plan.rounds = self.runs.unwrap_or(header.plan.rounds);
    }
}

/// Command line that makes an equal study, for people to read and type.
pub(crate) fn locks_command_line(plan: &LockPlan) -> String {
    let list = |items: Vec<String>| items.join(",");
    let mut line = "morecores locks".to_owned();
    if plan.locks != LockName::ALL {
        line += &format!(" --lock {}", list(plan.locks.iter().map(ToString::to_string).collect()));
    }
    line += &format!(" --threads {}", list(plan.threads.iter().map(ToString::to_string).collect()));
    line += &format!(" --hold {}", list(plan.holds.iter().map(|hold| in_units(*hold)).collect()));
    let think = |think: &Think| match think {
        Think::Hold => "hold".to_owned(),
        Think::Fixed(time) => in_units(*time),
    };
    line + &format!(" --think {} --runs {}", list(plan.thinks.iter().map(think).collect()), plan.rounds)
}

/// Time as a user types it: `0`, `100ns`, `10us`, `1ms`.
fn in_units(time: Nanos) -> String {
    match time.0 {
        0 => "0".to_owned(),
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns if ns % 1_000 == 0 => format!("{}us", ns / 1_000),
        ns => format!("{ns}ns"),
    }
}

/// Parses a comma-separated list and drops repeated items.
fn parse_list<T: PartialEq>(option: &str, text: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let mut items = Vec::new();
    for word in text.split(',').map(str::trim) {
        ensure!(!word.is_empty(), "{option} `{text}`: write a list like {}", example(option));
        let item = read(word).with_context(|| option.to_owned())?;
        if !items.contains(&item) {
            items.push(item);
        }
    }
    Ok(items)
}

fn example(option: &str) -> &'static str {
    match option {
        "--lock" => "adaptive,std",
        "--threads" => "1,2,4",
        "--think" => THINKS,
        _ => QUICK_HOLDS,
    }
}

/// Numbers of threads, ascending.
fn threads(args: &LocksArgs, cpus: usize) -> Result<Vec<u32>> {
    let Some(text) = &args.threads else { return Ok(default_threads(u32::try_from(cpus)?)) };
    let mut counts = parse_list("--threads", text, |word| {
        let count = word.parse::<u32>().map_err(|_| anyhow!("`{word}` is not a number of threads"))?;
        ensure!(count > 0, "0 threads cannot contend for a lock: counts begin at 1");
        ensure!(count <= MOST_THREADS, "{count} threads are too many: at most {MOST_THREADS}");
        Ok(count)
    })?;
    counts.sort_unstable();
    Ok(counts)
}

/// Default numbers of threads: 1, 2, 4, … and twice the CPUs.
fn default_threads(cpus: u32) -> Vec<u32> {
    let most = cpus.saturating_mul(2).min(MOST_THREADS);
    let mut counts: Vec<u32> =
        (0..u32::BITS).map(|power| 1 << power).take_while(|&count| count < most).collect();
    counts.push(most);
    counts
}

fn runs(args: &LocksArgs) -> Result<Option<u32>> {
    let none = args.runs == Some(0);
    ensure!(!none, "--runs 0 measures nothing: give at least 1, and {LEAST_RUNS} for an interval");
    Ok(args.runs)
}

fn time(word: &str) -> Result<Nanos> {
    let time = texts::short_time(word)?;
    ensure!(
        time <= LONGEST,
        "`{word}` is too long to hold a lock or stay away from it: at most {}",
        in_units(LONGEST)
    );
    Ok(time)
}

fn think(word: &str) -> Result<Think> {
    if word == "hold" { Ok(Think::Hold) } else { time(word).map(Think::Fixed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn options(line: &str, cpus: u32) -> Result<LockPlan> {
        let words = ["morecores", "locks"].into_iter().chain(line.split_whitespace());
        let Command::Locks(args) = Cli::try_parse_from(words)?.command else {
            anyhow::bail!("another command")
        };
        let mut topology = Topology::default();
        topology.usable.cpus = (0..cpus).map(morecores_study::CpuId).collect();
        topology.usable.count = cpus as usize;
        Ok(LocksOptions::new(&args, &topology)?.plan)
    }

    fn refusal(line: &str) -> String {
        format!("{:#}", options(line, 2).unwrap_err())
    }

    #[test]
    fn defaults_are_as_documented() {
        let plan = options("", 2).unwrap();
        assert_eq!(plan.locks, LockName::ALL);
        assert_eq!(plan.threads, [1, 2, 4]);
        assert_eq!(plan.holds, [0, 100, 1_000, 10_000, 100_000].map(Nanos));
        assert_eq!(plan.thinks, [Think::Fixed(Nanos::ZERO), Think::Hold]);
        assert_eq!((plan.rounds, plan.watched_rounds, plan.cpus.to_string()), (7, 1, "0-1".to_owned()));
        let quick = options("--quick", 2).unwrap();
        assert_eq!((quick.rounds, quick.holds.len(), quick.window_ns), (6, 3, Nanos::from_millis(10)));
        assert_eq!((quick.locks.len(), quick.threads), (14, vec![1, 2, 4]));
    }

    #[test]
    fn default_thread_counts_reach_twice_the_cpus() {
        assert_eq!(default_threads(1), [1, 2]);
        assert_eq!(default_threads(3), [1, 2, 4, 6]);
        assert_eq!(default_threads(8), [1, 2, 4, 8, 16]);
        assert_eq!(default_threads(9_999).last(), Some(&MOST_THREADS));
    }

    #[test]
    fn options_apply_and_are_repeated_in_the_typed_line() {
        let line =
            "--lock std,adaptive,std --threads 8,2,2 --hold 1ms,500ns,0 --think 10us,hold --runs 3 --seed 5";
        let plan = options(line, 2).unwrap();
        assert_eq!(plan.locks, [LockName::Std, LockName::Adaptive]);
        assert_eq!((plan.threads.as_slice(), plan.seed), ([2, 8].as_slice(), 5));
        assert_eq!(plan.thinks, [Think::Fixed(Nanos(10_000)), Think::Hold]);
        let typed = locks_command_line(&plan);
        assert_eq!(
            typed,
            "morecores locks --lock std,adaptive --threads 2,8 --hold 0,500ns,1ms --think 10us,hold --runs 3"
        );
        let again =
            options(&format!("{} --seed 5", typed.strip_prefix("morecores locks").unwrap()), 2).unwrap();
        assert_eq!(again, plan);
    }

    #[test]
    fn bad_values_say_what_to_write() {
        for (line, parts) in [
            ("--lock spine", ["--lock: there is no lock `spine`", "adaptive"]),
            ("--lock spin,,std", ["--lock `spin,,std`", "adaptive,std"]),
            ("--threads 0", ["--threads", "begin at 1"]),
            ("--threads two", ["--threads: `two`", "number"]),
            ("--threads 1,9000", ["--threads: 9000", "at most 8192"]),
            ("--hold 101ms", ["--hold: `101ms`", "at most 100ms"]),
            ("--hold 100", ["--hold: `100`", "100ns"]),
            ("--hold soon", ["--hold: `soon`", "100ns"]),
            ("--hold=-1us", ["--hold: `-1us`", "100ns"]),
            ("--think 1s", ["--think: `1s`", "at most 100ms"]),
            ("--runs 0", ["--runs 0", "at least 1"]),
        ] {
            let refusal = refusal(line);
            assert!(parts.iter().all(|part| refusal.contains(part)), "{line}: {refusal}");
        }
    }
}
