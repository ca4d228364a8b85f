//! The example in C: built as C and C++ programs are, against both libraries, run, and held before race checkers, each of which must also
//! find the race of a wrong one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use morecores_testkit::skipped;
use tempfile::TempDir;

fn crate_file(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo puts the libraries: beside the directory of this test's program.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    let directory = program.ancestors().nth(2).expect("target/debug/deps has a parent");
    assert!(directory.join("libmorecores_locks_c.a").is_file(), "{} has no library", directory.display());
    directory.to_owned()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The example, as a program in a directory of its own.
struct Example {
    directory: TempDir,
}

impl Example {
    /// Built by `compiler` with these arguments besides.
    fn built(compiler: &str, arguments: &[&str], is_static: bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let libraries = libraries();
        let mut command = Command::new(compiler);
        command
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1", "-pthread"])
            .args(arguments)
            .arg(format!("-I{}", crate_file("include")))
            .arg(crate_file("examples/counter.c"))
            .arg("-o")
            .arg(directory.path().join("counter"));
        if is_static {
            command.arg(libraries.join("libmorecores_locks_c.a")).args(["-ldl", "-lm"]);
        } else {
            command.arg(format!("-L{}", libraries.display())).arg("-lmorecores_locks_c");
            command.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        let built = command.output().expect("the compiler runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { directory }
    }

    fn run(&self, below: &[&str]) -> Output {
        let program = self.directory.path().join("counter");
        let mut words = below.iter().map(Path::new).chain([program.as_path()]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).output().expect("it runs")
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

fn runs(example: &Example) {
    let output = example.run(&[]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output), "8000 of 8000\n");
}

#[test]
fn a_c_program_loses_nothing_under_the_shared_library() {
    runs(&Example::built("cc", &["-std=c11"], false));
}

#[test]
fn nor_under_the_static_one() {
    runs(&Example::built("cc", &["-std=c11"], true));
}

#[test]
fn the_header_is_c_plus_plus_too() {
    let name = "the_header_is_c_plus_plus_too";
    let Some(compiler) = ["c++", "clang++"].into_iter().find(|compiler| has(compiler)) else {
        return skipped(name, "there is no C++ compiler");
    };
    let checked = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"])
        .arg(crate_file("include/morecores_locks.h"))
        .output()
        .expect("the compiler runs");
    // Of a header that is no program both say that it is the main file.
    assert!(checked.status.success(), "{}", text(&checked));
}

/// The right example is clean, and the one with a race is not.
fn checked_by_valgrind(name: &str, tool: &str, define: &str) {
    if !has("valgrind") {
        return skipped(name, "there is no valgrind; install it with: tools/install-deps.sh locks");
    }
    let suppressions = format!("--suppressions={}", crate_file("valgrind/morecores_locks.supp"));
    let tool = format!("--tool={tool}");
    let below = ["valgrind", &tool, &suppressions, "--error-exitcode=99", "-q"];
    let define = format!("-DMORECORES_LOCKS_CHECK={define}");
    // Client requests are no ISO C.
    let arguments = ["-std=gnu11", "-Wno-pedantic", "-Wno-unused-value", &define];
    let right = Example::built("cc", &arguments, false).run(&below);
    assert!(right.status.success(), "{}", text(&right));
    let wrong = Example::built("cc", &[&arguments[..], &["-DRACE"]].concat(), false).run(&below);
    assert_eq!(wrong.status.code(), Some(99), "{}", text(&wrong));
    assert!(text(&wrong).contains("counter.c"), "{}", text(&wrong));
}

#[test]
fn helgrind_finds_the_race_and_no_other() {
    checked_by_valgrind("helgrind_finds_the_race_and_no_other", "helgrind", "HELGRIND");
}

#[test]
fn drd_finds_the_race_and_no_other() {
    checked_by_valgrind("drd_finds_the_race_and_no_other", "drd", "DRD");
}

#[test]
fn thread_sanitizer_finds_the_race_and_no_other() {
    let name = "thread_sanitizer_finds_the_race_and_no_other";
    let Some(compiler) = ["gcc", "clang"].into_iter().find(|compiler| sanitizes(compiler)) else {
        return skipped(name, "no compiler has -fsanitize=thread here");
    };
    let arguments = ["-std=c11", "-fsanitize=thread", "-DMORECORES_LOCKS_CHECK=TSAN"];
    let right = Example::built(compiler, &arguments, false).run(&[]);
    assert!(right.status.success(), "{}", text(&right));
    let wrong = Example::built(compiler, &[&arguments[..], &["-DRACE"]].concat(), false).run(&[]);
    assert!(!wrong.status.success() && text(&wrong).contains("data race"), "{}", text(&wrong));
}

/// Whether a program of this compiler can run under ThreadSanitizer: it needs its library, and an address space that it can lay out.
fn sanitizes(compiler: &str) -> bool {
    let directory = tempfile::tempdir().expect("a directory");
    let (source, program) = (directory.path().join("empty.c"), directory.path().join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let built = Command::new(compiler).arg("-fsanitize=thread").arg(&source).arg("-o").arg(&program).output();
    built.is_ok_and(|built| built.status.success())
        && Command::new(&program).output().is_ok_and(|ran| ran.status.success())
}
