//! Lower limits on elapsed time in seconds, from the draws of an ensemble. This module compares
//! them with no measurement.

use morecores_study::Nanos;
use rayon::prelude::*;

use super::Ensemble;
use crate::forecast::band::draws::DRAWS;
use crate::forecast::band::limit_error_factor;
use crate::forecast::locked_program::share_error;
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
        let first = &drawn.first()?.0;
        let quantiles = |input_error: f64, time: &dyn Fn(&Bounds) -> Nanos| {
            let seconds = drawn.iter().map(|(bounds, scale)| time(bounds).as_secs_f64() * scale);
            let factor = limit_error_factor(self.measured.error, compared.program.lost_share, input_error);
            Some(Quantiles::from_draws(seconds.collect())?.widen(factor))
        };
        let hold =
            |index: usize| quantiles(self.locks.get(index).map_or(0.0, share_error), &|b| b.holds[index]);
        Some(DrawnLimits {
            work: quantiles(0.0, &|bounds| bounds.work)?,
            span: quantiles(0.0, &|bounds| bounds.span)?,
            holds: (0..first.holds.len()).map(hold).collect::<Option<_>>()?,
            services: (0..first.services.len())
                .map(|index| quantiles(0.0, &|bounds| bounds.services[index]))
                .collect::<Option<_>>()?,
        })
    }
}
