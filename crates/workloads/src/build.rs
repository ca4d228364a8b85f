//! `build`: a parallel build of a C project by the machine's make and C compiler. All five sources
//! measured such a build.
//!
//! The project is either generated, which is always possible, or a part of the Linux kernel. This
//! module holds the arguments and the order of events. The two projects are in `project` (its files
//! in `program`) and `kernel`, the directories and the environment in `site`. make schedules the
//! work of the parallel part.

mod cache;
mod kernel;
mod program;
mod project;
mod site;

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use clap::ValueEnum;
use morecores_study::{Bytes, Nanos};

use crate::clock::Span;
use crate::guard::Guard;
use crate::{Checksum, Figure, Outcome, Rate, Threads, WorkloadError, memory, processes, programs};
use site::Site;

/// Memory of a compiler on the largest files of the kernel's core (110 MB, the `ru_maxrss` of GNU C
/// 12), rounded up.
const JOB: Bytes = Bytes::from_kib(128 * 1024);

/// Concurrent processes of a job: a shell, the compiler, and two of the compiler's parts.
const PROCESSES: usize = 4;

/// Files of the generated project: 1 to 5 s of compilation on one current CPU.
const FILES: u32 = 24;

/// Maximum number of files: a third of the Linux kernel's. Their statements are kept in memory, to
/// compute their results.
const MAX_FILES: i64 = 10_000;

/// Arguments of `build`. `--help` says how much memory they take.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(mut_arg("threads", |arg| arg.help("Jobs that make runs at a time")))]
#[command(after_help = "\
Memory: 128 MiB a job, at most one job a file, and 20 KB a generated file. On the disk of $TMPDIR: 100 KB a generated \
file; 200 MB for Debian's kernel and 50 MB for another one.")]
pub struct Args {
    #[command(flatten)]
    threads: Threads,
    /// What is built: a generated project, or a part of a kernel: of Debian's linux-source, or of the source in DIR
    #[arg(long, value_name = "generated|debian|DIR", default_value = "generated")]
    source: OsString,
    /// Files of the generated project [default: 24]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MAX_FILES))]
    files: Option<u32>,
    /// What make is to make of a kernel, once or several times [default: mm/ lib/ kernel/sched/]
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
    /// What the page cache holds when the build begins
    #[arg(long, value_enum, default_value_t = Cache::Warm)]
    cache: Cache,
    /// Start value of the generated project [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

/// Content of the page cache at the start of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// What was read or written before: a generated or unpacked source, but perhaps not one in a directory
    Warm,
    /// Nothing: it is emptied, which needs root
    Cold,
}

/// A project to build.
trait Subject {
    /// Name of the project, in words.
    fn name(&self) -> String;

    /// Maximum number of jobs with work, if known.
    fn most_jobs(&self) -> usize {
        usize::MAX
    }

    /// Upper bound of the disk space.
    fn disk(&self) -> Bytes;

    /// Provides the source in its build location.
    fn provide(&mut self, site: &Site) -> Result<(), WorkloadError>;

    /// Sequential commands that run before the parallel part.
    fn set_up(&self, site: &Site) -> Vec<Command>;

    /// Command of the parallel part, with `jobs` jobs.
    fn share(&self, site: &Site, jobs: usize) -> Command;

    /// Commands that run after all jobs are done.
    fn link(&self, site: &Site) -> Vec<Command>;

    /// Checks the build's output.
    fn check(&self, site: &Site) -> Result<Built, WorkloadError>;
}

/// Output of a build that was checked and found correct.
struct Built {
    /// Object files.
    objects: usize,
    checksum: Checksum,
    /// Reference of the check, in words.
    checked: &'static str,
}

/// Builds according to `args` and checks the output.
///
/// # Errors
/// Arguments that do not fit together, a missing program or source, too little memory or disk
/// space, a failed build, or a wrong result.
pub fn run(args: &Args) -> Result<Outcome, WorkloadError> {
    let mut subject = subject(args)?;
    let jobs = args.threads.count();
    programs::require(&[("make", "make"), ("cc", "gcc")])?;
    memory::require(Bytes(JOB.0 * jobs.min(subject.most_jobs()) as u64), "--threads")?;
    if args.cache == Cache::Cold {
        cache::require(&env::temp_dir())?;
    }

    let guard = Guard::new()?;
    // The 2 processes are make and, for a kernel's directory, its own child make.
    processes::require(2 + PROCESSES * jobs.min(subject.most_jobs()))?;
    let site = Site::new(&guard, &env::temp_dir(), subject.disk())?;
    subject.provide(&site)?;
    if args.cache == Cache::Cold {
        cache::empty()?;
    }

    let all = |mut commands: Vec<Command>| {
        let (span, done) = Span::of(|| commands.iter_mut().try_for_each(|command| site.run(command)));
        done.map(|()| span)
    };
    let set_up = all(subject.set_up(&site))?;
    let parallel = all(vec![subject.share(&site, jobs)])?;
    let link = subject.link(&site);
    let linked = !link.is_empty();
    let link = all(link)?;
    let built = subject.check(&site)?;

    let whole = Span::around([set_up, parallel, link]);
    let seconds = |name, time: Nanos| Figure { name, value: time.as_secs_f64(), unit: "s" };
    let [set_up, parallel, link] = [set_up, parallel, link].map(|span| span.to.since(span.from));
    let mut figures = vec![seconds("serial", Nanos(set_up.0 + link.0)), seconds("parallel", parallel)];
    figures.push(seconds("set-up", set_up));
    figures.extend(linked.then(|| seconds("link", link)));
    let cache = args.cache.to_possible_value();
    let cache = cache.as_ref().map_or("", |value| value.get_name());
    let plural = if jobs == 1 { "" } else { "s" };
    Ok(Outcome {
        name: "build",
        parameters: format!("{}, {cache} cache, {jobs} job{plural}", subject.name()),
        parallel: whole,
        rate: Rate { value: built.objects as f64 / whole.max(Nanos(1)).as_secs_f64(), unit: "objects/s" },
        figures,
        checksum: built.checksum,
        checked: built.checked,
    })
}

/// Project to build. Refuses arguments of one project that were given for another.
fn subject(args: &Args) -> Result<Box<dyn Subject>, WorkloadError> {
    let unfit = |text: &str| WorkloadError::Unfit(text.to_owned());
    let target = args.target.as_slice();
    let of_kernel = |kernel| -> Result<Box<dyn Subject>, WorkloadError> {
        if args.files.or(args.seed.map(|_| 0)).is_some() {
            return Err(unfit("--files and --seed are the generated project's: leave them out, or --source"));
        }
        Ok(Box::new(kernel))
    };
    if args.source == OsStr::new("generated") {
        if !target.is_empty() {
            return Err(unfit("--target is a kernel's: say which by --source debian or --source DIR"));
        }
        return Ok(Box::new(project::Project::new(args.files.unwrap_or(FILES), args.seed.unwrap_or(1))));
    }
    if args.source == OsStr::new("debian") {
        return of_kernel(kernel::Kernel::of_debian(target)?);
    }
    of_kernel(kernel::Kernel::at(args.source.as_ref(), target)?)
}
