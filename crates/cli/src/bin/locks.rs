//! `morecores-locks`: the study of locks, which `morecores locks` starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    morecores::locks()
}
