//! Rules that advise against predicting, each with its bound.

use morecores_view::Abstention;

use super::evidence::{Evidence, measured_program};
use super::fixed_time::fixed_time;
use super::limits::DISK;
use super::model_set::ModelSet;
use crate::models::Usl;

/// Bound on the unexplained share of the CPUs' time. Beyond it, the time that the replay leaves out
/// is as large as the effect to predict.
const MAX_UNEXPLAINED: f64 = 0.15;
/// Bound on the utilisation of a device at the largest count. The added CPUs would wait for a
/// busier device, and the data do not show its behaviour under that load.
const MAX_UTILISATION: f64 = 0.70;
/// Bound on the share of the CPUs' time spent spinning in a run with more threads than CPUs.
const MAX_SPINNING: f64 = 0.05;
/// Bound on the CPU time spent outside the allotted CPUs, over the time of the allotted CPUs.
/// Beyond it, the measured count is not the stated one.
const MAX_OUTSIDE: f64 = 0.05;
/// Bound on the serial fraction fitted to two points.
const MAX_SERIAL_FRACTION: f64 = 0.5;

/// First rule that advises against a prediction.
pub(super) fn abstention(evidence: &Evidence, models: &ModelSet<'_>, targets: &[u32]) -> Option<Abstention> {
    if evidence.mixed_from.is_some() {
        return Some(Abstention::MixedKinds);
    }
    if evidence.outside_share > MAX_OUTSIDE {
        return Some(Abstention::NotHeld { share: evidence.outside_share });
    }
    if let Some(threads) = evidence.machine_sized {
        return Some(Abstention::MachineSized { threads });
    }
    if let Some(elapsed_s) = fixed_time(evidence) {
        return Some(Abstention::FixedTime { elapsed_s });
    }
    if is_contradictory(evidence) {
        return Some(Abstention::Contradictory);
    }
    let largest = evidence.points.last()?;
    for program in evidence.programs.iter().filter(|program| program.cpus == largest.cpus) {
        if program.unexplained_share > MAX_UNEXPLAINED {
            return Some(Abstention::Unexplained { share: program.unexplained_share });
        }
        if program.n > program.cpus && program.spinning_share > MAX_SPINNING {
            return Some(Abstention::Spinning { share: program.spinning_share });
        }
    }
    let own_device = measured_program(evidence, largest.cpus).into_iter().flat_map(|program| {
        let services = program.demands.program.bounds().services;
        services.into_iter().map(|time| (DISK.to_owned(), time.as_secs_f64() / program.elapsed.as_secs_f64()))
    });
    let busiest = evidence.busy_devices.iter().cloned().chain(own_device).max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((device, share)) = busiest.filter(|(_, share)| *share > MAX_UTILISATION) {
        return Some(Abstention::Saturated { device, share });
    }
    let replayed = targets.iter().any(|cpus| models.program(*cpus).is_some());
    if evidence.points.len() == 2 && !replayed {
        let serial_fraction = Usl::amdahl(&models.form_points).map_or(0.0, |found| found.alpha);
        // The serial fraction is relative to one CPU: Amdahl's law fits it from any two counts.
        if serial_fraction > MAX_SERIAL_FRACTION {
            return Some(Abstention::SteepFromTwoPoints { serial_fraction });
        }
    }
    None
}

/// Whether the times contradict scaling: slower from one count to the next and then faster again,
/// each beyond the noise.
fn is_contradictory(evidence: &Evidence) -> bool {
    let steps: Vec<f64> = evidence
        .points
        .windows(2)
        .map(|pair| {
            let change = (pair[1].elapsed / pair[0].elapsed).ln();
            let noise = 3.0 * pair[0].error.hypot(pair[1].error).max(0.01);
            if change.abs() <= noise { 0.0 } else { change }
        })
        .filter(|change| *change != 0.0)
        .collect();
    steps.windows(2).any(|pair| pair[0] > 0.0 && pair[1] < 0.0)
}
