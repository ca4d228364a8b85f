//! `morecores tune-spin`: spin time of the lock `adaptive` on this machine, and its derivation.
//!
//! `morecores-work` contains the lock and measures it; this module prints the result.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use morecores_study::lock::SpinTuning;

use super::locks::laboratory_program;
use crate::args::TuneSpinArgs;
use crate::{exit, terminal};

pub(crate) fn tune_spin(args: &TuneSpinArgs) -> Result<u8> {
    let tuning = measured()?;
    terminal::print(&if args.json {
        serde_json::to_string_pretty(&tuning)? + "\n"
    } else {
        morecores_report::spin_tuning_report(&tuning, &terminal::style(false))
    })?;
    Ok(exit::SUCCESS)
}

fn measured() -> Result<SpinTuning> {
    let program = laboratory_program();
    let named = program.display();
    let output =
        Command::new(&program).arg("tune-spin").stdin(Stdio::null()).output().with_context(|| {
            format!("cannot start {named}: it is built and installed together with morecores")
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    ensure!(output.status.success(), "{named} tune-spin failed ({}): {last}", output.status);
    serde_json::from_slice(&output.stdout).map_err(|error| {
        anyhow!("the output of {named} tune-spin is not understood ({error}); are both of one version?")
    })
}
