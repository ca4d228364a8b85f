//! The judged programs, their arguments and their limits.

use std::path::{Path, PathBuf};

use crate::compiled::{Build, CompiledProgram, CompiledSource};
use crate::program::{
    AnyProgram, BusyWithNeighbour, Calls, Disk, FalseSharing, Faults, Mutex, PinnedThreads, PipeChain, Pool,
    SerialFork, SerialThreads, Sleeper, Storm, TwoMutexes,
};
use crate::python::{Interpreter, PythonProgram, PythonSource};

/// Largest difference between truth and report, in points of `cpus · elapsed`, or in percent of a
/// count.
pub const LIMIT_POINTS: f64 = 2.0;

/// Largest part of each CPU that may be unexplained, in percent of the elapsed time.
pub const LIMIT_UNEXPLAINED: f64 = 3.0;

/// Largest unexplained part of each CPU on a kernel build, which is long and contains everything.
pub const LIMIT_UNEXPLAINED_KERNEL: f64 = 1.0;

/// Ticks of the kernel's clock in a second, which separate user and system time: the lowest common
/// value (`CONFIG_HZ` of Debian's and of cloud kernels).
const TICKS_PER_S: f64 = 250.0;

/// Distance of the limit from a sampled share, in standard errors: a true report misses in 1 of 370
/// runs.
const STANDARD_ERRORS: f64 = 3.0;

/// Length in seconds of the programs whose figures are shares of samples alone, 197 a second of
/// each CPU. With OpenMP, three standard errors of the difference of two shares are below the limit
/// on 2 CPUs. Twice this length does the same for a half of one CPU.
const SAMPLED_SECONDS: f64 = 10.0;

/// Approximate number of short processes a second: `true` takes some 0.6 ms.
const PROCESSES_PER_S: f64 = 1_000.0;

/// Program or command of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A program of this crate.
    Program(AnyProgram),
    /// The same, without symbols.
    StrippedProgram(AnyProgram),
    /// A program in C or C++.
    Compiled(CompiledProgram),
    /// A program in Python.
    Python(PythonProgram),
    /// `stress-ng --dentry`: many waits for the kernel's locks.
    DirectoryStorm {
        /// Length in seconds.
        seconds: u32,
    },
    /// A part of a kernel build, by this script: `SCRIPT clean`, then `SCRIPT build N`.
    KernelPart(PathBuf),
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the case.
    pub name: String,
    /// Program or command of the case.
    pub body: Body,
    /// Largest unexplained part of each CPU, in percent.
    pub limit_unexplained: f64,
}

/// Length of the cases and their files.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Length of a program, in seconds of CPU or elapsed time, unless a sampling error requires
    /// more.
    pub seconds: f64,
    /// A directory on a disk.
    pub dir: PathBuf,
    /// Script of the kernel build; absent if there is none.
    pub kernel_part: Option<PathBuf>,
}

/// All cases on `cpus` CPUs.
pub fn cases(cpus: u32, settings: &Settings) -> Vec<Case> {
    let s = settings.seconds;
    let mut cases = Vec::new();
    let mut add = |name: String, program| cases.push(Case::new(name, Body::Program(program)));
    for percent in [0.0, 10.0, 30.0, 50.0] {
        add(format!("serial {percent}%, fork"), AnyProgram::SerialFork(SerialFork { percent, work_s: s }));
    }
    for percent in [0.0, 10.0, 30.0, 50.0] {
        let program = SerialThreads { percent, work_s: s };
        add(format!("serial {percent}%, threads"), AnyProgram::SerialThreads(program));
    }
    for percent in [5.0, 20.0, 50.0] {
        add(format!("mutex held {percent}%"), AnyProgram::Mutex(Mutex { percent, elapsed_s: s }));
    }
    add("two mutexes, Rust".to_owned(), AnyProgram::TwoMutexes(TwoMutexes { elapsed_s: s }));
    let sharing = FalseSharing { elapsed_s: s.max(2.0 * SAMPLED_SECONDS) };
    add("false sharing, Rust".to_owned(), AnyProgram::FalseSharing(sharing));
    add("pipe chain".to_owned(), AnyProgram::PipeChain(PipeChain { work_s: s }));
    let file = disk_file_path(&settings.dir);
    add("file past the page cache".to_owned(), AnyProgram::Disk(Disk { file, elapsed_s: s }));
    add("sleeper".to_owned(), AnyProgram::Sleeper(Sleeper::with_seconds(s)));
    // The process number is known at run time.
    let neighboured = BusyWithNeighbour { threads: cpus, pid: 0, elapsed_s: s };
    add("neighbour on half a CPU".to_owned(), AnyProgram::Neighboured(neighboured));
    let percent = 30.0;
    let work_s = s.max(sampling_seconds(percent));
    let threads = cpus;
    add(format!("system calls {percent}%"), AnyProgram::Calls(Calls { percent, work_s, threads }));
    add(format!("page faults {percent}%"), AnyProgram::Faults(Faults { percent, work_s, threads }));
    add("thread pool".to_owned(), AnyProgram::Pool(Pool::with_work(s)));
    add("pins itself".to_owned(), AnyProgram::Pinned(PinnedThreads { work_s: s }));
    add("short processes".to_owned(), AnyProgram::Storm(Storm { processes: (s * PROCESSES_PER_S) as u32 }));

    let sharing_seconds = s.max(2.0 * SAMPLED_SECONDS);
    // The library of Rust is a part of the program. Without symbols nothing tells its functions
    // from those of the program, so a wait for a mutex has a function of the library as its place.
    for (name, program) in [
        ("serial 30%", AnyProgram::SerialThreads(SerialThreads { percent: 30.0, work_s: s })),
        ("false sharing", AnyProgram::FalseSharing(FalseSharing { elapsed_s: sharing_seconds })),
    ] {
        cases.push(Case::new(format!("{name}, stripped Rust"), Body::StrippedProgram(program)));
    }

    let builds = [Build::C, Build::StrippedC, Build::Cpp, Build::StrippedCpp];
    for (name, source, builds) in [
        ("two mutexes", CompiledSource::TwoMutexes, &builds[..]),
        ("serial 30%", CompiledSource::SerialPhase, &builds[..]),
        ("false sharing", CompiledSource::FalseSharing, &builds[..]),
        ("lock owners", CompiledSource::LockOwners, &builds[..1]),
        ("lock holds", CompiledSource::LockHolds, &builds[..1]),
    ] {
        for &build in builds {
            let seconds = if source == CompiledSource::FalseSharing { sharing_seconds } else { s };
            let program = CompiledProgram { source, build, seconds };
            cases.push(Case::new(format!("{name}, {}", build.name()), Body::Compiled(program)));
        }
    }
    for build in [Build::GccOpenMp, Build::ClangOpenMp] {
        let seconds = s.max(SAMPLED_SECONDS);
        let program = CompiledProgram { source: CompiledSource::OpenMp, build, seconds };
        cases.push(Case::new(format!("OpenMP, {}", build.name()), Body::Compiled(program)));
    }
    for (name, source) in [("GIL", PythonSource::GlobalLock), ("serial 30%", PythonSource::SerialPhase)] {
        for interpreter in [Interpreter::WithSymbols, Interpreter::Stripped] {
            // The start of the interpreter, some 30 ms, must be a small part of the serial time.
            let seconds = if source == PythonSource::SerialPhase { s.max(SAMPLED_SECONDS) } else { s };
            let program = PythonProgram { source, interpreter, seconds };
            cases.push(Case::new(format!("{name}, {}", interpreter.name()), Body::Python(program)));
        }
    }

    let seconds = s.ceil() as u32;
    cases.push(Case::new("directory entries".to_owned(), Body::DirectoryStorm { seconds }));
    cases.extend(settings.kernel_part.clone().map(|script| Case {
        name: "part of a kernel build".to_owned(),
        body: Body::KernelPart(script),
        limit_unexplained: LIMIT_UNEXPLAINED_KERNEL,
    }));
    cases
}

impl Case {
    const fn new(name: String, body: Body) -> Self {
        Self { name, body, limit_unexplained: LIMIT_UNEXPLAINED }
    }
}

/// File for reads past the page cache.
pub fn disk_file_path(dir: &Path) -> PathBuf {
    dir.join("morecores-accuracy-file")
}

/// CPU time after which a share sampled by ticks is known to [`LIMIT_POINTS`], in seconds. The
/// standard error of a share p of n ticks is √(p(1-p)/n).
fn sampling_seconds(percent: f64) -> f64 {
    let (share, limit) = (percent / 100.0, LIMIT_POINTS / 100.0);
    let ticks = share * (1.0 - share) * (STANDARD_ERRORS / limit).powi(2);
    (ticks / TICKS_PER_S).ceil()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;

    fn settings() -> Settings {
        let kernel_part = Some(PathBuf::from("tools/kernel-part.sh"));
        Settings { seconds: 6.0, dir: PathBuf::from("/var/tmp"), kernel_part }
    }

    #[test]
    fn sampled_shares_take_long_enough() {
        // 0.3 · 0.7 · 150² = 4725 ticks.
        assert_eq!(sampling_seconds(30.0), 19.0);
        assert_eq!(sampling_seconds(50.0), 23.0);
    }

    #[test]
    fn names_are_unique_and_the_kernel_build_has_its_own_limit() {
        let cases = cases(2, &settings());
        assert_eq!(cases.iter().map(|case| &case.name).collect::<BTreeSet<_>>().len(), cases.len());
        let strict: Vec<_> = cases.iter().filter(|case| case.limit_unexplained < 3.0).collect();
        assert_eq!(strict.len(), 1);
        assert!(matches!(strict[0].body, Body::KernelPart(_)));
        let without = Settings { kernel_part: None, ..settings() };
        assert_eq!(super::cases(2, &without).len(), cases.len() - 1);
    }

    #[test]
    fn every_command_line_means_its_program() {
        #[derive(Parser)]
        struct Cli {
            #[command(subcommand)]
            program: AnyProgram,
        }
        for case in cases(2, &settings()) {
            if let Body::Program(program) = case.body {
                let words = std::iter::once("program".to_owned()).chain(program.as_known().arguments());
                assert_eq!(Cli::parse_from(words).program, program, "{}", case.name);
            }
        }
    }
}
