//! `morecores work`: hands over to `morecores-work`, the small program that holds the built-in ones.
//!
//! A program of its own, because a benchmark must not carry its own measuring instrument.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use morecores_study::benchmark::WORK;

use crate::args::WorkArgs;

pub(crate) fn work(args: &WorkArgs) -> Result<u8> {
    let program = program();
    // Returns only where it cannot be started.
    let error = Command::new(&program).args(&args.arguments).exec();
    Err(anyhow!(error)).with_context(|| {
        format!("cannot start {}: it is built and installed together with morecores", program.display())
    })
}

/// The program that holds the workloads and the laboratory of locks.
pub(super) fn program() -> PathBuf {
    beside_us().unwrap_or_else(|| PathBuf::from(WORK))
}

/// Where it is installed together with us; elsewhere PATH is searched.
fn beside_us() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.with_file_name(WORK);
    program.exists().then_some(program)
}
