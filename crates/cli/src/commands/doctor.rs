//! `morecores doctor`: the machine's measuring abilities, its noise, and advice on improving them;
//! with `--report`, a file about all of this for a bug report.

mod redaction;
mod report;

use std::time::Duration;

use anyhow::Result;
use morecores_machine::{Diagnosis, doctor, noise};
use morecores_report::Style;
use morecores_view::machine_noise::{MachineNoise, machine_noise};

use crate::args::DoctorArgs;
use crate::{exit, terminal};
use report::ReportPlace;

/// Time for the fixed loop: enough repetitions for a floor known to a fifth
/// (docs/methods/measure.md, "Noise of a machine").
const NOISE_BUDGET: Duration = Duration::from_secs(10);

/// Style of the findings in a report, whatever this terminal can show.
const REPORT_STYLE: Style = Style { width: 100, colour: false, unicode: true, wide: true };

pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8> {
    // The examination takes its time, so a place that cannot be used is refused before.
    let place = args.report.as_deref().map(ReportPlace::open).transpose()?;
    let examined = examine(args);
    match (place, examined) {
        (None, examined) => print(args, &examined?)?,
        (Some(place), Ok((diagnosis, noise))) => {
            let findings = morecores_report::doctor_report(&diagnosis, noise.as_ref(), &REPORT_STYLE);
            place.write(&report::text(&diagnosis.host, &findings))?;
        }
        (Some(place), Err(error)) => {
            place.discard();
            return Err(error);
        }
    }
    Ok(exit::SUCCESS)
}

type Examined = (Diagnosis, Option<MachineNoise>);

fn examine(args: &DoctorArgs) -> Result<Examined> {
    let diagnosis = doctor::examine();
    let noise = if args.quick {
        None
    } else {
        let topology = &diagnosis.host.topology;
        // A quota limits how many CPUs work at once, so the loop uses no more than that.
        let cpus = topology.usable.cpus.iter().take(topology.usable.count).collect();
        machine_noise(&noise::measure(&cpus, NOISE_BUDGET)?)
    };
    Ok((diagnosis, noise))
}

fn print(args: &DoctorArgs, (diagnosis, noise): &Examined) -> Result<()> {
    if args.json {
        let both = serde_json::json!({ "diagnosis": diagnosis, "noise": noise });
        terminal::print_json(&both)
    } else {
        terminal::print(&morecores_report::doctor_report(diagnosis, noise.as_ref(), &terminal::style()))
    }
}
