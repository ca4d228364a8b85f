//! `morecores-overlap`: arguments, printing and the exit status of the build.
#![allow(clippy::print_stderr)]

use std::ffi::OsString;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::{env, fs, io, iter, thread};

use clap::Parser;
use morecores_overlap::{
    BuildEnd, HazardSearch, Options, Role, Schedule, answer_rest, role, supervise, watch,
};

/// Run a serial build on all CPUs, without changing it
///
/// Compilers, linkers and archivers run beside the build, and the build sees their results as if
/// they had run in series. Output, files and exit status are those of the serial run.
#[derive(Debug, Parser)]
#[command(name = "morecores overlap", bin_name = "morecores overlap", version)]
struct Args {
    /// Most commands that run beside the build at one time [default: number of usable CPUs]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Run in series, and estimate the elapsed time on 2, 4 and 8 CPUs
    #[arg(long, conflicts_with = "jobs")]
    estimate: bool,
    /// Print nothing but the build's own output
    #[arg(long, short)]
    quiet: bool,
    /// Find missing dependencies, by which `make -j` may break
    ///
    /// Each make first runs with --dry-run, which also executes $(shell …) and lines with $(MAKE).
    /// It cannot change files. The build takes longer.
    #[arg(long, conflicts_with = "estimate")]
    hazards: bool,
    /// Write what was done into a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a timeline into a file, for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The build, such as `make` or `./build.sh`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Exit status of a build that could not be run, as of shells.
const CANNOT_RUN: u8 = 126;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    match role(&arguments) {
        Role::Launcher(error) => {
            eprintln!("morecores overlap: {error}");
            ExitCode::from(127)
        }
        Role::Answerer => match answer_rest() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error),
        },
        Role::Supervisor(arguments) => supervise_build(&parse(arguments)),
        Role::Front(arguments) => {
            // A mistake in the arguments ends here, before anything is started.
            parse(arguments);
            match watch(arguments) {
                Ok(status) => exit_code(status),
                Err(error) => fail(&error),
            }
        }
    }
}

fn parse(arguments: &[OsString]) -> Args {
    Args::parse_from(iter::once("morecores overlap".into()).chain(arguments.iter().cloned()))
}

fn supervise_build(args: &Args) -> ExitCode {
    let jobs = args.jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let schedule = if args.estimate { Schedule::Series } else { Schedule::Parallel(jobs) };
    let hazards = if args.hazards { HazardSearch::Enabled } else { HazardSearch::Disabled };
    let files = [&args.json, &args.trace].map(Option::as_deref);
    // A file that cannot be written is found before the build starts.
    if let Some(message) = files.into_iter().flatten().find_map(|path| check_writable(path).err()) {
        return fail(&message);
    }
    match supervise(&args.command, Options { schedule, hazards }) {
        Ok(outcome) => {
            if !args.quiet {
                eprint!("{}", outcome.summary);
            }
            for (path, text) in files.into_iter().zip([outcome.record, outcome.timeline]) {
                if let Some(path) = path
                    && let Err(error) = fs::write(path, text + "\n")
                {
                    eprintln!("morecores overlap: {}", unwritable(path, &error));
                }
            }
            match outcome.end {
                BuildEnd::Status(status) => exit_code(status),
                BuildEnd::Signal(signal) => ExitCode::from((128 + signal) as u8),
            }
        }
        Err(error) => fail(&error),
    }
}

/// Checks that a file can be written. Its content stays.
fn check_writable(path: &Path) -> Result<(), String> {
    let opened = fs::File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}; choose another file", path.display())
}

/// Exit status as of shells: a signal counts from 128.
fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

fn fail(error: &impl Display) -> ExitCode {
    eprintln!("morecores overlap: {error}");
    ExitCode::from(CANNOT_RUN)
}
