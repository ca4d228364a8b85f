//! What the tests of several crates share: how a test says that it could not run here, how it waits, and plain values of
//! the record.
//!
//! For tests alone: no crate may depend on it outside `[dev-dependencies]`.

mod group;
mod locks;
mod program;
mod script;
mod study;
mod wait;

use std::fs::OpenOptions;
use std::io::Write;

pub use group::{Group, left_out};
pub use locks::{lock_header, lock_plan, lock_time};
pub use program::CProgram;
pub use script::write_script;
pub use study::{header, plan, point, run};
pub use wait::wait_until;

/// Notes that the test `name` could not run here, and why, for `tools/test.sh`, which counts and prints such lines.
/// The test is to return afterwards, and to note at most one line.
///
/// # Panics
/// Where the file that `MORECORES_SKIPPED` names cannot be written: a test must not pass silently.
#[allow(clippy::print_stdout)]
pub fn skipped(name: &str, reason: &str) {
    let line = format!("skipped: {name}: {reason}");
    match std::env::var_os("MORECORES_SKIPPED") {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            // One write, so that lines of tests that run at once are not mixed.
            file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
                .expect("MORECORES_SKIPPED");
        }
        None => println!("{line}"),
    }
}
