//! The programs do what they claim, by independent clocks: bash's `time`, which reads the kernel's
//! accounts.
//!
//! The checks hold on a busy machine too: requested work is done, elapsed time is no less than the
//! work allows, and the program's own account is a part of the kernel's.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, also in its helpers")]

use std::path::Path;
use std::process::Command;

use morecores_accuracy::compiled::{Build, CompiledProgram, CompiledSource};
use morecores_accuracy::program::write_file;
use morecores_accuracy::python::{Interpreter, PythonProgram, PythonSource};
use morecores_accuracy::{ExpectedReport, Truth};
use morecores_testkit::report_skip;

/// The kernel's account of a program, in seconds.
struct Account {
    elapsed: f64,
    user: f64,
    system: f64,
}

impl Account {
    fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Runs a program; returns the program's own account and the kernel's account.
fn run(words: &[&str]) -> (Truth, Account) {
    let dir = tempfile::tempdir().unwrap();
    let truth = dir.path().join("truth");
    let mut bash = Command::new("bash");
    bash.args(["-c", "TIMEFORMAT='%R %U %S'; time \"$@\"", "bash", env!("CARGO_BIN_EXE_morecores-accuracy")]);
    bash.args(["program", "--truth"]).arg(&truth).args(words).env("LC_ALL", "C");
    let output = bash.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {stderr}");
    assert!(output.stdout.is_empty(), "a program must be quiet: {words:?}");
    let times: Vec<f64> = stderr.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
    let [elapsed, user, system] = times[..] else { panic!("{stderr}") };
    (Truth::read(&truth).unwrap(), Account { elapsed, user, system })
}

/// Precision of the digits that `time` prints, and its delay before it begins to measure, in
/// seconds.
const ROUNDING: f64 = 0.002;

/// Checks that the program's own account of its work is within the kernel's account of the whole
/// program, and at least the requested work. `make accuracy` reports how much more it is on a
/// machine.
fn run_and_check(words: &[&str], asked: f64) -> (Truth, Account) {
    let (truth, account) = run(words);
    assert!(truth.cpu_s >= asked - ROUNDING, "{words:?}: {} of {asked} s", truth.cpu_s);
    assert!(truth.cpu_s <= account.cpu() + ROUNDING, "{words:?}: {} of {} s", truth.cpu_s, account.cpu());
    (truth, account)
}

#[test]
fn a_serial_part_takes_its_time_alone() {
    for program in ["serial-fork", "serial-threads"] {
        for (percent, least) in [("0", 0.25), ("50", 0.375), ("100", 0.5)] {
            let (_, account) = run_and_check(&[program, "--percent", percent, "--work-s", "0.5"], 0.5);
            // Half the work in turn and half of the rest at once: no number of CPUs makes it
            // faster.
            assert!(account.elapsed >= least - ROUNDING, "{program} {percent}: {} s", account.elapsed);
        }
    }
}

#[test]
fn work_by_construction_equals_the_work_done() {
    // No number of CPUs makes the last figure of each row smaller: `pipe-chain` and `pinned` never
    // have two threads running, and three tasks of 20 ms on two threads last two tasks.
    let programs: [(&[&str], f64, f64); 3] = [
        (&["pipe-chain", "--work-s", "0.6"], 0.6, 0.6),
        (&["pool", "--batches", "10"], 0.6, 0.4),
        (&["pinned", "--work-s", "0.6"], 0.6, 0.6),
    ];
    for (words, work, least) in programs {
        let (_, account) = run_and_check(words, work);
        assert!(account.elapsed >= least - ROUNDING, "{words:?}: {} s", account.elapsed);
    }
}

#[test]
fn programs_that_call_the_kernel_do_the_requested_work() {
    for program in ["calls", "faults"] {
        let words = [program, "--percent", "30", "--work-s", "1", "--threads", "2"];
        let (_, account) = run_and_check(&words, 1.0);
        assert!(account.user > 0.0 && account.system > 0.0, "{program}: {} s", account.system);
    }
}

#[test]
fn at_most_two_threads_wait_for_a_mutex() {
    for percent in ["0", "50"] {
        let (truth, account) = run_and_check(&["mutex", "--percent", percent, "--elapsed-s", "0.5"], 0.0);
        let waited = truth.waited_s.unwrap();
        assert!((0.0..=2.0 * account.elapsed).contains(&waited), "{waited} of {}", account.elapsed);
    }
}

#[test]
fn waits_of_two_mutexes_are_those_of_two_functions() {
    let (truth, account) = run_and_check(&["two-mutexes", "--elapsed-s", "0.5"], 0.0);
    assert_eq!(truth.functions.keys().collect::<Vec<_>>(), ["rebuild_cache", "update_index"]);
    for function in truth.functions.values() {
        // Two threads, of which one waits and the other holds.
        let [waited, held] = [function.waited_s.unwrap(), function.held_s.unwrap()];
        assert!((0.0..=account.elapsed).contains(&waited), "{waited} of {}", account.elapsed);
        assert!((0.0..=account.elapsed).contains(&held), "{held} of {}", account.elapsed);
    }
}

/// Runs a program of another language; returns its truth.
fn run_other(words: &[String], truth: &Path) -> Truth {
    let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{words:?}: {output:?}");
    Truth::read(truth).unwrap()
}

/// Checks that the program measures every quantity with an expectation.
fn check_complete(expected: &ExpectedReport) {
    for share in &expected.shares {
        assert!(share.seconds >= 0.0, "{share:?}");
    }
    for share in &expected.proportions {
        assert!(share.percent >= 0.0, "{share:?}");
    }
}

#[test]
fn compiled_programs_know_their_functions() {
    use CompiledSource::{FalseSharing, LockHolds, LockOwners, SerialPhase, TwoMutexes};
    let c = [TwoMutexes, SerialPhase, FalseSharing, LockOwners, LockHolds].map(|source| (source, Build::C));
    let stripped = [TwoMutexes, SerialPhase].map(|source| (source, Build::StrippedC));
    let cpp = [TwoMutexes, SerialPhase, FalseSharing].map(|source| (source, Build::Cpp));
    for (source, build) in c.into_iter().chain(stripped).chain(cpp) {
        let dir = tempfile::tempdir().unwrap();
        let (path, program) = (dir.path().join("truth"), CompiledProgram { source, build, seconds: 0.2 });
        let executable = match program.compile(dir.path()) {
            Err(error) if error.lacks_prerequisite() => {
                return report_skip("compiled_programs_know_their_functions", &error.to_string());
            }
            compiled => compiled.unwrap(),
        };
        let truth = run_other(&executable.command_line(&path, program.seconds), &path);
        let parts = match source {
            LockHolds => 4,
            LockOwners => 3,
            _ => 2,
        };
        assert_eq!(truth.functions.len(), parts, "{program:?}");
        let in_functions: f64 = truth.functions.values().filter_map(|function| function.cpu_s).sum();
        assert!(in_functions <= truth.cpu_s, "{program:?}: {truth:?}");
        if source == SerialPhase {
            assert!(in_functions >= 0.2 - ROUNDING, "{program:?}: {truth:?}");
        }
        check_complete(&program.expected(&executable, &truth, 2, 0.3));
    }
}

#[test]
fn programs_with_openmp_know_their_waits() {
    for build in [Build::GccOpenMp, Build::ClangOpenMp] {
        let dir = tempfile::tempdir().unwrap();
        let program = CompiledProgram { source: CompiledSource::OpenMp, build, seconds: 0.2 };
        let path = dir.path().join("truth");
        let executable = match program.compile(dir.path()) {
            Err(error) if error.lacks_prerequisite() => {
                report_skip("programs_with_openmp_know_their_waits", &error.to_string());
                continue;
            }
            compiled => compiled.unwrap(),
        };
        let truth = run_other(&executable.command_line(&path, program.seconds), &path);
        // One round: the long region alone has parts of 400 and 90 ms of CPU time.
        let waited = |function| truth.in_function(function, |own| own.waited_s);
        assert!(waited("solve") > 0.0 && waited("smooth") > 0.0, "{truth:?}");
        assert!((waited("solve") + waited("smooth") - truth.waited_s.unwrap()).abs() < 1e-6, "{truth:?}");
        assert!(truth.cpu_s > 0.49, "{truth:?}");
        check_complete(&program.expected(&executable, &truth, 2, 0.7));
    }
}

#[test]
fn two_functions_count_in_one_cache_line_and_in_two() {
    let (truth, _) = run_and_check(&["false-sharing", "--elapsed-s", "0.3"], 0.0);
    let [apart, side_by_side] =
        ["count_apart", "count_side_by_side"].map(|function| truth.in_function(function, |own| own.cpu_s));
    assert!(apart > 0.0 && side_by_side > 0.0, "{truth:?}");
    assert!(apart + side_by_side <= truth.cpu_s, "{truth:?}");
}

/// Runs programs in Python for the test `name`, until one lacks a prerequisite.
fn check_python(name: &str, programs: &[(PythonSource, Interpreter)]) {
    for &(source, interpreter) in programs {
        let program = PythonProgram { source, interpreter, seconds: 0.2 };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("truth");
        let prepared = match program.prepare(dir.path(), &path) {
            Err(error) if error.lacks_prerequisite() => return report_skip(name, &error.to_string()),
            prepared => prepared.unwrap(),
        };
        let truth = run_other(&prepared.command_line, &path);
        if source == PythonSource::GlobalLock {
            assert!(truth.cpu_s > 0.0 && truth.cpu_s + truth.waited_s.unwrap() >= 2.0 * 0.2, "{truth:?}");
        } else {
            let in_functions: f64 = truth.functions.values().filter_map(|function| function.cpu_s).sum();
            assert!((0.2 - ROUNDING..=truth.cpu_s).contains(&in_functions), "{truth:?}");
        }
        check_complete(&program.expected(&prepared, &truth, 2));
    }
}

#[test]
fn python_threads_compute_or_wait() {
    check_python("python_threads_compute_or_wait", &[(PythonSource::GlobalLock, Interpreter::Stripped)]);
}

#[test]
fn functions_of_python_compute_alone_and_together() {
    use Interpreter::{Stripped, WithSymbols};
    let programs = [
        (PythonSource::GlobalLock, WithSymbols),
        (PythonSource::SerialPhase, WithSymbols),
        (PythonSource::SerialPhase, Stripped),
    ];
    check_python("functions_of_python_compute_alone_and_together", &programs);
}

#[test]
fn a_sleeper_sleeps() {
    let (_, account) = run_and_check(&["sleeper", "--sleeps", "10"], 0.0);
    // Ten sleeps of 50 ms, in which the program does nothing.
    assert!(account.elapsed >= 0.5, "{}", account.elapsed);
    assert!(account.cpu() < account.elapsed, "{} of {}", account.cpu(), account.elapsed);
}

#[test]
fn reads_wait_for_the_disk() {
    // Cargo's own directory for tests: unlike the directory for temporary files, it lies on a disk
    // nearly everywhere.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    if let Err(error) = write_file(&file) {
        return report_skip("reads_wait_for_the_disk", &error.to_string());
    }
    let path = file.to_string_lossy().into_owned();
    let (truth, account) = run_and_check(&["disk", "--file", &path, "--elapsed-s", "0.5"], 0.0);
    // One thread is reading or running at a time.
    let waited = truth.waited_s.unwrap();
    assert!(waited > 0.0 && waited <= account.elapsed, "{waited} of {}", account.elapsed);
}

#[test]
fn memory_is_no_disk() {
    if !Path::new("/dev/shm").is_dir() {
        return report_skip("memory_is_no_disk", "there is no /dev/shm");
    }
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    let error = write_file(file.path()).unwrap_err().to_string();
    assert!(error.contains("not on a disk"), "{error}");
}

#[test]
fn a_storm_runs_every_process() {
    // The program waited for each process, and each process costs some CPU time.
    let (_, account) = run_and_check(&["storm", "--processes", "200"], 0.0);
    assert!(account.cpu() > 0.0, "{}", account.cpu());
}

#[test]
fn a_neighbour_is_a_program_and_its_account_is_read() {
    use std::process::Stdio;
    let mut neighbour = Command::new(env!("CARGO_BIN_EXE_morecores-accuracy"))
        .args(["neighbour", "--cpu", &first_cpu()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let pid = neighbour.id().to_string();
    let (truth, account) =
        run_and_check(&["neighboured", "--threads", "1", "--pid", &pid, "--elapsed-s", "1"], 0.0);
    neighbour.kill().unwrap();
    neighbour.wait().unwrap();
    // The neighbour has one thread.
    let outside = truth.outside_s.unwrap();
    assert!((0.0..=account.elapsed + 0.01).contains(&outside), "{outside} of {}", account.elapsed);
}

/// A CPU that this test may use.
fn first_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().split(['-', ',']).next().unwrap().to_owned()
}
