//! Runs with an observer: the observer's view of the run, and the independence of the run from the
//! observer.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use morecores_machine::clock::monotonic;
use morecores_machine::process;
use morecores_measure::control::Control;
use morecores_measure::executor::{ExecuteError, ProcessExecutor};
use morecores_measure::input::Input;
use morecores_measure::observer::{ObserverError, RunObserver};
use morecores_measure::sweep::{Executor, Trial};
use morecores_study::*;

/// Lock for one test at a time, because a child of this process belongs to whatever run is in
/// progress.
fn turn() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn plan() -> Plan {
    let cpu_set = process::affinity(0).unwrap();
    let cpus = cpu_set.len() as u32;
    let point = Point { cpu_set, ..morecores_testkit::point(cpus) };
    Plan { trace: TraceMode::On, ..morecores_testkit::plan(vec![point]) }
}

fn executor(command: Command, plan: &Plan) -> ProcessExecutor {
    ProcessExecutor::new(&command, plan, Input::none(), Arc::new(Control::default())).unwrap()
}

fn trial(plan: &Plan) -> Trial<Point> {
    Trial { index: 3, round: 0, phase: Phase::Traced, cell: plan.points[0].clone() }
}

fn shell(line: &str) -> Command {
    Command::Shell { line: line.into() }
}

/// Observer that notes its calls and their thread, reads a file at each call, and fails as
/// instructed.
#[derive(Default)]
struct Notes<'a> {
    began: Vec<Nanos>,
    ended: Vec<Nanos>,
    callers: Vec<ThreadId>,
    file: Option<&'a Path>,
    seen: Vec<String>,
    refuses: bool,
    loses: bool,
}

impl Notes<'_> {
    fn look(&mut self) {
        self.callers.push(thread::current().id());
        self.seen.extend(self.file.map(|file| fs::read_to_string(file).unwrap_or_default()));
    }
}

impl RunObserver for Notes<'_> {
    type Observation = ();

    fn on_begin(&mut self, point: &Point) -> Result<(), ObserverError> {
        assert_eq!(point.cpus as usize, point.cpu_set.len());
        self.look();
        if self.refuses {
            return Err(ObserverError::new("no BPF here"));
        }
        self.began.push(monotonic());
        Ok(())
    }

    fn on_end(&mut self) -> Result<(), ObserverError> {
        self.ended.push(monotonic());
        self.look();
        if self.loses { Err(ObserverError::new("disk full")) } else { Ok(()) }
    }
}

#[test]
fn the_observer_covers_the_process_from_before_its_start_to_its_end_without_the_hooks() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("steps");
    let mut plan = plan();
    plan.hooks.prepare = Some(format!("echo prepared >>{}", file.display()).into());
    let mut executor = executor(shell(&format!("echo ran >>{}; sleep 0.02", file.display())), &plan);
    let mut notes = Notes { file: Some(&file), ..Notes::default() };
    let made = executor.execute_observed(&trial(&plan), &mut notes).unwrap();

    assert_eq!(notes.seen, ["prepared\n", "prepared\nran\n"]);
    assert_eq!(notes.callers, [thread::current().id(); 2]);
    assert!(made.observed.is_ok());
    let instants = [notes.began[0], made.began, made.ended, notes.ended[0]];
    assert!(instants.is_sorted(), "{instants:?}");
    let run = &made.outcome.run;
    assert_eq!((run.phase, run.index, run.exit), (Phase::Traced, 3, Exit::Code(0)));
    assert_eq!(run.elapsed_ns, made.ended.since(made.began));
    assert!(run.elapsed_ns >= Nanos::from_millis(20));
}

#[test]
fn an_observer_that_refuses_prevents_its_run_and_not_the_next_one() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ran");
    let plan = plan();
    let mut executor = executor(shell(&format!("echo ran >>{}", file.display())), &plan);
    let mut notes = Notes { refuses: true, ..Notes::default() };
    let error = executor.execute_observed(&trial(&plan), &mut notes).unwrap_err();
    assert!(matches!(error, ExecuteError::Observer(_)), "{error:?}");
    assert_eq!(error.to_string(), "no BPF here");
    assert!(notes.ended.is_empty() && !file.exists());

    let outcome = executor.execute(&trial(&plan)).unwrap();
    assert!(outcome.run.exit.is_success() && file.exists());
}

#[test]
fn an_observer_that_loses_its_data_does_not_fail_the_run() {
    let _turn = turn();
    let plan = plan();
    let mut executor = executor(shell("exit 3"), &plan);
    let mut notes = Notes { loses: true, ..Notes::default() };
    let made = executor.execute_observed(&trial(&plan), &mut notes).unwrap();
    assert_eq!(made.outcome.run.exit, Exit::Code(3));
    assert_eq!(made.observed.unwrap_err().to_string(), "disk full");
}

#[test]
fn survivors_are_named_and_ended_after_the_observation() {
    let _turn = turn();
    let plan = plan();
    let mut executor = executor(shell("setsid sleep 60 & exit 0"), &plan);
    let mut notes = Notes::default();
    let made = executor.execute_observed(&trial(&plan), &mut notes).unwrap();
    assert_eq!(made.outcome.run.survivors, ["sleep"]);
    assert!(monotonic().since(notes.ended[0]) >= Nanos::from_millis(100), "survivors get their time to end");
    assert!(process::descendants(std::process::id()).is_empty());
}

#[test]
fn each_attempt_to_start_the_command_is_observed_separately() {
    let _turn = turn();
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    // Without `#!`, execve refuses the file, and a shell runs it.
    morecores_testkit::write_script(&script, "exit 0\n");
    let plan = plan();
    let argv = vec![script.clone().into_os_string()];
    let mut executor = executor(Command::Program { argv }, &plan);
    let mut notes = Notes::default();
    let made = executor.execute_observed(&trial(&plan), &mut notes).unwrap();
    assert!(made.outcome.run.exit.is_success());
    assert_eq!((notes.began.len(), notes.ended.len()), (2, 2));
    assert!(notes.ended[0] <= notes.began[1] && notes.began[1] <= made.began);
}
