//! `morecores tune-spin`: spin time of the lock `adaptive` on this machine, and its derivation.

use anyhow::Result;

use crate::args::TuneSpinArgs;
use crate::{exit, terminal};

pub(crate) fn tune_spin(args: &TuneSpinArgs) -> Result<u8> {
    let tuning = morecores_lock_lab::measure_spin_tuning();
    terminal::print(&if args.json {
        serde_json::to_string_pretty(&tuning)? + "\n"
    } else {
        morecores_report::spin_tuning_report(&tuning, &terminal::style(false))
    })?;
    Ok(exit::SUCCESS)
}
