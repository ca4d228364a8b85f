//! Programs with known truth in C and C++: sources that the judge compiles into a folder. They show
//! whether a trace knows functions, waits and holds of other languages, and of files without
//! symbols.
//!
//! A compiled program writes the same truth as the programs of this crate.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::expected::{Count, CountedEvent};
use crate::function_names::FunctionNames;
use crate::output::run_for_output;
use crate::program::{
    MUTEX_FUNCTIONS, SERIAL_FUNCTIONS, SHARING_FUNCTIONS, expected_false_sharing, expected_serial_functions,
    expected_two_mutexes,
};
use crate::{AccuracyError, ExpectedReport, Part, Share, Truth};

/// Source of a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledSource {
    /// Two threads and two mutexes, each mutex for one function.
    TwoMutexes,
    /// A serial fraction, by threads and condition variables.
    SerialPhase,
    /// Two threads with counters in one cache line, and in turn in two.
    FalseSharing,
    /// Three threads with names and one mutex; in C only.
    LockOwners,
    /// Two threads and four locks, all of whose holds are counted; in C only.
    LockHolds,
    /// Parallel regions of OpenMP in two functions, with unequal work.
    OpenMp,
}

/// Language and symbols of a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// C, without frame pointers.
    C,
    /// C, without frame pointers and without symbols.
    StrippedC,
    /// C++, with the locks and threads of its library.
    Cpp,
    /// The same, without symbols.
    StrippedCpp,
    /// C with OpenMP, by gcc with its runtime.
    GccOpenMp,
    /// C with OpenMP, by clang with LLVM's runtime.
    ClangOpenMp,
}

impl Build {
    /// Whether the source is in C++.
    const fn is_cpp(self) -> bool {
        matches!(self, Self::Cpp | Self::StrippedCpp)
    }

    /// Whether the program has no symbols.
    const fn is_stripped(self) -> bool {
        matches!(self, Self::StrippedC | Self::StrippedCpp)
    }

    /// Name of the language and of the state of the symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::StrippedC => "stripped C",
            Self::Cpp => "C++",
            Self::StrippedCpp => "stripped C++",
            Self::GccOpenMp => "gcc",
            Self::ClangOpenMp => "LLVM",
        }
    }
}

/// A compiled program and its length.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledProgram {
    /// Source of the program.
    pub source: CompiledSource,
    /// Language and symbols.
    pub build: Build,
    /// Length in seconds: CPU time of a serial fraction, elapsed time of the others.
    pub seconds: f64,
}

/// Header of all sources.
const HEADER: (&str, &str) = ("known.h", include_str!("../programs/known.h"));

/// Program that every compiler with OpenMP can build.
const OPENMP_PROBE: &str = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";

impl CompiledSource {
    /// Name of the file with the program.
    const fn file_name(self) -> &'static str {
        match self {
            Self::TwoMutexes => "two_mutexes",
            Self::SerialPhase => "serial_phase",
            Self::FalseSharing => "false_sharing",
            Self::LockOwners => "lock_owners",
            Self::LockHolds => "lock_holds",
            Self::OpenMp => "openmp",
        }
    }

    /// Functions, threads or locks with a truth of their own.
    const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::TwoMutexes => &MUTEX_FUNCTIONS,
            Self::SerialPhase => &SERIAL_FUNCTIONS,
            Self::FalseSharing => &SHARING_FUNCTIONS,
            Self::LockOwners => &["brief", "steady", "rare"],
            Self::LockHolds => &["brief_lock", "long_lock", "table_lock", "queue_lock"],
            Self::OpenMp => &["solve", "smooth"],
        }
    }

    const fn text(self, build: Build) -> &'static str {
        match (self, build.is_cpp()) {
            (Self::TwoMutexes, true) => include_str!("../programs/two_mutexes.cpp"),
            (Self::TwoMutexes, false) => include_str!("../programs/two_mutexes.c"),
            (Self::SerialPhase, true) => include_str!("../programs/serial_phase.cpp"),
            (Self::SerialPhase, false) => include_str!("../programs/serial_phase.c"),
            (Self::FalseSharing, true) => include_str!("../programs/false_sharing.cpp"),
            (Self::FalseSharing, false) => include_str!("../programs/false_sharing.c"),
            (Self::LockOwners, _) => include_str!("../programs/lock_owners.c"),
            (Self::LockHolds, _) => include_str!("../programs/lock_holds.c"),
            (Self::OpenMp, _) => include_str!("../programs/openmp.c"),
        }
    }
}

/// A program on disk, with the names that a report must have for its functions.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    functions: FunctionNames,
}

impl Executable {
    /// Command line that runs the program, with a file for its truth.
    pub fn command_line(&self, truth: &Path, seconds: f64) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        vec![path(&self.path), path(truth), seconds.to_string()]
    }
}

impl CompiledProgram {
    /// Compiles the program into a folder.
    ///
    /// # Errors
    /// Fails if there is no compiler, or if it has no OpenMP and the program needs it;
    /// [`AccuracyError::lacks_prerequisite`] is true for these errors.
    pub fn compile(&self, dir: &Path) -> Result<Executable, AccuracyError> {
        let write = |name: &str, text| {
            let path = dir.join(name);
            let failed = |error| AccuracyError::File { what: "write", path: path.clone(), error };
            fs::write(&path, text).map_err(failed)
        };
        let file = self.source.file_name();
        let (compiler, options, ending): (_, &[&str], _) = match self.build {
            Build::C | Build::StrippedC => ("cc", &["-O2", "-fomit-frame-pointer"], "c"),
            Build::Cpp | Build::StrippedCpp => ("g++", &["-O2", "-fomit-frame-pointer"], "cpp"),
            Build::GccOpenMp => ("gcc", &["-O2", "-fomit-frame-pointer", "-fopenmp"], "c"),
            Build::ClangOpenMp => ("clang", &["-O2", "-fomit-frame-pointer", "-fopenmp"], "c"),
        };
        let source = format!("{file}.{ending}");
        write(HEADER.0, HEADER.1)?;
        write(&source, self.source.text(self.build))?;
        let path = dir.join(file);
        if options.contains(&"-fopenmp") {
            write("probe.c", OPENMP_PROBE)?;
            let mut command = Command::new(compiler);
            command.args(options).arg("-o").arg(&path).arg(dir.join("probe.c"));
            run_for_output(&mut command).map_err(AccuracyError::without_openmp)?;
        }
        let mut command = Command::new(compiler);
        command.args(options).args(["-pthread", "-o"]).arg(&path).arg(dir.join(source)).arg("-lm");
        run_for_output(&mut command)?;
        let mut functions = FunctionNames::default();
        if self.build.is_stripped() {
            functions = FunctionNames::without_symbols(&path, &path, file, self.source.functions())?;
            run_for_output(Command::new("strip").arg(&path))?;
        }
        // The traced run must not wait for the disk, so the file is written before.
        let failed = |error| AccuracyError::File { what: "write", path: path.clone(), error };
        File::open(&path).and_then(|file| file.sync_all()).map_err(failed)?;
        Ok(Executable { path, functions })
    }

    /// Report expected of a trace of the program on `cpus` CPUs that took `elapsed_s`.
    pub fn expected(
        &self,
        executable: &Executable,
        truth: &Truth,
        cpus: u32,
        elapsed_s: f64,
    ) -> ExpectedReport {
        let name = |symbol| executable.functions.name(symbol);
        match self.source {
            CompiledSource::TwoMutexes => {
                let index_lock = (!self.build.is_stripped()).then_some("index_lock");
                expected_two_mutexes(truth, &name, index_lock, cpus, elapsed_s)
            }
            CompiledSource::SerialPhase => expected_serial_functions(truth, &name, cpus),
            CompiledSource::FalseSharing => expected_false_sharing(truth, &name, cpus, elapsed_s),
            CompiledSource::LockOwners => {
                let work = Share::from_own_clocks(Part::Work, truth.cpu_s);
                let idle = Share::from_kernel(Part::Idle, truth.idle_s.unwrap_or(f64::NAN));
                let owners = self.source.functions().iter().map(|thread| {
                    let held_s = truth.in_function(thread, |own| own.held_s);
                    Share::from_own_clocks(Part::OwnedBy(thread), held_s)
                });
                ExpectedReport::from_shares([work, idle].into_iter().chain(owners).collect::<Vec<Share>>())
            }
            CompiledSource::LockHolds => {
                // The probes take CPU time of the program that its own clocks include.
                let idle = Share::from_kernel(Part::Idle, truth.idle_s.unwrap_or(f64::NAN));
                let locks = self.source.functions().iter();
                let held = locks.clone().map(|lock| {
                    let held_s = truth.in_function(lock, |own| own.held_s);
                    Share::from_own_clocks(Part::HoldsOf(lock), held_s)
                });
                let counts = locks.map(|lock| Count {
                    event: CountedEvent::HoldsOf(lock),
                    number: truth.functions.get(*lock).and_then(|own| own.holds).unwrap_or_default(),
                    source: "the program",
                });
                let counts = counts.collect();
                ExpectedReport {
                    counts,
                    ..ExpectedReport::from_shares([idle].into_iter().chain(held).collect::<Vec<Share>>())
                }
            }
            CompiledSource::OpenMp => {
                let work = Share::from_own_clocks(Part::Work, truth.cpu_s);
                let idle = Share::from_kernel(Part::Idle, truth.idle_s.unwrap_or(f64::NAN));
                // Without a CPU for each thread, the wall clock shows waits for a CPU too.
                if cpus < 2 {
                    return ExpectedReport::from_shares([work, idle]);
                }
                let regions = self.source.functions().iter().map(|function| {
                    let waited_s = truth.in_function(function, |own| own.waited_s);
                    Share::from_own_clocks(Part::OpenMpIn(name(function)), waited_s)
                });
                let all = truth.waited_s.unwrap_or(f64::NAN);
                let all = Share::from_own_clocks(Part::OpenMp, all);
                ExpectedReport::from_shares(
                    [work, idle, all].into_iter().chain(regions).collect::<Vec<Share>>(),
                )
            }
        }
    }
}

impl CompiledProgram {
    /// Options of the trace that shows what is judged.
    pub const fn trace_options(&self) -> &'static [&'static str] {
        match self.source {
            CompiledSource::LockHolds => &["--locks", "exact"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use object::Object;

    use super::*;
    use crate::FunctionName;

    #[test]
    fn a_stripped_function_has_the_place_of_its_symbol() {
        for [build, stripped_build] in [[Build::C, Build::StrippedC], [Build::Cpp, Build::StrippedCpp]] {
            let dir = tempfile::tempdir().unwrap();
            let compile = |name, build| {
                let path = dir.path().join(name);
                fs::create_dir(&path).unwrap();
                CompiledProgram { source: CompiledSource::TwoMutexes, build, seconds: 1.0 }.compile(&path)
            };
            let (with, without) = match (compile("with", build), compile("without", stripped_build)) {
                (Ok(with), Ok(without)) => (with, without),
                (Err(error), _) | (_, Err(error)) => {
                    assert!(error.lacks_prerequisite(), "{error}");
                    let name = "a_stripped_function_has_the_place_of_its_symbol";
                    return morecores_testkit::report_skip(name, &error.to_string());
                }
            };
            let names = MUTEX_FUNCTIONS.map(|symbol| without.functions.name(symbol));
            assert_eq!(with.functions.name("update_index"), FunctionName::Symbol("update_index"));
            let path = &with.path;
            let places = FunctionNames::without_symbols(path, path, "two_mutexes", &MUTEX_FUNCTIONS).unwrap();
            assert_eq!(places, without.functions);
            let bytes = [&with, &without].map(|executable| fs::read(&executable.path).unwrap());
            assert!(object::File::parse(&*bytes[1]).unwrap().symbols().next().is_none());
            for name in names {
                let FunctionName::Stripped { start, .. } = name else { panic!("{name}") };
                let [with, without] = bytes.each_ref().map(|bytes| &bytes[start as usize..][..32]);
                assert_eq!(with, without, "{name}");
            }
        }
    }
}
