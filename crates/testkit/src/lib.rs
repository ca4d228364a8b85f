//! Helpers for the tests of several crates: notes of skipped tests, waiting, programs, a server of
//! debug files, and plain values of the record.
//!
//! Only tests use this crate: no crate may depend on it outside `[dev-dependencies]`.

mod debuginfod;
mod group;
mod locks;
mod program;
mod study;
mod wait;

use std::fs::OpenOptions;
use std::io::Write;

pub use debuginfod::{DebuginfodResponse, DebuginfodServer, debuginfod_client};
pub use group::{TestGroup, skips_group};
pub use locks::{lock_header, lock_plan, lock_time};
pub use program::{CProgram, with_default_signals, write_script};
pub use study::{header, plan, point, run};
pub use wait::wait_until;

/// Notes that the test `name` could not run on this machine, with the reason. `tools/test.sh`
/// counts and prints these lines. The test must return afterwards, and may note at most one line.
///
/// # Panics
/// Panics if the file named by `MORECORES_SKIPPED` cannot be written: a test must not pass
/// silently.
#[allow(clippy::print_stdout)]
pub fn report_skip(name: &str, reason: &str) {
    let line = format!("skipped: {name}: {reason}");
    match std::env::var_os("MORECORES_SKIPPED") {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            // A single write keeps the lines of concurrent tests apart.
            file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
                .expect("MORECORES_SKIPPED");
        }
        None => println!("{line}"),
    }
}
