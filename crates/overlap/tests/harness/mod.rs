//! Parts that the tests of the program share: its path, and the check that this machine lets it
//! run.

use std::cell::Cell;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use morecores_testkit::report_skip;

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_morecores-overlap");

/// Whether the kernel or the container forbids the filter or ptrace. The running test is then noted
/// as skipped, once. The name of its thread is the name of the test.
pub(crate) fn skips() -> bool {
    thread_local! { static IS_NOTED: Cell<bool> = const { Cell::new(false) } }
    static REFUSAL: OnceLock<Option<String>> = OnceLock::new();
    let refusal = REFUSAL.get_or_init(refusal);
    if let Some(reason) = refusal
        && !IS_NOTED.replace(true)
    {
        report_skip(thread::current().name().expect("the name of a test"), reason);
    }
    refusal.is_some()
}

/// Message with which the program says that the kernel or the container forbids what it needs.
fn refusal() -> Option<String> {
    let output = Command::new(PROGRAM).args(["--quiet", "--", "true"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
    let refusals = ["cannot watch the build", "cannot trace the build", "already watches the calls"];
    refusals.iter().any(|refusal| text.contains(refusal)).then_some(text)
}
