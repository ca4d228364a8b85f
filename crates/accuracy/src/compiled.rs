//! Programs with known truth in C and C++: sources that the judge compiles into a folder. They show
//! whether a trace knows functions, waits and holds of other languages, and of files without
//! symbols.
//!
//! A compiled program writes the same truth as the programs of this crate.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSegment, ObjectSymbol};

use crate::expected::{Count, CountedEvent};
use crate::output::run_for_output;
use crate::program::{MUTEX_FUNCTIONS, SERIAL_FUNCTIONS, expected_serial_functions, expected_two_mutexes};
use crate::{AccuracyError, ExpectedReport, FunctionName, Part, Share, Truth};

/// Source of a compiled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompiledSource {
    /// Two threads and two mutexes, each mutex for one function.
    TwoMutexes,
    /// A serial fraction, by threads and condition variables.
    SerialPhase,
    /// Two threads with counters in one cache line, and in turn in two; in C only.
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
    /// C with OpenMP, by gcc with its runtime.
    GccOpenMp,
    /// C with OpenMP, by clang with LLVM's runtime.
    ClangOpenMp,
}

impl Build {
    /// Name of the language and of the state of the symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::StrippedC => "stripped C",
            Self::Cpp => "C++",
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
            Self::FalseSharing => &["count_side_by_side", "count_apart"],
            Self::LockOwners => &["brief", "steady", "rare"],
            Self::LockHolds => &["brief_lock", "long_lock", "table_lock", "queue_lock"],
            Self::OpenMp => &["solve", "smooth"],
        }
    }

    const fn text(self, build: Build) -> &'static str {
        match (self, build) {
            (Self::TwoMutexes, Build::Cpp) => include_str!("../programs/two_mutexes.cpp"),
            (Self::TwoMutexes, _) => include_str!("../programs/two_mutexes.c"),
            (Self::SerialPhase, Build::Cpp) => include_str!("../programs/serial_phase.cpp"),
            (Self::SerialPhase, _) => include_str!("../programs/serial_phase.c"),
            (Self::LockOwners, _) => include_str!("../programs/lock_owners.c"),
            (Self::LockHolds, _) => include_str!("../programs/lock_holds.c"),
            (Self::FalseSharing, _) => include_str!("../programs/false_sharing.c"),
            (Self::OpenMp, _) => include_str!("../programs/openmp.c"),
        }
    }
}

/// A program on disk, with the names that a report must have for its functions.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    functions: Vec<FunctionName>,
}

impl Executable {
    /// Command line that runs the program, with a file for its truth.
    pub fn command_line(&self, truth: &Path, seconds: f64) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        vec![path(&self.path), path(truth), seconds.to_string()]
    }

    /// Name of a function in a report.
    fn function(&self, symbol: &'static str) -> FunctionName {
        let has_symbol = |name: &&FunctionName| matches!(name, FunctionName::Stripped { symbol: own, .. } if *own == symbol);
        self.functions.iter().find(has_symbol).copied().unwrap_or(FunctionName::Symbol(symbol))
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
            Build::Cpp => ("g++", &["-O2"], "cpp"),
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
        let mut functions = Vec::new();
        if self.build == Build::StrippedC {
            functions = function_places(&path, file, self.source.functions())?;
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
        let name = |symbol| executable.function(symbol);
        match self.source {
            CompiledSource::TwoMutexes => {
                let index_lock = (self.build != Build::StrippedC).then_some("index_lock");
                expected_two_mutexes(truth, &name, index_lock, cpus, elapsed_s)
            }
            CompiledSource::SerialPhase => expected_serial_functions(truth, &name, cpus),
            CompiledSource::FalseSharing => {
                let work = Share::from_own_clocks(Part::Work, truth.cpu_s);
                let functions = self.source.functions().iter().map(|function| {
                    let cpu_s = truth.in_function(function, |own| own.cpu_s);
                    Share::from_own_clocks(Part::Function(name(function)), cpu_s)
                });
                // CPUs beyond the number of threads have no work.
                let without_thread = f64::from(cpus.saturating_sub(2)) * elapsed_s;
                let idle = Share::from_construction(Part::TooLittleWork, without_thread);
                ExpectedReport::from_shares([work, idle].into_iter().chain(functions).collect::<Vec<Share>>())
            }
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

/// Places of functions in a file with symbols.
fn function_places(
    path: &Path,
    file: &'static str,
    symbols: &[&'static str],
) -> Result<Vec<FunctionName>, AccuracyError> {
    let failed = |error| AccuracyError::File { what: "read the symbols of", path: path.to_owned(), error };
    let bytes = fs::read(path).map_err(failed)?;
    let object = object::File::parse(&*bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    let missing = || failed(std::io::Error::other("a function has no symbol"));
    let place = |name: &'static str| {
        let symbol = object.symbols().find(|symbol| symbol.name() == Ok(name)).ok_or_else(missing)?;
        let in_segment =
            |address: u64, size: u64| symbol.address().checked_sub(address).filter(|at| *at < size);
        let start = object.segments().find_map(|segment| {
            let at = in_segment(segment.address(), segment.size())?;
            Some(segment.file_range().0 + at)
        });
        Ok(FunctionName::Stripped { symbol: name, file, start: start.ok_or_else(missing)? })
    };
    symbols.iter().copied().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_function_has_the_place_of_its_symbol() {
        let dir = tempfile::tempdir().unwrap();
        let [path, stripped] = ["with", "without"].map(|name| dir.path().join(name));
        let compile = |build, path: &Path| {
            fs::create_dir(path).unwrap();
            CompiledProgram { source: CompiledSource::TwoMutexes, build, seconds: 1.0 }.compile(path)
        };
        let (with, without) = match (compile(Build::C, &path), compile(Build::StrippedC, &stripped)) {
            (Ok(with), Ok(without)) => (with, without),
            (Err(error), _) | (_, Err(error)) => {
                assert!(error.lacks_prerequisite(), "{error}");
                let name = "a_stripped_function_has_the_place_of_its_symbol";
                return morecores_testkit::report_skip(name, &error.to_string());
            }
        };
        let names = MUTEX_FUNCTIONS.map(|symbol| without.function(symbol));
        assert_eq!(function_places(&with.path, "two_mutexes", &MUTEX_FUNCTIONS).unwrap(), names);
        assert_eq!(with.function("update_index"), FunctionName::Symbol("update_index"));
        let bytes = [&with, &without].map(|executable| fs::read(&executable.path).unwrap());
        assert!(object::File::parse(&*bytes[1]).unwrap().symbols().next().is_none());
        for name in names {
            let FunctionName::Stripped { start, .. } = name else { panic!("{name}") };
            let [with, without] = bytes.each_ref().map(|bytes| &bytes[start as usize..][..32]);
            assert_eq!(with, without, "{name}");
        }
    }
}
