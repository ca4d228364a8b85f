//! Lower limits on elapsed time in seconds, from the draws of an ensemble. This module compares
//! them with no measurement.

use std::iter;

use morecores_study::Nanos;

use super::Ensemble;
use crate::forecast::band::limit_error_factor;
use crate::forecast::locked_program::share_error;
use crate::forecast::quantiles::Quantiles;
use crate::replay::Bounds;

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
    /// Lower limits of the program, by the draws. Each is at the pace of the timed runs: the traced
    /// time includes the tracer's cost. All cost of oversubscription may disappear, so a
    /// limit never includes it.
    pub(in crate::forecast) fn lower_limits(&self) -> Option<DrawnLimits> {
        let compared = self.compared;
        let untraced = compared.program.net_elapsed_s * compared.untraced_elapsed_ratio;
        let Bounds { work, span, holds, services } = self.program_with_locks.bounds();
        let scaled = |time: Nanos, input_error: f64| {
            let at_pace = |traced: &f64| time.as_secs_f64() * untraced / traced.max(f64::MIN_POSITIVE);
            let factor = limit_error_factor(self.measured.error, compared.program.lost_share, input_error);
            let draws = self.traced_elapsed().iter().map(at_pace).collect();
            Some(Quantiles::from_draws(draws)?.widen(factor))
        };
        let hold_errors = self.locks.iter().map(share_error).chain(iter::repeat(0.0));
        Some(DrawnLimits {
            work: scaled(work, 0.0)?,
            span: scaled(span, 0.0)?,
            holds: holds
                .into_iter()
                .zip(hold_errors)
                .map(|(hold, error)| scaled(hold, error))
                .collect::<Option<_>>()?,
            services: services.into_iter().map(|service| scaled(service, 0.0)).collect::<Option<_>>()?,
        })
    }
}
