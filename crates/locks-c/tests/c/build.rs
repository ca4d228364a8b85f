//! Location of the library, and the build of C programs with it.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Folder with the libraries of this test's build: cargo puts them next to the test.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().expect("its folder").to_path_buf();
    for library in ["libmorecores_locks_c.so", "libmorecores_locks_c.a"] {
        assert!(folder.join(library).is_file(), "no {library} in {}", folder.display());
    }
    folder
}

/// Path of a file of this crate.
pub(crate) fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Whether a command exists.
pub(crate) fn is_installed(command: &str) -> bool {
    let mut probe = Command::new(command);
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// A compiler with all its warnings as errors, and the folder of the header.
pub(crate) fn compiler(command: &str, standard: &str) -> Command {
    let mut cc = Command::new(command);
    cc.arg(format!("-std={standard}"));
    cc.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1", "-pthread", "-I"])
        .arg(crate_file("include"));
    cc
}

/// Builds `source` with the static library.
pub(crate) fn build(source: &Path, arguments: &[&str], program: &Path) {
    let mut cc = compiler("cc", "c11");
    cc.args(arguments).arg(source).arg(libraries().join("libmorecores_locks_c.a")).arg("-o").arg(program);
    succeed(&mut cc);
}

/// Builds `source` with the shared library, in a folder that contains the library under its
/// run-time name.
pub(crate) fn build_shared(source: &Path, arguments: &[&str], program: &Path) {
    let library = libraries().join("libmorecores_locks_c.so");
    let folder = program.parent().expect("the folder of the program");
    symlink(&library, folder.join("libmorecores_locks.so.0")).expect("a link");
    let mut cc = compiler("cc", "c11");
    cc.args(arguments).arg(source).arg(library).arg("-o").arg(program);
    succeed(cc.arg(format!("-Wl,-rpath,{}", folder.display())));
}

/// Runs a command that must succeed, and returns its standard output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = run(command);
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, all_output(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command that may succeed or fail.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{:?}: {error}", OsStr::new(command.get_program())))
}

/// Standard output and standard error of a command.
pub(crate) fn all_output(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
