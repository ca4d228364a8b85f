//! Lower limits on elapsed time in seconds, from the draws of an ensemble. This module compares
//! them with no measurement.

use morecores_study::Nanos;
use rayon::prelude::*;

use super::Ensemble;
use crate::forecast::band::draws::DRAWS;
use crate::forecast::quantiles::Quantiles;
use crate::replay::{Bounds, replay};

/// Lower limits on the elapsed time of a program in seconds, on any number of CPUs.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::forecast) struct DrawnLimits {
    /// Total CPU time, to be divided by the number of CPUs.
    pub(in crate::forecast) work: Quantiles,
    /// Longest chain of dependent steps.
    pub(in crate::forecast) span: Quantiles,
    /// Time under each lock, in the order of the program's locks.
    pub(in crate::forecast) holds: Vec<Quantiles>,
    /// Service time of each device.
    pub(in crate::forecast) services: Vec<Quantiles>,
}

impl Ensemble<'_> {
    /// Lower limits of the program, one for each draw. Each is at the pace of the timed runs: the
    /// traced time includes the tracer's cost. All cost of oversubscription may disappear, so a
    /// limit never includes it.
    pub(in crate::forecast) fn lower_limits(&self) -> Option<DrawnLimits> {
        let compared = self.compared;
        let untraced = compared.program.net_elapsed_s * compared.untraced_elapsed_ratio;
        let ranges = self.draw_ranges(compared.program.cpus);
        let limits = |number: u64| {
            let draw = ranges.draw(number);
            let traced =
                replay(&self.program_with_locks, &draw.machine(compared.program, compared.program.cpus));
            let scale = untraced / traced.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            (self.program_with_locks.bounds_at_pace(&draw.pace), scale)
        };
        let drawn: Vec<(Bounds, f64)> = (0..DRAWS).into_par_iter().map(limits).collect();
        let quantiles = |time: &dyn Fn(&Bounds) -> Nanos| {
            Quantiles::from_draws(
                drawn.iter().map(|(bounds, scale)| time(bounds).as_secs_f64() * scale).collect(),
            )
        };
        let all = |length: usize, list: &dyn Fn(&Bounds) -> &Vec<Nanos>| {
            (0..length).map(|index| quantiles(&|bounds| list(bounds)[index])).collect::<Option<Vec<_>>>()
        };
        let first = &drawn.first()?.0;
        Some(DrawnLimits {
            work: quantiles(&|bounds| bounds.work)?,
            span: quantiles(&|bounds| bounds.span)?,
            holds: all(first.holds.len(), &|bounds| &bounds.holds)?,
            services: all(first.services.len(), &|bounds| &bounds.services)?,
        })
    }
}
