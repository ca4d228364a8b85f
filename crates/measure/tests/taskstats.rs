//! CPU time by exit records, on trees whose true CPU time is known. docs/methods/measure.md
//! compares the estimators' splits into user and system time.
//!
//! Exit records need root outside of containers.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::sync::{Arc, Mutex, MutexGuard};

use morecores_machine::process;
use morecores_machine::taskstats::TaskstatsAccount;
use morecores_measure::control::Control;
use morecores_measure::executor::{Accounting, ProcessExecutor};
use morecores_measure::input::Input;
use morecores_measure::sweep::{Executor, Trial};
use morecores_study::*;
use morecores_testkit::report_skip;

/// Lock for one test at a time, because a child of this process belongs to whatever run is in
/// progress.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Turn of a test that needs exit records; `None`, with a note, if they are not available.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match TaskstatsAccount::open() {
        Ok(_) => Some(turn),
        Err(error) => {
            report_skip(test, &error.to_string());
            None
        }
    }
}

fn plan() -> Plan {
    let cpu_set = process::affinity(0).unwrap().iter().take(1).collect();
    let point = Point { cpu_set, ..morecores_testkit::point(1) };
    Plan { trace: TraceMode::Off, ..morecores_testkit::plan(vec![point]) }
}

/// Runs a shell line on one CPU.
fn run(line: &str, accounting: Accounting) -> Run {
    let (command, plan) = (Command::Shell { line: line.into() }, plan());
    let mut executor = ProcessExecutor::with_accounting(
        &command,
        &plan,
        Input::none(),
        Arc::new(Control::default()),
        accounting,
    )
    .unwrap();
    let trial = Trial { index: 0, round: 0, phase: Phase::Timed, cell: plan.points[0].clone() };
    let outcome = executor.execute(&trial).unwrap();
    assert_eq!(outcome.run.exit, Exit::Code(0), "{}", outcome.output);
    outcome.run
}

/// A run whose CPU time comes from the exit records alone.
fn by_exits(line: &str) -> Run {
    let run = run(line, Accounting::Only(CpuEstimator::Taskstats));
    assert_eq!(run.cpu.estimator, CpuEstimator::Taskstats);
    run
}

/// CPU time in seconds.
fn total(run: &Run) -> f64 {
    (run.cpu.user_ns + run.cpu.system_ns).as_secs_f64()
}

/// CPU time in seconds by `getrusage`, which counts only processes that were waited for.
fn waited_for(run: &Run) -> f64 {
    (run.rusage.user_ns + run.rusage.system_ns).as_secs_f64()
}

/// CPU time of [`BURN`] in seconds, the same on any machine.
const BURNED: f64 = 0.3;

/// Error of a record in seconds: a record includes a task's time up to its last tick (10 ms at
/// most) or switch.
const GRAIN: f64 = 0.02;

/// Shell line that keeps a CPU busy until the shell has used 30 hundredths of a second of CPU time,
/// by the kernel's count (fields 14 and 15 of proc_pid_stat(5)).
const BURN: &str = "while read -r l </proc/self/stat; set -- ${l##*) }; [ $((${12} + ${13})) -lt 30 ]; do \
                    i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done; done";

/// Checks that a run of [`BURN`] is counted, and only once: on one CPU, CPU time cannot exceed
/// elapsed time.
fn is_counted_once(how: &str, line: &str) -> Run {
    let run = by_exits(line);
    let (counted, elapsed) = (total(&run), run.elapsed_ns.as_secs_f64());
    assert!(BURNED - GRAIN <= counted && counted <= elapsed + GRAIN, "{how}: {counted} s in {elapsed} s");
    run
}

#[test]
fn short_processes_have_user_and_system_time_by_every_estimator() {
    let Some(_turn) = turn("short_processes_have_user_and_system_time_by_every_estimator") else { return };
    let line = "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done";
    for estimator in [CpuEstimator::Cgroup, CpuEstimator::Taskstats, CpuEstimator::Getrusage] {
        let run = run(line, Accounting::Only(estimator));
        // Without a version 2 cgroup, `getrusage` is the source.
        assert!([estimator, CpuEstimator::Getrusage].contains(&run.cpu.estimator), "{:?}", run.cpu);
        // The shell waited for all of these processes, so no other source may count less.
        assert!(total(&run) > 0.0 && total(&run) >= waited_for(&run) - 0.001, "{estimator:?} {run:?}");
    }
}

#[test]
fn a_process_is_counted_regardless_of_its_parents() {
    let Some(_turn) = turn("a_process_is_counted_regardless_of_its_parents") else { return };
    is_counted_once("waited for", &format!("({BURN}); true"));
    is_counted_once("a chain of parents", &format!("sh -c 'sh -c \"$1\" x \"$1\"; true' x '{BURN}'"));
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let done = done.display();
    let until_done = format!("while ! [ -e {done} ]; do sleep 0.02; done");
    // The orphan's parent ends at once, and the orphan ends before the main process.
    let orphan = format!("(sh -c '{BURN}; echo >{done}' & ); {until_done}; sleep 0.1");
    is_counted_once("a double-forked orphan", &orphan);
    // A process that outlives the main process is counted until it is killed.
    std::fs::remove_file(dir.path().join("done")).unwrap();
    is_counted_once("a survivor", &format!("(sh -c '{BURN}; echo >{done}; sleep 1000' & ); {until_done}"));
}

#[test]
fn children_without_a_waiting_parent_are_counted() {
    let test = "children_without_a_waiting_parent_are_counted";
    let Some(_turn) = turn(test) else { return };
    // With SIGCHLD ignored, the kernel drops a child and its times at once, so getrusage never
    // counts them.
    let line =
        format!("perl -e '$SIG{{CHLD}} = q(IGNORE); if (!fork) {{ exec q(sh), q(-c), q|{BURN}| }} wait'");
    if std::process::Command::new("perl").arg("-e1").status().is_err() {
        return report_skip(test, "there is no perl");
    }
    let run = is_counted_once("dropped at once", &line);
    // The records exceed getrusage by the child's time; only getrusage counts the end of perl
    // itself.
    assert!(total(&run) - waited_for(&run) > BURNED / 2.0, "{run:?}");
}

#[test]
fn neighbours_are_not_counted() {
    let Some(_turn) = turn("neighbours_are_not_counted") else { return };
    // The neighbour's parent is this process, as for the run. It started earlier, and is therefore
    // spared.
    let mut account = TaskstatsAccount::open().unwrap();
    let mut neighbour = std::process::Command::new("sh").args(["-c", BURN]).spawn().unwrap();
    account.begin();
    std::process::Command::new("true").status().unwrap();
    neighbour.wait().unwrap();
    assert_eq!(account.end(&[neighbour.id()]).unwrap().tasks, 1);
    account.begin();
    assert_eq!(account.end(&[]).unwrap().tasks, 0);
    assert_eq!(account.incomplete_runs(), 0);
}

#[test]
fn threads_are_counted_one_by_one() {
    let Some(_turn) = turn("threads_are_counted_one_by_one") else { return };
    let mut account = TaskstatsAccount::open().unwrap();
    account.begin();
    // Threads of this process do not belong to the tree; xargs creates processes.
    std::thread::spawn(|| ()).join().unwrap();
    std::process::Command::new("sh").args(["-c", "seq 20 | xargs -n1 -P4 true"]).status().unwrap();
    let times = account.end(&[]).unwrap();
    // sh may become xargs or start it, but seq and the 20 processes always exist.
    assert!((22..=24).contains(&times.tasks), "{times:?}");
}

#[test]
fn a_run_with_lost_records_has_no_figure_and_the_next_one_has() {
    let Some(_turn) = turn("a_run_with_lost_records_has_no_figure_and_the_next_one_has") else {
        return;
    };
    let seq = |count: &str| {
        let line = format!("seq {count} | xargs -n1 true");
        std::process::Command::new("sh").args(["-c", &line]).status().unwrap();
    };
    // Twice 16 KiB hold 25 records.
    let mut account = TaskstatsAccount::with_buffer_bytes(16 << 10).unwrap();
    account.begin();
    seq("200");
    assert_eq!(account.end(&[]), None);
    assert_eq!(account.incomplete_runs(), 1);
    account.begin();
    seq("2");
    assert!(account.end(&[]).is_some_and(|times| times.tasks >= 4));
    assert_eq!(account.incomplete_runs(), 1);
}

#[test]
fn ten_thousand_exits_are_all_received() {
    let Some(_turn) = turn("ten_thousand_exits_are_all_received") else { return };
    let mut account = TaskstatsAccount::open().unwrap();
    account.begin();
    // A subshell is a process of its own and loads no program.
    let line = "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done";
    std::process::Command::new("sh").args(["-c", line]).status().unwrap();
    assert_eq!(account.end(&[]).unwrap().tasks, 10_001);
}
