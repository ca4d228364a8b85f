//! The example with every way of linking: the static library, the shared one, and an installed tree
//! through pkg-config.

use std::fs;
use std::path::Path;
use std::process::Command;

use morecores_testkit::{TestGroup, report_skip, skips_group};

use crate::build::{build, compiler, crate_file, is_installed, libraries, run, succeed};

/// Arguments with few enough rounds for any machine, and enough for threads to meet.
const ARGUMENTS: [&str; 2] = ["4", "20000"];
const EXPECTED_LINE: &str =
    "counter 80000 of 80000, met another 0 times; written 20000 of 20000, seen unequal 0 times\n";

#[test]
fn the_example_is_right_with_the_static_library() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("counter");
    build(&crate_file("examples/counter.c"), &[], &program);
    assert_eq!(succeed(Command::new(&program).args(ARGUMENTS)), EXPECTED_LINE);
    // With one thread and an odd number of rounds the program still computes its expected figures
    // correctly.
    succeed(Command::new(&program).args(["1", "1001"]));
    for wrong in [&["0"][..], &["65"], &["x"], &["1", "1", "1"]] {
        assert_eq!(run(Command::new(&program).args(wrong)).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_example_notices_when_locks_do_nothing() {
    // This source with calls that do nothing shows that the checks of the example can fail.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("counter");
    let source = fs::read_to_string(crate_file("examples/counter.c")).expect("the example");
    let include = "#include \"morecores_locks.h\"\n";
    assert!(source.contains(include));
    let mut without = include.to_owned();
    for call in
        ["lock_lock", "lock_unlock", "rwlock_rdlock", "rwlock_rdunlock", "rwlock_wrlock", "rwlock_wrunlock"]
    {
        without += &format!("#define morecores_{call}(lock) (void)(lock)\n");
    }
    for call in ["lock_trylock", "rwlock_tryrdlock", "rwlock_trywrlock"] {
        without += &format!("#define morecores_{call}(lock) ((lock) == NULL)\n");
    }
    let source = source.replace(include, &without);
    let path = folder.path().join("counter.c");
    fs::write(&path, source).expect("a file");
    build(&path, &["-O0"], &program);
    // Two threads on one CPU may never meet in one run.
    let failed = (0..200).any(|_| !run(Command::new(&program).args(["4", "400000"])).status.success());
    assert!(failed, "200 runs without exclusion, and nothing was noticed");
}

#[test]
fn cancellation_waits_until_the_thread_has_its_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("cancel");
    build(&crate_file("tests/c/cancel.c"), &[], &program);
    succeed(&mut Command::new(program));
}

#[test]
fn a_lock_starts_no_thread_and_preparing_starts_them_once_with_all_signals_blocked() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("threads");
    build(&crate_file("tests/c/threads.c"), &["-Wl,--wrap=pthread_create"], &program);
    succeed(&mut Command::new(program));
}

/// Installs the tree of `make install`, with the libraries of this test's build.
fn install(root: &Path, prefix: &str) {
    let script = crate_file("../../tools/install-locks.sh");
    succeed(Command::new(script).arg(libraries()).arg(prefix).env("DESTDIR", root));
}

#[test]
fn the_example_is_right_with_an_installed_library() {
    let name = "the_example_is_right_with_an_installed_library";
    if skips_group(name, TestGroup::CLibrary) {
        return;
    }
    if !is_installed("pkg-config") {
        return report_skip(name, &TestGroup::CLibrary.missing_program("pkg-config"));
    }
    let root = tempfile::tempdir().expect("a folder");
    install(root.path(), "/opt/locks");
    let lib = root.path().join("opt/locks/lib");
    let pkg_config = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(arguments).arg("morecores-locks").env_remove("PKG_CONFIG_PATH");
        command.env("PKG_CONFIG_LIBDIR", lib.join("pkgconfig")).env("PKG_CONFIG_SYSROOT_DIR", root.path());
        let words = succeed(&mut command);
        words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    for (variable, folder) in
        [("--variable=libdir", "/opt/locks/lib"), ("--variable=includedir", "/opt/locks/include")]
    {
        assert!(pkg_config(&[variable]).concat().ends_with(folder), "{variable}");
    }

    // The build is that of a user: only the source on the command line comes from this repository.
    let build = |arguments: &[String], libraries: &[String], program: &Path| {
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]).args(arguments);
        cc.arg(crate_file("examples/counter.c")).arg("-o").arg(program).args(libraries).arg("-pthread");
        succeed(&mut cc);
    };
    let shared = root.path().join("shared");
    build(&pkg_config(&["--cflags"]), &pkg_config(&["--libs"]), &shared);
    assert_eq!(succeed(Command::new(&shared).args(ARGUMENTS).env("LD_LIBRARY_PATH", &lib)), EXPECTED_LINE);
    // The program runs with the shared library, by the name with the ABI number. It therefore still
    // runs without the link that linking needs.
    fs::remove_file(lib.join("libmorecores_locks.so")).expect("the link");
    succeed(Command::new(&shared).args(ARGUMENTS).env("LD_LIBRARY_PATH", &lib));
    assert!(!run(Command::new(&shared).env_remove("LD_LIBRARY_PATH")).status.success());

    // Now the linker finds only the static library.
    let alone = root.path().join("alone");
    build(&pkg_config(&["--cflags"]), &pkg_config(&["--static", "--libs"]), &alone);
    fs::remove_file(lib.join("libmorecores_locks.so.0")).expect("the library");
    assert_eq!(succeed(Command::new(&alone).args(ARGUMENTS)), EXPECTED_LINE);
}

#[test]
fn unbuilt_files_are_not_installed() {
    let root = tempfile::tempdir().expect("a folder");
    let mut script = Command::new(crate_file("../../tools/install-locks.sh"));
    let output = run(script.arg(root.path()).arg("/opt/locks").env("DESTDIR", root.path()));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(root.path()).expect("the folder").count(), 0, "it left something");
}

#[test]
fn clang_compiles_the_example_like_gcc() {
    if !is_installed("clang") {
        return report_skip("clang_compiles_the_example_like_gcc", "there is no clang");
    }
    for source in ["examples/counter.c", "tests/c/faults.c"] {
        succeed(compiler("clang", "c11").arg("-fsyntax-only").arg(crate_file(source)));
    }
}
