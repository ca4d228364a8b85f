//! `build`: a parallel build of a C project by the machine's make and C compiler. All five sources
//! measured such a build.
//!
//! The project is either generated, which is always possible, or a part of the Linux kernel. This
//! module holds the arguments and the order of events. The two projects are in `generated` (its
//! files in `program`) and `kernel`, the directories and the variables in `environment`. make
//! schedules the work of the parallel part.

mod cache;
mod environment;
mod generated;
mod kernel;
mod program;

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};

use crate::cleanup::CleanupProcess;
use crate::clock::Span;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes, programs};
use environment::Environment;

/// Memory of a compiler on the largest files of the kernel's core (110 MB, the `ru_maxrss` of GNU C
/// 12), rounded up.
const JOB_MEMORY: Bytes = Bytes::from_kib(128 * 1024);

/// Concurrent processes of a job: a shell, the compiler, and two of the compiler's parts.
const PROCESSES: usize = 4;

/// Files of the generated project: 1 to 5 s of compilation on one current CPU.
const DEFAULT_FILES: u32 = 24;

/// Maximum number of files: a third of the Linux kernel's. Their statements are kept in memory, to
/// compute their results.
const MAX_FILES: i64 = 10_000;

/// Arguments of `build`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Jobs that make runs at once")))]
#[command(after_help = "\
Memory: 128 MiB for each job, for at most one job a file, and 20 KB for each generated file. Disk of $TMPDIR: 100 KB \
for each generated file; 200 MB for Debian's kernel, 50 MB for another one.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// Source to build: a generated project, a part of the kernel in Debian's linux-source, or a
    /// part of the kernel source in DIR
    #[arg(long, value_name = "generated|debian|DIR", default_value = "generated")]
    source: OsString,
    /// Files of the generated project [default: 24]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_FILES))]
    files: Option<u32>,
    /// Make target of a kernel (repeatable) [default: mm/ lib/ kernel/sched/]
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// Program that divides the work among the jobs
    #[arg(long, value_enum, default_value_t = Driver::Make)]
    by: Driver,
    /// Content of the page cache at the start of the build
    #[arg(long, value_enum, default_value_t = Cache::Warm)]
    cache: Cache,
    /// Start value of the generated project [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// Program that divides the work among the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// make -j
    Make,
    /// morecores overlap: make runs in series, and its compilations beside it
    Overlap,
}

/// Content of the page cache at the start of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// Files read or written before: a generated or unpacked source, but perhaps not a source in a
    /// directory
    Warm,
    /// Nothing: the page cache is emptied first, which needs root
    Cold,
}

/// A project to build.
trait Project {
    /// Name of the project, in words.
    fn name(&self) -> String;

    /// Maximum number of jobs with work, if known.
    fn max_jobs(&self) -> usize {
        usize::MAX
    }

    /// Upper bound of the disk space.
    fn disk_space(&self) -> Bytes;

    /// Puts the source in its build location.
    fn prepare_source(&mut self, environment: &Environment) -> Result<(), WorkloadError>;

    /// Sequential commands that run before the parallel part.
    fn setup_commands(&self, environment: &Environment) -> Vec<Command>;

    /// Command of the parallel part, with `jobs` jobs.
    fn parallel_command(&self, environment: &Environment, jobs: usize) -> Command;

    /// Commands that run after all jobs are done.
    fn link_commands(&self, environment: &Environment) -> Vec<Command>;

    /// Checks the build's output.
    fn check_output(&self, environment: &Environment) -> Result<BuildOutput, WorkloadError>;
}

/// Output of a build that was checked and found correct.
struct BuildOutput {
    /// Object files.
    objects: usize,
    checksum: Checksum,
    /// Reference of the check, in words.
    check_name: &'static str,
}

/// Builds according to `args` and checks the output.
///
/// # Errors
/// Arguments that do not fit together, a missing program or source, too little memory or disk
/// space, a failed build, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let mut project = choose_project(args)?;
    let jobs = args.threads.count();
    programs::require(&[("make", "make"), ("cc", "gcc")])?;
    memory::require(Bytes(JOB_MEMORY.0 * jobs.min(project.max_jobs()) as u64), "--threads")?;
    if args.cache == Cache::Cold {
        cache::require(&env::temp_dir())?;
    }

    let cleanup = CleanupProcess::new()?;
    // The 2 processes are make and, for a kernel's directory, its own child make.
    processes::require(2 + PROCESSES * jobs.min(project.max_jobs()))?;
    let environment = Environment::new(&cleanup, &env::temp_dir(), project.disk_space())?;
    project.prepare_source(&environment)?;
    if args.cache == Cache::Cold {
        cache::drop_page_cache()?;
    }

    let run_all = |mut commands: Vec<Command>| {
        let (span, done) =
            Span::measure(|| commands.iter_mut().try_for_each(|command| environment.run(command)));
        done.map(|()| span)
    };
    let setup = run_all(project.setup_commands(&environment))?;
    let parallel = match args.by {
        Driver::Make => project.parallel_command(&environment, jobs),
        Driver::Overlap => overlapped(&project.parallel_command(&environment, 1), jobs)?,
    };
    let parallel = run_all(vec![parallel])?;
    let link = project.link_commands(&environment);
    let has_link = !link.is_empty();
    let link = run_all(link)?;
    let output = project.check_output(&environment)?;

    let parallel_time = Span::elapsed_time([setup, parallel, link]);
    let seconds = |name, time: Nanos| Figure { name, value: time.as_secs_f64(), unit: "s" };
    let [setup, parallel, link] = [setup, parallel, link].map(|span| span.end.since(span.start));
    let mut figures = vec![seconds("serial", Nanos(setup.0 + link.0)), seconds("parallel", parallel)];
    figures.push(seconds("set-up", setup));
    figures.extend(has_link.then(|| seconds("link", link)));
    let cache = args.cache.to_possible_value();
    let cache = cache.as_ref().map_or("", |value| value.get_name());
    let plural = if jobs == 1 { "" } else { "s" };
    Ok(Outcome {
        name: "build",
        parameters: format!("{}, {cache} cache, {jobs} job{plural}{}", project.name(), args.by.note()),
        parallel_time,
        rate: Rate {
            value: output.objects as f64 / parallel_time.max(Nanos(1)).as_secs_f64(),
            unit: "objects/s",
        },
        figures,
        checksum: output.checksum,
        check_name: output.check_name,
    })
}

impl Driver {
    /// Addition to the parameters in the output; nothing for the default.
    fn note(self) -> &'static str {
        match self {
            Self::Make => "",
            Self::Overlap => " beside a serial make",
        }
    }
}

/// A serial command with its compilations beside it, at most `jobs` at a time.
fn overlapped(command: &Command, jobs: usize) -> Result<Command, WorkloadError> {
    let program = programs::find_own("morecores-overlap")?;
    let mut line = Command::new(program);
    line.args(["--quiet", "--jobs"]).arg(jobs.to_string());
    line.arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => line.env(name, value),
            None => line.env_remove(name),
        };
    }
    Ok(line)
}

/// Project to build. Refuses arguments of one project that were given for another.
fn choose_project(args: &Args) -> Result<Box<dyn Project>, WorkloadError> {
    let cannot_run = |text: &str| WorkloadError::CannotRun(text.to_owned());
    let target = args.target.as_slice();
    let boxed_kernel = |kernel| -> Result<Box<dyn Project>, WorkloadError> {
        if args.files.or(args.seed.map(|_| 0)).is_some() {
            return Err(cannot_run(
                "--files and --seed are the generated project's: leave them out, or --source",
            ));
        }
        Ok(Box::new(kernel))
    };
    if args.source == OsStr::new("generated") {
        if !target.is_empty() {
            return Err(cannot_run("--target is a kernel's: say which by --source debian or --source DIR"));
        }
        return Ok(Box::new(generated::GeneratedProject::new(
            args.files.unwrap_or(DEFAULT_FILES),
            args.seed.unwrap_or(1),
        )));
    }
    if args.source == OsStr::new("debian") {
        return boxed_kernel(kernel::Kernel::from_debian(target)?);
    }
    boxed_kernel(kernel::Kernel::from_directory(args.source.as_ref(), target)?)
}
