//! `morecores doctor`: the machine's measuring abilities, its noise, and advice on improving them.

use std::time::Duration;

use anyhow::Result;
use morecores_machine::{doctor, noise};
use morecores_view::machine_noise;

use crate::args::DoctorArgs;
use crate::{exit, terminal};

/// Time for the fixed loop: enough repetitions for a floor known to a fifth
/// (docs/methods/measure.md, "Noise of a machine").
const NOISE_BUDGET: Duration = Duration::from_secs(10);

pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8> {
    let diagnosis = doctor::examine();
    let noise = if args.quick {
        None
    } else {
        let topology = &diagnosis.host.topology;
        // A quota limits how many CPUs work at once, so the loop uses no more than that.
        let cpus = topology.usable.cpus.iter().take(topology.usable.count).collect();
        machine_noise(&noise::measure(&cpus, NOISE_BUDGET)?)
    };
    if args.json {
        let both = serde_json::json!({ "diagnosis": diagnosis, "noise": noise });
        terminal::print(&(serde_json::to_string_pretty(&both)? + "\n"))?;
    } else {
        terminal::print(&morecores_report::doctor_report(
            &diagnosis,
            noise.as_ref(),
            &terminal::style(false),
        ))?;
    }
    Ok(exit::SUCCESS)
}
