//! Programs with known truth in Python: two threads that compute under the interpreter's global
//! lock (GIL), and a serial fraction in a function of the interpreter. They show whether a trace
//! knows this lock, and functions of an interpreter with a debug file and without symbols.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_view::code::RuntimeLock;
use object::Object;

use crate::expected::{Proportion, ShareBound};
use crate::function_names::FunctionNames;
use crate::output::run_for_output;
use crate::program::{SERIAL_FUNCTIONS, expected_serial_functions};
use crate::{AccuracyError, ExpectedReport, FunctionName, Part, Share, Source, Truth};

/// The distribution's interpreter. Another one in the path may be a script that starts further
/// processes.
pub(crate) const INTERPRETER: &str = "/usr/bin/python3";

/// Name of the interpreter's copy without symbols.
const STRIPPED_FILE: &str = "python3-stripped";

/// Folder of debug files by build identifier.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// Module of all scripts.
const MODULE: (&str, &str) = ("known.py", include_str!("../programs/known.py"));

/// Least share of the waits for locks that are waits for the GIL, and of its waits and holds in the
/// functions that take it and release it, in percent. The rest is the start and the end of a
/// thread.
const GIL_PERCENT: f64 = 95.0;

/// Functions of the interpreter that take and release the GIL.
const GIL_FUNCTIONS: [&str; 2] = ["take_gil", "drop_gil"];

/// Functions that compute for [`SERIAL_FUNCTIONS`]: the conversion of a number to text, a function
/// of the interpreter, and the checksum of zlib. zlib exports it, so it has a symbol in any case.
const COMPUTING_FUNCTIONS: [&str; 2] = ["long_to_decimal_string_internal", "adler32_z"];

/// Remark on a run whose functions have no known place.
const NO_PLACES: &str = "without Debian's python3-dbg the places of take_gil and drop_gil are not known";

/// Script of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PythonSource {
    /// Two threads that compute in Python.
    GlobalLock,
    /// A serial fraction in a function of the interpreter.
    SerialPhase,
}

/// Interpreter of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// The distribution's, with its debug file.
    WithSymbols,
    /// A copy of it that names no debug file.
    Stripped,
}

impl Interpreter {
    /// Name of the interpreter in the name of a case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WithSymbols => "Python",
            Self::Stripped => "stripped Python",
        }
    }
}

/// A program in Python and its length.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonProgram {
    /// Script of the program.
    pub source: PythonSource,
    /// Interpreter of the program.
    pub interpreter: Interpreter,
    /// Length in seconds, without the start of the interpreter: elapsed time of [`GlobalLock`], CPU
    /// time of [`SerialPhase`].
    ///
    /// [`GlobalLock`]: PythonSource::GlobalLock
    /// [`SerialPhase`]: PythonSource::SerialPhase
    pub seconds: f64,
}

/// A program on disk, with the names that a report must have for functions of its interpreter.
#[derive(Debug, Default)]
pub struct PreparedPython {
    /// Command line that runs the program.
    pub command_line: Vec<String>,
    /// Absent if the places of the functions are not known.
    functions: Option<FunctionNames>,
}

impl PythonSource {
    /// Name and text of the script.
    const fn script(self) -> (&'static str, &'static str) {
        match self {
            Self::GlobalLock => ("gil.py", include_str!("../programs/gil.py")),
            Self::SerialPhase => ("serial_phase.py", include_str!("../programs/serial_phase.py")),
        }
    }

    /// Functions of the interpreter with a truth of their own.
    const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::GlobalLock => &GIL_FUNCTIONS,
            Self::SerialPhase => COMPUTING_FUNCTIONS.split_at(1).0,
        }
    }
}

impl PythonProgram {
    /// Writes the script into a folder and runs it once without work. `truth` is the file for its
    /// truth.
    ///
    /// # Errors
    /// Fails if there is no interpreter, or if it has no debug file and the program needs it;
    /// [`AccuracyError::lacks_prerequisite`] is true for these errors.
    pub fn prepare(&self, dir: &Path, truth: &Path) -> Result<PreparedPython, AccuracyError> {
        run_for_output(Command::new(INTERPRETER).arg("--version"))?;
        let (interpreter, functions) = match self.interpreter {
            Interpreter::WithSymbols => {
                find_debug_file(Path::new(INTERPRETER))?;
                (PathBuf::from(INTERPRETER), Some(FunctionNames::default()))
            }
            Interpreter::Stripped => self.strip_interpreter(dir)?,
        };
        let write = |(name, text)| {
            let path = dir.join(name);
            let failed = |error| AccuracyError::File { what: "write", path: path.clone(), error };
            fs::write(&path, text).map_err(failed)
        };
        write(MODULE)?;
        write(self.source.script())?;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let script = path(&dir.join(self.source.script().0));
        let words = |truth: &Path, seconds: f64| {
            vec![path(&interpreter), script.clone(), path(truth), seconds.to_string()]
        };
        // The traced run must not wait for the disk, so the interpreter has been read before.
        let unused = words(&dir.join("unused"), 0.0);
        run_for_output(Command::new(&unused[0]).args(&unused[1..]))?;
        Ok(PreparedPython { command_line: words(truth, self.seconds), functions })
    }

    /// Copies the interpreter without the two sections that lead to its debug file. Returns the
    /// copy, and the places of functions if the debug file is there.
    fn strip_interpreter(&self, dir: &Path) -> Result<(PathBuf, Option<FunctionNames>), AccuracyError> {
        let copy = dir.join(STRIPPED_FILE);
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["--strip-all", "--remove-section=.gnu_debuglink"]);
        objcopy.args(["--remove-section=.note.gnu.build-id", INTERPRETER]).arg(&copy);
        run_for_output(&mut objcopy)?;
        // The traced run must not wait for the disk, so the file is written before.
        let failed = |error| AccuracyError::File { what: "write", path: copy.clone(), error };
        File::open(&copy).and_then(|file| file.sync_all()).map_err(failed)?;
        let functions = match find_debug_file(Path::new(INTERPRETER)) {
            // The waits for the GIL are known without their function.
            Err(AccuracyError::NoDebugFile { .. }) if self.source == PythonSource::GlobalLock => None,
            symbols => {
                let (symbols, functions) = (symbols?, self.source.functions());
                Some(FunctionNames::without_symbols(&symbols, &copy, STRIPPED_FILE, functions)?)
            }
        };
        Ok((copy, functions))
    }

    /// Report expected of a trace of the program on `cpus` CPUs.
    pub fn expected(&self, prepared: &PreparedPython, truth: &Truth, cpus: u32) -> ExpectedReport {
        let functions = prepared.functions.as_ref();
        match self.source {
            PythonSource::GlobalLock => self.expected_global_lock(functions, truth, cpus),
            PythonSource::SerialPhase => {
                let name = |own| {
                    let index = SERIAL_FUNCTIONS.iter().position(|function| *function == own);
                    let symbol = index.map_or(own, |index| COMPUTING_FUNCTIONS[index]);
                    functions.map_or(FunctionName::Symbol(symbol), |functions| functions.name(symbol))
                };
                expected_serial_functions(truth, &name, cpus)
            }
        }
    }

    /// While one thread computes, the other waits for the GIL. On one CPU nothing is idle. CPUs
    /// beyond the number of threads are idle for lack of work.
    fn expected_global_lock(
        &self,
        functions: Option<&FunctionNames>,
        truth: &Truth,
        cpus: u32,
    ) -> ExpectedReport {
        let waited = if cpus > 1 { truth.waited_s.unwrap_or(f64::NAN) } else { 0.0 };
        let shares = [
            Share::from_own_clocks(Part::Work, truth.cpu_s),
            // A CPU is not idle for the lock while another process uses it.
            Share::from_own_clocks(Part::UserLock, waited).limit_idle(truth, 0.0),
            Share::from_construction(Part::TooLittleWork, f64::from(cpus.saturating_sub(2)) * self.seconds),
        ];
        let mut shares = shares.to_vec();
        if cpus > 1 {
            // One of the two threads has the lock all the time, and the other waits.
            let held = Part::RuntimeLockHeld(RuntimeLock::PythonGil);
            shares.push(Share::from_own_clocks(held, waited));
        }
        let at_least = |part| Proportion {
            part,
            percent: GIL_PERCENT,
            bound: ShareBound::AtLeast,
            source: Source::Construction,
        };
        let mut proportions = vec![at_least(Part::RuntimeLock(RuntimeLock::PythonGil))];
        if let Some(functions) = functions {
            let [take, release] = GIL_FUNCTIONS.map(|function| functions.name(function));
            proportions.extend([Part::WaitsIn(take), Part::HeldBy(release)].map(at_least));
        }
        let note = functions.is_none().then_some(NO_PLACES);
        ExpectedReport { proportions, note, ..ExpectedReport::from_shares(shares) }
    }
}

/// Debug file of a program, by its build identifier.
fn find_debug_file(program: &Path) -> Result<PathBuf, AccuracyError> {
    let failed = |error| AccuracyError::File { what: "read", path: program.to_owned(), error };
    let bytes = fs::read(program).map_err(failed)?;
    let object = object::File::parse(&*bytes).map_err(|error| failed(std::io::Error::other(error)))?;
    let id = object.build_id().ok().flatten().unwrap_or_default();
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, file) = hex.split_at(hex.len().min(2));
    let path = Path::new(DEBUG_FILES).join(folder).join(format!("{file}.debug"));
    match path.is_file() {
        true => Ok(path),
        false => Err(AccuracyError::NoDebugFile { program: program.to_owned(), path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_threads_waits() {
        let truth = Truth { cpu_s: 6.0, waited_s: Some(5.5), ..Truth::default() };
        let program = PythonProgram {
            source: PythonSource::GlobalLock,
            interpreter: Interpreter::Stripped,
            seconds: 6.0,
        };
        let expected = |functions, cpus| {
            let prepared = PreparedPython { functions, ..PreparedPython::default() };
            program.expected(&prepared, &truth, cpus)
        };
        let seconds = |cpus| expected(None, cpus).shares.iter().map(|s| s.seconds).collect::<Vec<_>>();
        assert_eq!(seconds(1), [6.0, 0.0, 0.0]);
        assert_eq!([2, 3].map(seconds), [[6.0, 5.5, 0.0, 5.5], [6.0, 5.5, 6.0, 5.5]]);
        assert_eq!((expected(None, 2).proportions.len(), expected(None, 2).note), (1, Some(NO_PLACES)));
        let named = expected(Some(FunctionNames::default()), 2);
        let [take, release] = GIL_FUNCTIONS.map(FunctionName::Symbol);
        let parts: Vec<Part> = named.proportions.iter().map(|share| share.part).collect();
        assert_eq!(parts[1..], [Part::WaitsIn(take), Part::HeldBy(release)]);
        assert_eq!(named.note, None);
    }

    #[test]
    fn the_serial_part_is_a_function_of_the_interpreter() {
        let program = PythonProgram {
            source: PythonSource::SerialPhase,
            interpreter: Interpreter::WithSymbols,
            seconds: 6.0,
        };
        let expected = program.expected(&PreparedPython::default(), &Truth::default(), 2);
        let [alone, together] = COMPUTING_FUNCTIONS.map(FunctionName::Symbol);
        let parts: Vec<Part> = expected.shares.iter().map(|share| share.part).collect();
        assert_eq!(parts[3..], [Part::Function(alone), Part::Function(together), Part::IdleBeside(alone)]);
    }

    #[test]
    fn a_file_without_a_debug_file_is_a_missing_prerequisite() {
        // The program of this test is in no package.
        let error = find_debug_file(&std::env::current_exe().unwrap()).unwrap_err();
        assert!(error.lacks_prerequisite(), "{error}");
    }
}
