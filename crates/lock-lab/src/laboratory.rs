//! Measures one cell of a lock study, in a separate process of the laboratory:
//! `morecores-lock-cell`.
//!
//! The process is separate because a measured program must not contain its measuring instrument. A
//! hanging lock can also be ended together with its process. This module does not choose the next
//! cell.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use morecores_machine::activity::{ActivityMonitor, CpuClocks, OtherProgramMonitor};
use morecores_machine::cgroup::Hierarchies;
use morecores_measure::capture::Capture;
use morecores_measure::control::Control;
use morecores_measure::program::{self, ProgramError};
use morecores_measure::spawn::{self, ChildStack, SpawnError, Start, Terminal};
use morecores_measure::sweep::{Executor, Trial};
use morecores_study::lock::{LockCell, LockName, LockPlan, LockRun, LockSample};
use morecores_study::{CpuSet, Exit, Nanos, OtherProgram, Output, Quiet, RunRecord};

/// Name of the program that measures a cell.
pub const CELL_PROGRAM: &str = "morecores-lock-cell";

/// Time that a cell may take besides its time of contention. The start and end of thousands of
/// threads at a fair lock take seconds; a lock that takes longer than this limit hangs.
const CELL_TIME_LIMIT: Nanos = Nanos::from_millis(30_000);

/// Reason for which a cell was not measured.
#[derive(Debug, thiserror::Error)]
pub enum LockCellError {
    /// The laboratory does not exist, or cannot be executed.
    #[error("{0}; it is built and installed together with morecores")]
    Program(ProgramError),
    /// The laboratory's process could not be started.
    #[error("cannot start the laboratory: {0}")]
    Spawn(SpawnError),
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Reason given by the system.
        error: io::Error,
    },
    /// The cell took too long.
    #[error("it had not ended after {} s", .0.as_secs_f64())]
    TimedOut(Nanos),
    /// The laboratory failed; the message has the last line of its error output.
    #[error("{error_output} ({how})")]
    Failed {
        /// End of the process.
        how: String,
        /// Last line of the error output, or a note that there was none.
        error_output: String,
    },
    /// The laboratory did not print a sample.
    #[error("cannot parse its output ({why}); are morecores and morecores-lock-cell of one version?")]
    NotASample {
        /// Fault of the output.
        why: String,
    },
}

/// Measures cells on this machine.
#[derive(Debug)]
pub struct ProcessLaboratory {
    program: PathBuf,
    plan: LockPlan,
    control: Arc<Control>,
    input: File,
    output: Capture,
    error_output: Capture,
    stack: ChildStack,
    watch: ActivityMonitor,
    quiet: Option<Quiet>,
    other_programs: OtherProgramMonitor,
}

/// Result of a process of the laboratory.
struct LaboratoryOutput {
    /// Standard output of the process.
    output: String,
    /// CPU time of the process.
    cpu: Nanos,
}

impl ProcessLaboratory {
    /// Prepares to measure the cells of `plan` with `program`, a path or a name on PATH. `control`
    /// ends a cell from outside, and enforces its time limit.
    ///
    /// # Errors
    /// The program does not exist.
    pub fn new(program: &Path, plan: &LockPlan, control: Arc<Control>) -> Result<Self, LockCellError> {
        let program = program::resolve(program.as_os_str(), std::env::var_os("PATH").as_deref())
            .map_err(LockCellError::Program)?;
        tracing::info!("the laboratory is {}, on CPUs {}", program.display(), plan.cpus);
        let io_error = |action| move |error| LockCellError::Io { action, error };
        let pipe = || Capture::new(&Output::Captured).map_err(io_error("make a pipe for the output"));
        Ok(Self {
            program,
            plan: plan.clone(),
            control,
            input: File::open("/dev/null").map_err(io_error("open /dev/null"))?,
            output: pipe()?,
            error_output: pipe()?,
            stack: ChildStack::new(),
            watch: ActivityMonitor::new(&Hierarchies::read_own()),
            quiet: None,
            other_programs: OtherProgramMonitor::start(),
        })
    }

    /// Watches the machine for [`QUIET_TIME`](morecores_machine::activity::QUIET_TIME). Must be
    /// called before the first cell, while nothing is measured.
    pub fn watch_quiet_machine(&mut self) {
        self.quiet = Some(self.watch.watch_quiet_machine());
    }

    /// Activity of the machine before the first cell; absent without [`Self::watch_quiet_machine`].
    pub fn quiet(&self) -> Option<Quiet> {
        self.quiet
    }

    /// Other programs that worked most since this laboratory was created, busiest first. Takes one
    /// more look.
    pub fn other_programs(&mut self) -> Vec<OtherProgram> {
        self.other_programs.sample();
        self.other_programs.busiest()
    }

    /// Runs the program for a cell.
    fn run_cell(&mut self, cell: &LockCell) -> Result<LaboratoryOutput, LockCellError> {
        let io_error = |action| move |error| LockCellError::Io { action, error };
        for capture in [&self.output, &self.error_output] {
            capture.clear().map_err(io_error("read the output of the cell before"))?;
        }
        let window = self.plan.cell_window(cell);
        let limit = CELL_TIME_LIMIT + window;
        let image = program::plain_image(&self.program, &cell_arguments(cell, &self.plan.cpus, window))
            .map_err(LockCellError::Program)?;
        let start = Start {
            image: &image,
            stdin: self.input.as_fd(),
            stdout: self.output.stdout(),
            stderr: self.error_output.stderr(),
            affinity: Some(&self.plan.cpus),
            cgroup: None,
            joined_cgroup: None,
        };
        self.control.set_limit(Some(limit));
        self.control.begin();
        let ended = spawn::run(&start, &mut self.stack, &self.control.current, &mut Terminal::none());
        let timed_out = self.control.end();
        let ended = ended.map_err(LockCellError::Spawn)?;
        let exit = ended.exit;
        if timed_out {
            return Err(LockCellError::TimedOut(limit));
        }
        if !exit.is_success() {
            return Err(failed(exit, &self.error_output.tail().unwrap_or_default()));
        }
        let output = self.output.tail().map_err(io_error("read the captured output"))?;
        Ok(LaboratoryOutput { output, cpu: ended.rusage.user_ns + ended.rusage.system_ns })
    }
}

impl Executor<LockCell> for ProcessLaboratory {
    type Outcome = LockRun;
    type Error = LockCellError;

    fn execute(&mut self, trial: &Trial<LockCell>) -> Result<LockRun, LockCellError> {
        let Trial { round, cell, .. } = trial;
        let before = CpuClocks::read();
        let left = self.run_cell(cell);
        let after = CpuClocks::read();
        let LaboratoryOutput { output, cpu } = left.inspect_err(|_| self.watch.restart())?;
        let surroundings = self.watch.run_surroundings(cpu, &self.plan.cpus);
        self.other_programs.sample_if_due();
        let stolen = || after.since(&before, |cpu| self.plan.cpus.contains(cpu)).steal;
        let steal_ns = (!before.is_empty()).then(stolen);
        let sample = parse_sample(cell, &output)?;
        let unknown = serde_json::Map::new();
        Ok(LockRun { round: *round, cell: *cell, sample, steal_ns, surroundings, unknown })
    }

    fn value(&self, run: &LockRun) -> Option<f64> {
        Some(run.value())
    }

    fn concerns_one_cell(&self, error: &LockCellError) -> bool {
        !matches!(error, LockCellError::Program(_) | LockCellError::Spawn(_) | LockCellError::Io { .. })
    }
}

/// Arguments of the program: its name, the cell, the CPUs and the duration.
fn cell_arguments(cell: &LockCell, cpus: &CpuSet, window: Nanos) -> Vec<OsString> {
    // Names and numbers are always valid JSON.
    let cell = serde_json::to_string(cell).unwrap_or_default();
    let words = [CELL_PROGRAM, &cell, "--cpus", &cpus.to_string(), "--window-ns", &window.0.to_string()];
    words.map(OsString::from).to_vec()
}

/// Parses the printed sample, and checks that it belongs to such a cell.
fn parse_sample(cell: &LockCell, output: &str) -> Result<LockSample, LockCellError> {
    let sample: LockSample = serde_json::from_str(output.trim())
        .map_err(|error| LockCellError::NotASample { why: error.to_string() })?;
    let fits = match (cell, &sample) {
        (LockCell::Contention { lock, threads, watched, .. }, LockSample::Contention(contention)) => {
            // The waits of a kernel lock are not observable.
            let is_seen = *watched && *lock != LockName::Kernel;
            contention.turns.len() == *threads as usize && (!is_seen || contention.longest_waits_ns.is_some())
        }
        (LockCell::Preempted { .. }, LockSample::Preempted { .. }) => true,
        (
            LockCell::Free { .. } | LockCell::Handoff { .. } | LockCell::Switch | LockCell::Line { .. },
            LockSample::Time { ns },
        ) => ns.is_finite() && *ns > 0.0,
        _ => false,
    };
    if fits {
        Ok(sample)
    } else {
        Err(LockCellError::NotASample { why: "it measures another cell".to_owned() })
    }
}

fn failed(exit: Exit, error_output: &str) -> LockCellError {
    let how = match exit {
        Exit::Code(code) => format!("exit status {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::Stopped(signal) => format!("stopped by signal {signal}"),
        Exit::TimedOut => "out of time".to_owned(),
    };
    let last = error_output.lines().rev().find(|line| !line.trim().is_empty());
    LockCellError::Failed { how, error_output: last.unwrap_or("it printed no error").trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use morecores_study::Phase;

    const FREE: LockCell = LockCell::Free { lock: LockName::Std };

    fn trial(round: u32) -> Trial<LockCell> {
        Trial { index: 0, round, phase: Phase::Timed, cell: FREE }
    }

    /// A laboratory that is a shell script.
    fn laboratory(dir: &tempfile::TempDir, script: &str) -> ProcessLaboratory {
        let path = dir.path().join("work");
        morecores_testkit::write_script(&path, &format!("#!/bin/sh\n{script}\n"));
        let cpu = morecores_machine::process::affinity(0).unwrap().first().unwrap();
        let plan = LockPlan { cpus: [cpu].into_iter().collect(), ..morecores_testkit::lock_plan() };
        ProcessLaboratory::new(&path, &plan, Arc::default()).unwrap()
    }

    #[test]
    fn a_cell_is_requested_and_its_line_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let words = dir.path().join("words");
        let script =
            format!("printf '%s|' \"$@\" >{}; echo '{{\"of\":\"time\",\"ns\":15.5}}'", words.display());
        let mut laboratory = laboratory(&dir, &script);
        let run = laboratory.execute(&trial(3)).unwrap();
        assert_eq!((run.round, run.cell, run.sample), (3, FREE, LockSample::Time { ns: 15.5 }));
        assert!(run.steal_ns.is_some(), "/proc/stat is there");
        let cpus = laboratory.plan.cpus.to_string();
        assert_eq!(
            std::fs::read_to_string(words).unwrap(),
            format!("{{\"what\":\"free\",\"lock\":\"std\"}}|--cpus|{cpus}|--window-ns|10000000|")
        );
    }

    #[test]
    fn failures_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let error = |script: &str| laboratory(&dir, script).execute(&trial(0)).unwrap_err();
        let failed = error("echo 'no room for 9 threads' >&2; exit 2");
        assert_eq!(failed.to_string(), "no room for 9 threads (exit status 2)");
        assert!(laboratory(&dir, "").concerns_one_cell(&failed));
        assert_eq!(error("kill -9 $$").to_string(), "it printed no error (ended by signal 9)");
        for output in [
            "",
            "{}",
            r#"{"of":"time","ns":-1}"#,
            r#"{"of":"preempted","waited_ns":1,"burned_ns":1,"waits":1}"#,
        ] {
            let error = error(&format!("echo '{output}'"));
            assert!(matches!(error, LockCellError::NotASample { .. }), "{output}: {error}");
        }
        let plan = morecores_testkit::lock_plan();
        let missing = ProcessLaboratory::new(Path::new("/no/such/work"), &plan, Arc::default()).unwrap_err();
        assert!(
            !laboratory(&dir, "").concerns_one_cell(&missing)
                && missing.to_string().contains("installed together"),
            "{missing}"
        );
    }

    #[test]
    fn contention_has_counts_and_timed_waits_for_each_thread() {
        let contention = |lock, threads, watched| LockCell::Contention {
            lock,
            threads,
            hold_ns: Nanos::ZERO,
            think_ns: Nanos::ZERO,
            watched,
        };
        let line = r#"{"of":"contest","window_ns":5,"turns":[1,2],"user_ns":3,"system_ns":1}"#;
        assert!(parse_sample(&contention(LockName::Mcs, 2, false), line).is_ok());
        assert!(parse_sample(&contention(LockName::Mcs, 3, false), line).is_err());
        assert!(parse_sample(&contention(LockName::Mcs, 2, true), line).is_err());
        assert!(parse_sample(&contention(LockName::Kernel, 2, true), line).is_ok(), "out of sight");
        assert!(parse_sample(&FREE, line).is_err());
    }
}
