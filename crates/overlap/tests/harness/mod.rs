//! Parts that the tests of the program share: its path, and the check that this machine lets it
//! run.

use std::process::Command;

use morecores_testkit::report_skip;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_morecores-overlap");

/// Notes a test as skipped where the kernel or the container forbids the filter or ptrace.
pub(crate) fn skips(test: &str) -> bool {
    let output = Command::new(PROGRAM).args(["--quiet", "--", "true"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let refusals = ["cannot watch the build", "cannot trace the build", "already watches the calls"];
    let is_forbidden = refusals.iter().any(|refusal| text.contains(refusal));
    if is_forbidden {
        report_skip(test, text.trim_end());
    }
    is_forbidden
}
