//! External programs that a workload runs: the check that they are installed, and their error
//! messages.
//!
//! A failure is one line, however much the program printed. Programs run under a
//! [`CleanupProcess`], so that none outlives the workload.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{Access, access};

use crate::cleanup::CleanupProcess;
use crate::{WorkloadError, shortage};

/// Name of a program, and Debian's package that holds it.
pub(crate) type RequiredProgram = (&'static str, &'static str);

/// Fails if one of the programs is not installed.
pub(crate) fn require(programs: &[RequiredProgram]) -> Result<(), WorkloadError> {
    let path = env::var_os("PATH").unwrap_or_default();
    match programs.iter().find(|(name, _)| find_program(name, &path).is_none()) {
        Some(&(program, package)) => {
            Err(WorkloadError::NotInstalled { program: program.to_owned(), package })
        }
        None => Ok(()),
    }
}

/// Path of a program of this project: beside this one, or on the PATH.
pub(crate) fn find_own(name: &str) -> Result<PathBuf, WorkloadError> {
    let sibling = env::current_exe().ok().map(|exe| exe.with_file_name(name)).filter(|file| file.is_file());
    let path = env::var_os("PATH").unwrap_or_default();
    sibling.or_else(|| find_program(name, &path)).ok_or_else(|| {
        WorkloadError::CannotRun(format!(
            "{name} is neither beside morecores-work nor on the PATH: install it"
        ))
    })
}

/// Path of a program, searched in the directories of `path`.
fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let is_executable = |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
    env::split_paths(path).map(|directory| directory.join(name)).find(is_executable)
}

/// Runs a program to its end in `directory`, without input, and returns its output. `name` stands
/// for the program in messages.
pub(crate) fn run(
    cleanup: &CleanupProcess,
    name: &str,
    directory: &Path,
    command: &mut Command,
) -> Result<Vec<u8>, WorkloadError> {
    let program_failed = |reason| WorkloadError::ProgramFailed { program: name.to_owned(), reason };
    command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = cleanup.output(command).map_err(|error| program_failed(error.to_string()))?;
    if output.status.success() { Ok(output.stdout) } else { Err(program_failed(failure_reason(&output))) }
}

/// Reason of a program's failure. The first choice is a line that reports a shortage, then the
/// first line with an error, then the first line, then the exit status. Lines of make about a
/// failed program below it say less, and count only if no other program printed anything.
fn failure_reason(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The kernel frames its messages with asterisks.
    let lines =
        || stderr.lines().map(|line| line.trim_matches(['*', ' ', '\t'])).filter(|line| !line.is_empty());
    let lines_of_others = || lines().filter(|line| !line.starts_with("make"));
    let line = shortage::find_line(lines())
        .or_else(|| lines_of_others().find(|line| line.contains("error")))
        .or_else(|| lines_of_others().next())
        .or_else(|| lines().next());
    line.map_or_else(|| output.status.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        assert!(require(&[("sh", "dash"), ("cat", "coreutils")]).is_ok());
        let error = require(&[("sh", "dash"), ("no-such-program", "such-package")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no-such-program is not installed; install it with: apt-get install such-package"
        );
        assert_eq!(find_program("cat", OsStr::new("/no/such/directory")), None);
    }

    #[test]
    fn a_failure_is_one_line_with_the_reason() {
        let cleanup = CleanupProcess::new().unwrap();
        let sh = |script: &str| run(&cleanup, "it", Path::new("/"), Command::new("sh").args(["-c", script]));
        assert_eq!(sh("pwd").unwrap(), b"/\n");
        let cases = [
            (
                "echo In function >&2; echo x.c:1: error: no >&2; echo make: Error 1 >&2; exit 1",
                "x.c:1: error: no",
            ),
            ("echo '***' >&2; echo '*** not clean' >&2; echo 'make: *** Error 1' >&2; exit 1", "not clean"),
            ("echo make: no rule >&2; exit 2", "make: no rule"),
            ("exit 3", "exit status: 3"),
        ];
        for (script, reason) in cases {
            assert_eq!(sh(script).unwrap_err().to_string(), format!("it failed: {reason}"));
        }
    }
}
