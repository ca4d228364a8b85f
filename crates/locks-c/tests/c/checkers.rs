//! The race checkers: they find no fault in the correct programs, and find each fault of the faulty
//! one at its place.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use morecores_testkit::{TestGroup, report_skip, skips_group};
use tempfile::TempDir;

use crate::build::{all_output, build, build_shared, compiler, crate_file, is_installed, run};

/// Exit status of valgrind after a finding, different from the statuses of both programs.
const FINDING_STATUS: i32 = 99;

/// The faults of `faults.c`, and the function in which each must be found.
const FAULTS: [(&str, &str); 3] = [("unlocked", "main"), ("shared", "work"), ("split", "work")];

/// Both programs, which report their locks to the checkers. One has the static library, the other
/// the shared one.
fn programs(arguments: &[&str]) -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (counter, faults) = (folder.path().join("counter"), folder.path().join("faults"));
    let arguments = [arguments, &["-DMORECORES_LOCKS_CHECK"]].concat();
    build(&crate_file("examples/counter.c"), &arguments, &counter);
    build_shared(&crate_file("tests/c/faults.c"), &arguments, &faults);
    (folder, counter, faults)
}

fn assert_clean(output: &Output) {
    assert!(output.status.success(), "{}\n{}", output.status, all_output(output));
}

fn assert_found(output: &Output, status: i32, function: &str) {
    let text = all_output(output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(text.contains(&format!("{function} ")) && text.contains("faults.c:"), "{text}");
}

/// Checks both programs with a tool of valgrind, which prints `race` for a finding.
fn check_with_valgrind(name: &str, tool: &str, race: &str) {
    if skips_group(name, TestGroup::CLibrary) {
        return;
    }
    if !is_installed("valgrind") {
        return report_skip(name, &TestGroup::CLibrary.missing_program("valgrind"));
    }
    let header = "#include <valgrind/drd.h>\n";
    if !can_compile(header) {
        return report_skip(name, "there is no valgrind/drd.h; it comes with valgrind");
    }
    let (_folder, counter, faults) = programs(&[]);
    let check = |program: &Path, arguments: &[&str]| {
        let mut valgrind = Command::new("valgrind");
        valgrind.arg(format!("--tool={tool}")).arg(format!("--error-exitcode={FINDING_STATUS}"));
        valgrind.arg(format!("--suppressions={}", crate_file("valgrind/morecores_locks.supp").display()));
        run(valgrind.arg(program).args(arguments))
    };
    assert_clean(&check(&counter, &["4", "500"]));
    assert_clean(&check(&faults, &["none"]));
    for (fault, function) in FAULTS {
        let output = check(&faults, &[fault]);
        assert_found(&output, FINDING_STATUS, function);
        assert!(all_output(&output).contains(race), "{fault}: {}", all_output(&output));
    }
}

#[test]
fn helgrind_finds_the_faults_and_no_others() {
    check_with_valgrind("helgrind_finds_the_faults_and_no_others", "helgrind", "Possible data race");
}

#[test]
fn drd_finds_the_faults_and_no_others() {
    check_with_valgrind("drd_finds_the_faults_and_no_others", "drd", "Conflicting ");
}

#[test]
fn the_thread_sanitizer_finds_the_faults_and_no_others() {
    let name = "the_thread_sanitizer_finds_the_faults_and_no_others";
    let folder = tempfile::tempdir().expect("a folder");
    let (source, probe) = (folder.path().join("probe.c"), folder.path().join("probe"));
    std::fs::write(&source, "#include <sanitizer/tsan_interface.h>\nint main(void) { return 0; }\n")
        .expect("a file");
    let build = run(compiler("cc", "c11").arg("-fsanitize=thread").arg(&source).arg("-o").arg(&probe));
    if !build.status.success() {
        return report_skip(name, "the C compiler has no -fsanitize=thread");
    }
    // ThreadSanitizer needs address ranges that some kernels' random layouts occupy.
    if !run(&mut Command::new(&probe)).status.success() {
        return report_skip(name, "a program with -fsanitize=thread does not start here");
    }
    let (_folder, counter, faults) = programs(&["-fsanitize=thread"]);
    assert_clean(&run(Command::new(&counter).args(["4", "5000"])));
    assert_clean(&run(Command::new(&faults).arg("none")));
    for (fault, function) in FAULTS {
        let output = run(Command::new(&faults).arg(fault));
        // 66 is the exit status of ThreadSanitizer after a finding.
        assert_found(&output, 66, function);
        assert!(all_output(&output).contains("data race"), "{fault}: {}", all_output(&output));
    }
}

#[test]
fn the_memory_of_a_lock_may_go_with_its_last_owner() {
    let name = "the_memory_of_a_lock_may_go_with_its_last_owner";
    if skips_group(name, TestGroup::CLibrary) {
        return;
    }
    if !is_installed("valgrind") {
        return report_skip(name, &TestGroup::CLibrary.missing_program("valgrind"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("last");
    build(&crate_file("tests/c/last.c"), &["-Wl,--wrap=syscall"], &program);
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=memcheck").arg(format!("--error-exitcode={FINDING_STATUS}"));
    assert_clean(&run(valgrind.arg(program)));
}

fn can_compile(source: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("probe.c");
    std::fs::write(&path, source).expect("a file");
    run(compiler("cc", "c11").arg("-fsyntax-only").arg(path)).status.success()
}
