//! Runs a case under `morecores trace` and passes the result to the judge.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use morecores_study::CpuId;
use morecores_view::TraceView;
use tempfile::TempDir;

use crate::case::{Body, Case};
use crate::compiled::CompiledProgram;
use crate::disturbance::{self, disturbance_percent};
use crate::expected::{Count, CountedEvent};
use crate::function_names::FunctionNames;
use crate::judge::{Judgement, judge};
use crate::lock_count::LockCount;
use crate::neighbour::NeighbourProcess;
use crate::output::{command_line, run_for_output};
use crate::program::{AnyProgram, write_file};
use crate::python::PythonProgram;
use crate::{AccuracyError, ExpectedReport, Truth};

/// Number of directory-entry stressors: more than one, so that they contend. On two virtual CPUs
/// they wait some 10,000 to 20,000 times a second. More stressors, more or fewer entries, their
/// order and tmpfs were tried and did not increase that.
const STRESSORS: &str = "2";

/// Name of this program's copy without symbols.
const STRIPPED_FILE: &str = "accuracy-stripped";

/// Setting in which cases run.
#[derive(Clone, Debug)]
pub struct Session {
    /// The judged `morecores`.
    pub morecores: PathBuf,
    /// A directory for files of the cases, on a disk.
    pub dir: PathBuf,
}

impl Session {
    /// Runs `case` on `cpus` CPUs, and repeats it if other processes disturbed it.
    pub fn run(&self, case: &Case, cpus: u32) -> Result<Judgement, AccuracyError> {
        let quietest = disturbance::run_until_quiet(|| {
            let (expected, view) = self.run_once(case, cpus)?;
            // Counts and the unexplained time do not depend on other processes.
            let disturbed = (!expected.shares.is_empty()).then(|| disturbance_percent(&expected, &view));
            Ok(((expected, view), disturbed))
        })?;
        let (expected, view) = quietest.run;
        let judgement = judge(case, &expected, &view, quietest.runs);
        Ok(Judgement { failure: quietest.failed.map(|error| error.to_string()), ..judgement })
    }

    fn run_once(&self, case: &Case, cpus: u32) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        match &case.body {
            Body::Program(program) => self.run_program(program, cpus),
            Body::StrippedProgram(program) => self.run_stripped_program(program, cpus),
            Body::Compiled(program) => self.run_compiled(program, cpus),
            Body::Python(program) => self.run_python(program, cpus),
            Body::DirectoryStorm { seconds } => self.run_directory_storm(*seconds, cpus),
            Body::KernelPart(script) => self.run_kernel_part(script, cpus),
        }
    }

    fn run_program(
        &self,
        program: &AnyProgram,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let mut program = program.clone();
        // The neighbour lives until the end of this function.
        let mut _neighbour = None;
        let mut file = None;
        match &mut program {
            AnyProgram::Neighboured(neighboured) => {
                let started = NeighbourProcess::start(self.first_cpu(cpus)?)?;
                neighboured.pid = started.pid();
                _neighbour = Some(started);
            }
            AnyProgram::Disk(disk) => {
                file = Some(TemporaryFile(disk.file.clone()));
                write_file(&disk.file)?;
            }
            _ => {}
        }
        let found = self.trace_program(&own_path()?, &program, cpus);
        drop(file);
        found
    }

    fn run_stripped_program(
        &self,
        program: &AnyProgram,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let (dir, own) = (self.make_folder()?, own_path()?);
        let stripped = dir.path().join(STRIPPED_FILE);
        run_for_output(Command::new("strip").arg("-o").arg(&stripped).arg(&own))?;
        // The traced run must not wait for the disk, so the file is written before.
        let failed = |error| AccuracyError::File { what: "write", path: stripped.clone(), error };
        File::open(&stripped).and_then(|file| file.sync_all()).map_err(failed)?;
        let functions = program.as_known().functions();
        let names = FunctionNames::without_symbols(&own, &stripped, STRIPPED_FILE, functions)?;
        let (expected, view) = self.trace_program(&stripped, program, cpus)?;
        Ok((expected.without_symbols(&names), view))
    }

    /// Traces a program of this crate in a file that has it.
    fn trace_program(
        &self,
        path: &Path,
        program: &AnyProgram,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let truth = TemporaryFile(self.dir.join("morecores-accuracy-truth"));
        let mut words = vec![path.to_string_lossy().into_owned(), "program".to_owned()];
        words.extend(["--truth".to_owned(), truth.0.to_string_lossy().into_owned()]);
        words.extend(program.as_known().arguments());
        let view = self.trace(cpus, &words)?;
        let truth = Truth::read(&truth.0)?;
        Ok((program.as_known().expected(&truth, view.cpus, view.elapsed_s), view))
    }

    fn run_compiled(
        &self,
        program: &CompiledProgram,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let dir = self.make_folder()?;
        let (executable, truth) = (program.compile(dir.path())?, dir.path().join("truth"));
        let words = executable.command_line(&truth, program.seconds);
        let view = self.trace_with(program.trace_options(), cpus, &words)?;
        let expected = program.expected(&executable, &Truth::read(&truth)?, view.cpus, view.elapsed_s);
        Ok((expected, view))
    }

    fn run_python(
        &self,
        program: &PythonProgram,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let dir = self.make_folder()?;
        let truth = dir.path().join("truth");
        let prepared = program.prepare(dir.path(), &truth)?;
        let view = self.trace(cpus, &prepared.command_line)?;
        Ok((program.expected(&prepared, &Truth::read(&truth)?, view.cpus), view))
    }

    /// Folder that is removed on drop.
    fn make_folder(&self) -> Result<TempDir, AccuracyError> {
        let failed = |error| AccuracyError::File { what: "make a folder in", path: self.dir.clone(), error };
        tempfile::Builder::new().prefix("morecores-accuracy-").tempdir_in(&self.dir).map_err(failed)
    }

    fn run_directory_storm(
        &self,
        seconds: u32,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let words = ["stress-ng", "--quiet", "--dentry", STRESSORS, "--timeout", &format!("{seconds}s")];
        let mut words = words.map(String::from).to_vec();
        words.extend(["--temp-path".to_owned(), self.dir.to_string_lossy().into_owned()]);
        // A tracer that cannot start stress-ng would report that in words of its own.
        run_for_output(Command::new(words[0].as_str()).arg("--version"))?;
        let count = LockCount::start()?;
        let view = self.trace(cpus, &words)?;
        let number = count.stop()?;
        let counts = vec![Count { event: CountedEvent::LockWaits, number, source: "bpftrace" }];
        Ok((ExpectedReport { counts, ..ExpectedReport::default() }, view))
    }

    fn run_kernel_part(
        &self,
        script: &Path,
        cpus: u32,
    ) -> Result<(ExpectedReport, TraceView), AccuracyError> {
        let script = script.to_string_lossy().into_owned();
        let mut clean = Command::new(&script);
        run_for_output(clean.arg("clean"))?;
        let view = self.trace(cpus, &[script, "build".to_owned(), cpus.to_string()])?;
        Ok((ExpectedReport::default(), view))
    }

    /// First CPU among those allotted to a command.
    fn first_cpu(&self, cpus: u32) -> Result<CpuId, AccuracyError> {
        let view = self.trace(cpus, &["true".to_owned()])?;
        Ok(view.cpu_set.first().unwrap_or(CpuId(0)))
    }

    fn trace(&self, cpus: u32, words: &[String]) -> Result<TraceView, AccuracyError> {
        self.trace_with(&[], cpus, words)
    }

    fn trace_with(&self, options: &[&str], cpus: u32, words: &[String]) -> Result<TraceView, AccuracyError> {
        let mut command = Command::new(&self.morecores);
        command.args(["trace", "--cpus", &cpus.to_string(), "--json"]).args(options).arg("--").args(words);
        let printed = run_for_output(&mut command)?;
        serde_json::from_str(&printed)
            .map_err(|error| AccuracyError::Output { command: command_line(&command), error })
    }
}

/// Path of this program.
fn own_path() -> Result<PathBuf, AccuracyError> {
    env::current_exe().map_err(AccuracyError::system("find this program"))
}

/// File that is removed on drop.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // The file may never have been made.
        std::fs::remove_file(&self.0).ok();
    }
}
