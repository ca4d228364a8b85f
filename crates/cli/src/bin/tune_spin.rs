//! `morecores-tune-spin`: the spin time of this machine, which `morecores tune-spin` starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    morecores::tune_spin()
}
