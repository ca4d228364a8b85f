//! `morecores`: every command but those that are programs of their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    morecores::morecores()
}
