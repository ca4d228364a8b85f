//! `morecores doctor`: the machine's measuring abilities, its noise and its memory, and advice on
//! improving them; with `--report`, a file about all of this for a bug report.

mod redaction;
mod report;

use std::time::Duration;

use anyhow::Result;
use morecores_machine::{Diagnosis, doctor, noise};
use morecores_report::Style;
use morecores_view::machine_memory::{MachineMemory, machine_memory};
use morecores_view::machine_noise::{MachineNoise, machine_noise};

use super::memory_speed;
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
        (Some(place), Ok(examined)) => {
            place.write(&report::text(&examined.diagnosis.host, &examined.report(&REPORT_STYLE)))?;
        }
        (Some(place), Err(error)) => {
            place.discard();
            return Err(error);
        }
    }
    Ok(exit::SUCCESS)
}

/// Everything that is known about the machine.
struct Examined {
    diagnosis: Diagnosis,
    noise: Option<MachineNoise>,
    memory: Option<MachineMemory>,
}

impl Examined {
    fn report(&self, style: &Style) -> String {
        morecores_report::doctor_report(&self.diagnosis, self.noise.as_ref(), self.memory.as_ref(), style)
    }
}

fn examine(args: &DoctorArgs) -> Result<Examined> {
    let diagnosis = doctor::examine();
    if args.quick {
        return Ok(Examined { diagnosis, noise: None, memory: None });
    }
    let topology = &diagnosis.host.topology;
    // A quota limits how many CPUs work at once, so the loop uses no more than that.
    let cpus = topology.usable.cpus.iter().take(topology.usable.count).collect();
    let noise = machine_noise(&noise::measure(&cpus, NOISE_BUDGET)?);
    let memory = machine_memory(&memory_speed::measure(topology, memory_speed::DOCTOR_BUDGET)?);
    Ok(Examined { diagnosis, noise, memory: Some(memory) })
}

fn print(args: &DoctorArgs, examined: &Examined) -> Result<()> {
    if args.json {
        let Examined { diagnosis, noise, memory } = examined;
        let all = serde_json::json!({ "diagnosis": diagnosis, "noise": noise, "memory": memory });
        terminal::print_json(&all)
    } else {
        terminal::print(&examined.report(&terminal::style()))
    }
}
