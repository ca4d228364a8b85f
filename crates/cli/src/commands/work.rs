//! `morecores work`: replaces this process with `morecores-work`, the small program with the
//! built-in ones.
//!
//! The workloads are a separate program, because a benchmark must not carry its own measuring
//! instrument.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use morecores_study::benchmark::WORK;

use crate::args::WorkArgs;

pub(crate) fn work(args: &WorkArgs) -> Result<u8> {
    let program = program();
    // `exec` returns only if the program cannot be started.
    let error = Command::new(&program).args(&args.arguments).exec();
    Err(anyhow!(error)).with_context(|| {
        format!("cannot start {}: it is built and installed together with morecores", program.display())
    })
}

/// Path of the program with the workloads and the laboratory of locks.
pub(super) fn program() -> PathBuf {
    beside_us().unwrap_or_else(|| PathBuf::from(WORK))
}

/// Path of the program in the directory of this one; none if it is absent there, and PATH is
/// searched.
fn beside_us() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.with_file_name(WORK);
    program.exists().then_some(program)
}
