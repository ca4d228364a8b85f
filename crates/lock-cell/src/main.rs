//! `morecores-lock-cell`: one measurement of one property of one lock, and its sample as a line of
//! JSON. `morecores-locks` starts it once for each cell.
//!
//! Only this file of the crate prints and exits. The exit status is 0 with a sample, 1 with a lock
//! that does not exclude, and 2 if the measurement could not be made.
//!
//! This crate must not link the instrument: the list of cells, the sweep over them and the
//! conclusions are in `morecores-lock-lab` and before it.
#![allow(clippy::print_stderr)]

mod cell;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let sample = match cell::run(&cell::Args::parse()) {
        Ok(sample) => sample,
        Err(error) => return fail(&error, error.exit_status()),
    };
    // Numbers, lists and fixed names always have a JSON form.
    let line = serde_json::to_string(&sample).unwrap_or_default() + "\n";
    match io::stdout().write_all(line.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format_args!("the sample could not be written: {error}"), 2),
    }
}

fn fail(error: &impl Display, status: u8) -> ExitCode {
    eprintln!("morecores-lock-cell: {error}");
    ExitCode::from(status)
}
