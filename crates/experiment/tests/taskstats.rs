//! The estimators of user and system time, compared on trees of which the truth is known.
//!
//! Exit records need root outside of containers, a cgroup to compare with needs one that can be made.
#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::sync::{Arc, Mutex, MutexGuard};

use morecores_experiment::control::Control;
use morecores_experiment::executor::{Accounting, Executor, ProcessExecutor, Trial};
use morecores_experiment::input::Input;
use morecores_experiment::process;
use morecores_experiment::taskstats::TaskstatsAccount;
use morecores_record::*;
use morecores_testkit::skipped;

/// Children of this process belong to whichever run is going on: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The turn of a test that needs exit records; none, and a note, where there are none.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match TaskstatsAccount::open() {
        Ok(_) => Some(turn),
        Err(error) => {
            skipped(test, &error.to_string());
            None
        }
    }
}

fn plan() -> Plan {
    let cpu_set = process::affinity(0).unwrap();
    let cpus = cpu_set.len() as u32;
    let point = Point { cpu_set, ..morecores_testkit::point(cpus) };
    Plan { trace: TraceMode::Off, ..morecores_testkit::plan(vec![point]) }
}

/// Runs a line of shell some times and tells what each run cost.
fn run(line: &str, accounting: Accounting, times: u32) -> Vec<CpuTime> {
    let (command, plan) = (Command::Shell { line: line.into() }, plan());
    let mut executor = ProcessExecutor::with_accounting(
        &command,
        &plan,
        Input::none(),
        Arc::new(Control::default()),
        accounting,
    )
    .unwrap();
    let runs = (0..times).map(|index| {
        let trial = Trial { index, round: index, phase: Phase::Timed, point: plan.points[0].clone() };
        let outcome = executor.execute(&trial).unwrap();
        assert_eq!(outcome.run.exit, Exit::Code(0), "{}", outcome.output);
        outcome.run.cpu
    });
    runs.collect()
}

/// The share of kernel time over all runs, and all CPU time in seconds.
fn sums(runs: &[CpuTime]) -> (f64, f64) {
    let system: f64 = runs.iter().map(|cpu| cpu.system_ns.as_secs_f64()).sum();
    let user: f64 = runs.iter().map(|cpu| cpu.user_ns.as_secs_f64()).sum();
    (system / (user + system), user + system)
}

/// As [`sums`], of runs that must all have been told by `estimator`.
fn told_by(estimator: CpuEstimator, runs: &[CpuTime]) -> Option<(f64, f64)> {
    runs.iter().all(|cpu| cpu.estimator == estimator).then(|| sums(runs))
}

#[test]
fn many_short_processes_are_split_as_their_cgroup_splits_them() {
    let test = "many_short_processes_are_split_as_their_cgroup_splits_them";
    let Some(_turn) = turn(test) else { return };
    let line = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done";
    let estimators = [CpuEstimator::Cgroup, CpuEstimator::Taskstats, CpuEstimator::Getrusage];
    let mut runs = [const { Vec::new() }; 3];
    // In turns, so that whatever else the machine does falls on all alike. About 1,000 ticks each.
    for _ in 0..6 {
        for (runs, estimator) in runs.iter_mut().zip(estimators) {
            runs.extend(run(line, Accounting::Only(estimator), 1));
        }
    }
    let of = |index: usize| told_by(estimators[index], &runs[index]);
    let Some((cgroup, cgroup_s)) = of(0) else {
        return skipped(test, "no version 2 cgroup can be made to compare with");
    };
    let ((exits, exits_s), (getrusage, _)) = (of(1).unwrap(), of(2).unwrap());
    println!(
        "cgroup {cgroup:.3} taskstats {exits:.3} getrusage {getrusage:.3}; {cgroup_s:.3} {exits_s:.3} s"
    );
    // Chance makes 2 points of difference; CPUs that are shared with others, or taken away with their ticks, up to 14.
    assert!((exits - cgroup).abs() < 0.2, "taskstats {exits}, cgroup {cgroup}");
    // A process shorter than a tick is all user time there.
    assert!(getrusage < 0.6 * exits, "getrusage {getrusage}, taskstats {exits}");
    assert!((exits_s / cgroup_s - 1.0).abs() < 0.25, "{exits_s} s of {cgroup_s} s");
}

/// CPU time of a line by the records alone, in seconds.
fn by_exits(line: &str) -> f64 {
    told_by(CpuEstimator::Taskstats, &run(line, Accounting::Only(CpuEstimator::Taskstats), 1)).unwrap().1
}

/// Keeps a CPU busy for a few tenths of a second.
const BURN: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

/// That a line made of [`BURN`], for the CPU time that this takes alone, is counted as that. A CPU of a shared machine may
/// be twice as fast one moment as the next, so it has three tries; what is not counted at all never passes.
fn is_counted(how: &str, line: impl Fn(f64) -> String) {
    let tries = [(); 3].map(|()| {
        let alone = by_exits(BURN);
        assert!(alone > 0.05, "{alone} s is too short to tell");
        by_exits(&line(alone)) / alone
    });
    assert!(tries.iter().any(|counted| (0.6..2.0).contains(counted)), "{how}: {tries:?} of the time alone");
}

#[test]
fn whatever_became_of_its_parents_a_process_is_counted() {
    let Some(_turn) = turn("whatever_became_of_its_parents_a_process_is_counted") else { return };
    is_counted("waited for", |_| format!("({BURN}); true"));
    is_counted("a chain of parents", |_| format!("sh -c 'sh -c \"$1\" x \"$1\"; true' x '{BURN}'"));
    // Its parent is gone at once; it ends before the main process does.
    is_counted("a double-forked orphan", |alone| format!("(({BURN}) & ); sleep {}", 3.0 * alone));
    // One that outlives the main process is counted until it is ended, after 100 ms.
    let outlived = by_exits(&format!("(({BURN}) & ); true"));
    assert!(outlived > 0.03, "{outlived} s");
}

#[test]
fn children_that_nobody_waits_for_are_counted() {
    let test = "children_that_nobody_waits_for_are_counted";
    let Some(_turn) = turn(test) else { return };
    // With SIGCHLD ignored the kernel drops a child and its times at once, and getrusage never hears of it.
    let line =
        format!("perl -e '$SIG{{CHLD}} = q(IGNORE); if (!fork) {{ exec q(sh), q(-c), q({BURN}) }} wait'");
    if std::process::Command::new("perl").arg("-e1").status().is_err() {
        return skipped(test, "there is no perl");
    }
    let alone = by_exits(BURN);
    let (_, getrusage) = sums(&run(&line, Accounting::Only(CpuEstimator::Getrusage), 1));
    assert!(getrusage < 0.3 * alone, "getrusage knows {getrusage} s of {alone} s");
    is_counted("dropped at once", |_| line.clone());
}

#[test]
fn neighbours_are_not_counted() {
    let Some(_turn) = turn("neighbours_are_not_counted") else { return };
    // Its parent is this process, as that of the run; begun before it and therefore spared.
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
    // Threads of this process are not the tree's; xargs makes processes.
    std::thread::spawn(|| ()).join().unwrap();
    std::process::Command::new("sh").args(["-c", "seq 20 | xargs -n1 -P4 true"]).status().unwrap();
    let times = account.end(&[]).unwrap();
    // sh may become xargs or start it; seq and the 20 are there in any case.
    assert!((22..=24).contains(&times.tasks), "{times:?}");
}

#[test]
fn a_run_whose_records_were_lost_has_no_figure_and_the_next_one_has() {
    let Some(_turn) = turn("a_run_whose_records_were_lost_has_no_figure_and_the_next_one_has") else {
        return;
    };
    let seq = |count: &str| {
        let line = format!("seq {count} | xargs -n1 true");
        std::process::Command::new("sh").args(["-c", &line]).status().unwrap();
    };
    // Twice 16 KiB hold 25 records.
    let mut account = TaskstatsAccount::with_room(16 << 10).unwrap();
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
    // Subshells: a process each, and no program to load.
    let line = "i=0; while [ $i -lt 10000 ]; do (:); i=$((i+1)); done";
    std::process::Command::new("sh").args(["-c", line]).status().unwrap();
    assert_eq!(account.end(&[]).unwrap().tasks, 10_001);
}
