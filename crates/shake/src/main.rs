//! `morecores-shake`: arguments, printing and the exit status of a search.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::{env, fs, io, iter};

use clap::{Parser, ValueEnum};
use morecores_findings::{Findings, Verdict, replay_text, sarif, text};
use morecores_shake::{Options, OutputRule, Role, ShakeError, replay, role, search};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Find failures that depend on the order of threads
///
/// Runs the program many times, on one CPU and on several. In some runs a thread is held for a
/// moment at an instruction where the order of threads may matter. Exit status: 0 if no run failed,
/// 3 if one failed, 2 if the search was impossible.
#[derive(Debug, Parser)]
#[command(name = "morecores shake", bin_name = "morecores shake", version)]
struct Args {
    /// Number of CPUs of the runs on several CPUs [default: all usable CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    cpus: Option<u32>,
    /// Most runs [default: 1000 until a first failure, then no limit but --time]
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Most time, such as 30s or 10m
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    time: Duration,
    /// Time limit of one run [default: 10 times the slowest first run, and 2 s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    timeout: Option<Duration>,
    /// Command that succeeds if the result of a run is right; $SHAKE_STDOUT names its output
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// Accept any standard output, also one that no run on one CPU has
    #[arg(long)]
    any_output: bool,
    /// Failures for which the exit status is 3
    #[arg(long, value_name = "WHICH", default_value = "any")]
    fail_on: FailOn,
    /// Seed of every choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// New directory for the runs and the findings [default: PROGRAM.shake]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write the findings for code review tools too
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Repeat a run of the search in the directory of -o, 20 times or --runs times
    #[arg(long, value_name = "RUN", requires = "output", conflicts_with = "command")]
    replay: Option<u64>,
    /// Print nothing but the findings
    #[arg(long, short)]
    quiet: bool,
    /// The program with its arguments
    #[arg(required_unless_present = "replay", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Failures that change the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any failure
    Any,
    /// Only a program that fails on several CPUs and not on one
    SmpOnly,
}

/// Repetitions of one run by default.
const REPLAYS: u64 = 20;
/// Exit status of a search that was impossible.
const IMPOSSIBLE: u8 = 2;
/// Exit status of a search that Ctrl-C ended before its first round, as of shells.
const INTERRUPTED: u8 = 130;
/// Exit status of a search that found a failure.
const FOUND: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    match role(&arguments) {
        Role::Launcher(error) => {
            eprintln!("morecores shake: {error}");
            ExitCode::from(127)
        }
        Role::Searcher(arguments) => {
            let args =
                Args::parse_from(iter::once("morecores shake".into()).chain(arguments.iter().cloned()));
            run(args).unwrap_or_else(|message| {
                eprintln!("morecores shake: {message}");
                ExitCode::from(IMPOSSIBLE)
            })
        }
    }
}

fn run(args: Args) -> Result<ExitCode, String> {
    if let (Some(run), Some(directory)) = (args.replay, &args.output) {
        let replay = replay(directory, run, args.runs.unwrap_or(REPLAYS)).map_err(text_of)?;
        print!("{}", replay_text(&replay));
        return Ok(if replay.tally.failed() > 0 { ExitCode::from(FOUND) } else { ExitCode::SUCCESS });
    }
    let usable = usable_cpus().map_err(text_of)?;
    let count = args.cpus.map_or(usable.len(), |cpus| cpus as usize);
    if usable.len() < count || count < 2 {
        return Err(format!(
            "{} CPUs are usable and at least {} are needed; run it on a larger machine",
            usable.len(),
            count.max(2)
        ));
    }
    check_program(&args.command[0])?;
    if let Some(path) = &args.sarif {
        check_writable(path)?;
    }
    let directory = args.output.unwrap_or_else(|| default_directory(&args.command[0]));
    let options = Options {
        command: args.command,
        cpus: usable[usable.len() - count..].to_vec(),
        runs: args.runs,
        time: args.time,
        timeout: args.timeout,
        check: args.check,
        output: if args.any_output { OutputRule::Any } else { OutputRule::AsOnOneCpu },
        seed: args.seed,
        directory,
        stop: stop_by_signals().map_err(text_of)?,
    };
    let mut report = |line: &str| {
        if !args.quiet {
            eprintln!("{line}");
        }
    };
    let findings = match search(&options, &mut report) {
        Err(ShakeError::Stopped) => {
            eprintln!("morecores shake: {}", ShakeError::Stopped);
            return Ok(ExitCode::from(INTERRUPTED));
        }
        findings => findings.map_err(text_of)?,
    };
    print!("{}", text(&findings));
    println!("kept in {}", options.directory.display());
    if let Some(path) = &args.sarif {
        let json = serde_json::to_string_pretty(&sarif(&findings)).map_err(text_of)?;
        fs::write(path, json + "\n").map_err(|error| unwritable(path, &error))?;
    }
    Ok(exit_code(&findings, args.fail_on))
}

/// Flag that the first signal sets. A second one ends this process at once, with the program.
fn stop_by_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn exit_code(findings: &Findings, fail_on: FailOn) -> ExitCode {
    let found = match fail_on {
        FailOn::Any => findings.verdict != Verdict::NoFailure,
        FailOn::SmpOnly => matches!(
            findings.verdict,
            Verdict::UnlockedUpdate | Verdict::MemoryOrder | Verdict::Priority | Verdict::OnlyOnSeveralCpus
        ),
    };
    if found { ExitCode::from(FOUND) } else { ExitCode::SUCCESS }
}

/// Directory of a search in the current one: `PROGRAM.shake`, with a number if that exists.
fn default_directory(program: &OsStr) -> PathBuf {
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let numbered = (2_u32..).map(|number| format!("{name}-{number}.shake"));
    let mut names = iter::once(format!("{name}.shake")).chain(numbered).map(PathBuf::from);
    names.find(|path| !path.exists()).unwrap_or_default()
}

/// Parses a time such as `10m`.
fn duration(text: &str) -> Result<Duration, String> {
    let time: jiff::SignedDuration =
        text.parse().map_err(|_| "write a time such as 30s or 10m".to_owned())?;
    Duration::try_from(time).map_err(|_| "a time is positive".to_owned())
}

/// CPUs on which this process may run.
fn usable_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Checks that a program exists: on PATH, or at its path.
fn check_program(program: &OsStr) -> Result<(), String> {
    let path = Path::new(program);
    let found = if path.components().count() > 1 {
        path.is_file()
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).any(|folder| folder.join(path).is_file())
    };
    if found { Ok(()) } else { Err(format!("cannot find {}; give its path", path.display())) }
}

/// Checks that a file can be written. Its content stays.
fn check_writable(path: &Path) -> Result<(), String> {
    let opened = fs::File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; choose another file", path.display())
}

fn text_of(error: impl Display) -> String {
    error.to_string()
}
