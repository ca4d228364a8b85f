//! Searches of small programs whose fault is known, and of their correct twins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use assert_cmd::Command;
use morecores_testkit::{CProgram, TestGroup, report_skip, skips_group, wait_until, with_default_signals};
use object::elf::NT_PRSTATUS;
use object::read::elf::{ElfFile64, ElfSegment64, ProgramHeader};
use object::{Endianness, Object, ObjectKind, ObjectSegment};
use serde_json::Value;

/// Program of `cases`, or its correct twin.
fn case(name: &str, options: &[&str]) -> Program {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let binary = directory.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(format!("{name}.c"));
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", "-g", "-pthread", "-Wall", "-Werror"]).args(options);
    let status = compiler.arg("-o").arg(&binary).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()), "{name} does not compile");
    Program { _directory: directory, binary }
}

struct Program {
    _directory: tempfile::TempDir,
    binary: PathBuf,
}

/// Whether the searches are left out, or there is no valgrind, which finds the sites of these
/// programs.
fn skips(test: &str) -> bool {
    if skips_group(test, TestGroup::Shake) {
        return true;
    }
    let is_missing = std::process::Command::new("valgrind").arg("--version").output().is_err();
    if is_missing {
        report_skip(test, &TestGroup::Shake.missing_program("valgrind"));
    }
    is_missing
}

fn shake(arguments: &[&str], program: &Path) -> Output {
    let mut command = Command::cargo_bin("morecores-shake").expect("the program");
    let home = tempfile::tempdir().expect("a temporary directory");
    if !arguments.contains(&"-o") {
        command.arg("-o").arg(home.path().join("search"));
    }
    command.args(arguments).arg("--").arg(program);
    command.output().expect("it runs")
}

/// Runs a search that ends with this status. Returns its text.
fn search(arguments: &[&str], program: &Path, status: i32) -> String {
    let output = shake(&[&["--time", "40s"], arguments].concat(), program);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{stdout}{stderr}");
    stdout.into_owned()
}

/// Load, add, store: another thread runs in between.
#[test]
fn an_increment_of_three_instructions_is_not_thread_safe() {
    if skips("an_increment_of_three_instructions_is_not_thread_safe") {
        return;
    }
    let text = search(&[], &case("increment-3", &[]).binary, 3);
    assert!(text.contains("not thread-safe"), "{text}");
    assert!(text.contains("in `worker`, increment-3.c:12"), "{text}");
}

/// Text of a search that finds no valgrind.
fn search_without_valgrind(program: &Path) -> String {
    let mut command = Command::cargo_bin("morecores-shake").expect("the program");
    let home = tempfile::tempdir().expect("a temporary directory");
    command.env("PATH", "/nonexistent").arg("-o").arg(home.path().join("search")).arg("--");
    let output = command.arg(program).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("install valgrind for more"), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn watchpoints_find_variables_without_valgrind() {
    let text = search_without_valgrind(&case("increment-3", &[]).binary);
    assert!(text.contains("not thread-safe") && text.contains("in `worker`, increment-3.c:12"), "{text}");
}

#[test]
fn breakpoints_find_data_on_the_heap_without_valgrind() {
    let program = CProgram::compile(
        "heap",
        r#"
#include <pthread.h>
#include <stdlib.h>
static void work(void) { for (volatile int turn = 0; turn < 20000; turn++) { } }
static void *worker(void *counter) {
    for (int round = 0; round < 20; round++) {
        work();
        __asm__ volatile("incl (%0)" : : "r"(counter) : "memory");
    }
    return 0;
}
int main(void) {
    int *counter = calloc(1, sizeof *counter);
    pthread_t threads[2];
    for (int each = 0; each < 2; each++) pthread_create(&threads[each], 0, worker, counter);
    for (int each = 0; each < 2; each++) pthread_join(threads[each], 0);
    return *counter != 40;
}
"#,
    );
    let text = search_without_valgrind(program.path());
    assert!(text.contains("an update of memory without LOCK") && text.contains("in `worker`"), "{text}");
}

/// One instruction: only another CPU writes in between.
#[test]
fn an_increment_without_lock_fails_only_on_several_cpus() {
    if skips("an_increment_without_lock_fails_only_on_several_cpus") {
        return;
    }
    let text = search(&[], &case("increment-1", &[]).binary, 3);
    assert!(text.contains("an update of memory without LOCK"), "{text}");
    assert!(text.contains("inside `inc dword ptr [counter]` in `worker`, increment-1.c:12"), "{text}");
}

/// Every choice of a run is kept: the run that failed fails again. The findings have the line.
#[test]
fn a_failed_run_fails_again() {
    if skips("a_failed_run_fails_again") {
        return;
    }
    let (home, case) = (tempfile::tempdir().expect("a directory"), case("increment-3", &[]));
    let path = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    let (directory, sarif) = (path("increment.shake"), path("findings.sarif"));
    search(&["-o", &directory, "--sarif", &sarif], &case.binary, 3);
    let json =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON") };
    // A run that fails by its holds, not by chance.
    let lines = fs::read_to_string(format!("{directory}/runs.jsonl")).expect("runs");
    let mut runs = lines.lines().rev().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let fails = |run: &Value| run["schedule"] == "cpus-holds" && run["failure"] == "exit status 1";
    let run = runs.find(fails).expect("a failure by holds")["run"].to_string();
    let locations = &json(&sarif)["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(locations["region"]["startLine"], 12, "{locations}");
    let replay = |run: &str| {
        let mut command = Command::cargo_bin("morecores-shake").expect("the program");
        command.args(["--replay", run, "-o", &directory, "--runs", "10"]).output().expect("it runs")
    };
    let output = replay(&run);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("(exit status 1) again: failed in"), "{text}");
    let missing = replay("4000000");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("the search has no run 4000000"));
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn correct_twins_do_not_fail() {
    if skips("correct_twins_do_not_fail") {
        return;
    }
    for name in ["increment-1", "two-locks", "aba"] {
        let text = search(&["--runs", "40"], &case(name, &["-DTWIN"]).binary, 0);
        assert!(text.starts_with("No failure in ") && text.contains("no proof"), "{text}");
    }
}

#[test]
fn a_deadlock_is_named_by_its_locks() {
    if skips("a_deadlock_is_named_by_its_locks") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let directory = home.path().join("search").to_string_lossy().into_owned();
    let text = search(&["-o", &directory], &case("two-locks", &[]).binary, 3);
    assert!(text.contains("not thread-safe") && text.contains("deadlock"), "{text}");
    for (thread, lock, holder) in [(2, "`locks+40`", 3), (3, "`locks`", 2)] {
        let line = format!("thread {thread} waits for {lock}, which thread {holder} holds");
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.contains(&format!("its core, for a debugger: {directory}/core")), "{text}");
    assert_eq!(threads_of_core(Path::new(&directory)), [0; 3]);
}

#[test]
fn a_crash_leaves_a_core() {
    if skips("a_crash_leaves_a_core") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let directory = home.path().join("search").to_string_lossy().into_owned();
    let text = search(&["-o", &directory], &case("use-after-free", &[]).binary, 3);
    assert!(text.contains("SIGSEGV"), "{text}");
    // The other worker may have ended before.
    let signals = threads_of_core(Path::new(&directory));
    assert!(matches!(signals[..], [11, 0] | [11, 0, 0]), "{signals:?}");
}

/// Checks that the core of a search has the memory of each thread's stack. Returns the signal of
/// each thread.
fn threads_of_core(directory: &Path) -> Vec<u16> {
    // Offsets of `pr_cursig` and of the stack pointer in `struct elf_prstatus`.
    const SIGNAL: usize = 12;
    const STACK_POINTER: usize = 112 + 19 * 8;
    let content = fs::read(directory.join("core")).expect("a core");
    let core = ElfFile64::<Endianness>::parse(&*content).expect("an ELF file");
    assert_eq!(core.kind(), ObjectKind::Core);
    let headers = core.elf_program_headers();
    let notes = headers.iter().find_map(|header| header.notes(core.endian(), &*content).expect("notes"));
    let mut signals = Vec::new();
    let mut notes = notes.expect("notes");
    while let Some(note) = notes.next().expect("a note") {
        if note.n_type(core.endian()) == NT_PRSTATUS {
            let status = note.desc();
            let pointer = &status[STACK_POINTER..STACK_POINTER + 8];
            let pointer = u64::from_ne_bytes(pointer.try_into().expect("8 bytes"));
            let has_stack = |segment: ElfSegment64<'_, '_, Endianness>| {
                let data = segment.data_range(pointer, 64).expect("data");
                data.is_some_and(|stack| stack.iter().any(|byte| *byte != 0))
            };
            assert!(core.segments().any(has_stack), "{pointer:#x}");
            signals.push(u16::from_ne_bytes([status[SIGNAL], status[SIGNAL + 1]]));
        }
    }
    signals
}

#[test]
fn a_check_judges_the_output() {
    let program = CProgram::compile(
        "printer",
        r#"
#include <pthread.h>
#include <stdio.h>
static void *worker(void *argument) { return argument; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_join(thread, 0);
    puts("well");
    return 0;
}
"#,
    );
    search(&["--runs", "20", "--check", "grep -q well \"$SHAKE_STDOUT\""], program.path(), 0);
    let output = shake(&["--check", "grep -q ill \"$SHAKE_STDOUT\""], program.path());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("check failed with status 1") && stderr.contains("all 10 first runs"),
        "{stderr}"
    );
    for (check, expected) in [
        ("/nonexistent/check", "cannot run --check (status 127: a command of it is not found)"),
        ("/dev/null", "cannot run --check (status 126: a command of it cannot be executed)"),
    ] {
        let output = shake(&["--check", check], program.path());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{stderr}");
    }
}

#[test]
fn bad_input_is_one_line() {
    for (arguments, program, expected) in [
        (&[][..], "/nonexistent/program", "cannot find /nonexistent/program"),
        (&[], "true", "creates a second thread"),
        (&[], "false", "failed in all 10 first runs"),
        (&["--cpus", "4096"], "true", "CPUs are usable"),
        (&["--sarif", "/nonexistent/file"], "true", "choose another file"),
        (&["-o", "/proc"], "true", "cannot use /proc"),
        (&["--time", "soon"], "true", "write a time such as 30s or 10m"),
        (&["--cpus", "1"], "true", "1 is not in 2.."),
    ] {
        let output = shake(arguments, Path::new(program));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

/// Ctrl-C ends the search with the findings so far, and leaves no process and no files behind.
#[test]
fn an_interrupt_ends_the_search_with_its_findings() {
    let (home, case) = (tempfile::tempdir().expect("a directory"), case("increment-3", &["-DTWIN"]));
    let runs = home.path().join("search/runs.jsonl");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_morecores-shake"));
    command.args(["--time", "10m", "--runs", "1000000", "-o"]).arg(home.path().join("search"));
    command.env("PATH", "/nonexistent").env("TMPDIR", home.path()).arg("--").arg(&case.binary);
    let mut search = with_default_signals(&mut command).stdout(Stdio::piped()).spawn().expect("it starts");
    wait_until("rounds are made", || {
        assert_eq!(search.try_wait().expect("a child"), None, "it goes on");
        fs::metadata(&runs).is_ok_and(|file| file.len() > 1_000)
    });
    let interrupt = std::process::Command::new("kill").args(["-s", "INT", &search.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|status| status.success()));
    let output = search.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("No failure in "), "{text}");
    let left: Vec<_> =
        fs::read_dir(home.path()).expect("it").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["search"]);
}

/// The C library cancels a thread by a real-time signal.
#[test]
fn real_time_signals_reach_the_program() {
    let program = CProgram::compile(
        "cancelled",
        r#"
#include <pthread.h>
#include <unistd.h>
static void *worker(void *argument) { for (;;) pause(); return argument; }
int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, worker, 0);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return result != PTHREAD_CANCELED;
}
"#,
    );
    let text = search(&["--runs", "20"], program.path(), 0);
    assert!(text.starts_with("No failure in "), "{text}");
}

/// A run that is ended while its processes fork leaves new ones behind that stand still, because
/// nobody reported them. They are ended too.
#[test]
fn a_run_that_is_ended_amid_forks_ends() {
    if skips_group("a_run_that_is_ended_amid_forks_ends", TestGroup::Shake) {
        return;
    }
    let program = CProgram::compile(
        "forks",
        r#"
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void *forks(void *unused) {
    (void)unused;
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, forks, NULL);
    forks(NULL);
}
"#,
    );
    let mut command = Command::cargo_bin("morecores-shake").expect("the program");
    let home = tempfile::tempdir().expect("a temporary directory");
    // All first runs are ended at their time limit, so there is no search.
    let output = command
        .args(["--timeout", "100ms", "-o"])
        .arg(home.path().join("search"))
        .arg("--")
        .arg(program.path())
        .timeout(std::time::Duration::from_secs(60))
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("failed in all 10 first runs"), "{stderr}");
}
