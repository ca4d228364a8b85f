//! Limits of fits: the closed forms, and the slowdown by other busy CPUs. Measurements with other
//! errors would give another limit, so each limit comes with a band over such measurements.

use morecores_view::{LimitBasis, Resource};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Candidate;
use crate::forecast::band::draws::DRAWS;
use crate::forecast::model_set::ModelSet;
use crate::forecast::quantiles::Quantiles;
use crate::models::{Form, Model};
use crate::replay::{Inflation, Shape};

/// Inflation below which the value is noise: CPU time is known to about this precision.
const MIN_INFLATION: f64 = 0.01;

/// Number of CPUs at which a closed form is at its limit.
const LIMIT_CPUS: u32 = 4096;

/// Limit of the closed form with the largest weight. `peak` is the count at the peak of the
/// prediction; a form with a peak has no limit without it.
pub(super) fn form_limit(models: &ModelSet<'_>, peak: Option<f64>) -> Option<Candidate> {
    let average = models.average()?;
    let form = average.best().form;
    let resource = match form {
        Form::Ideal => return None,
        Form::Amdahl | Form::Ceiling => Resource::SerialWork { command: None },
        Form::KernelLock => Resource::Lock { name: "one lock".to_owned() },
        Form::Usl => peak.map(|_| Resource::Coherency)?,
    };
    // The limit of a form without a peak is the ratio of the time on one CPU to the time at the
    // limit.
    let limit = |model: &dyn Model| match form {
        Form::Usl => model.peak().unwrap_or(f64::INFINITY),
        _ => model.elapsed(1) / model.elapsed(LIMIT_CPUS),
    };
    let drawn = average.draws.iter().filter(|draw| draw.form == form).map(|draw| limit(&*draw.model));
    let cpus = Quantiles::from_draws(drawn.collect())?;
    Some(Candidate { resource, cpus, basis: LimitBasis::Fit })
}

/// Limit from the slowdown, if it continues linearly: `n / (1 + s(n-1))` stays below `1/s` for all
/// n.
pub(super) fn memory_limit(models: &ModelSet<'_>) -> Option<Candidate> {
    let points = &models.evidence.points;
    let first = points.first().filter(|point| point.cpus == 1)?.work?;
    let second = |errors: &[f64]| {
        let base_error = errors.first().copied().unwrap_or(1.0);
        let measured = points.iter().zip(errors).skip(1).filter_map(|(point, error)| {
            Some((point.work? / point.elapsed, point.work? / first * error / base_error))
        });
        Inflation::fit(Shape::Linear, &measured.collect::<Vec<_>>()).second
    };
    if second(&vec![1.0; points.len()]) <= MIN_INFLATION {
        return None;
    }
    let drawn = draw_errors(models).map(|errors| (1.0 / second(&errors)).max(1.0));
    let cpus = Quantiles::from_draws(drawn.collect())?;
    Some(Candidate { resource: Resource::Memory, cpus, basis: LimitBasis::Fit })
}

/// Factors on the measured values, one list for each draw: each value varies by its standard error.
fn draw_errors(models: &ModelSet<'_>) -> impl Iterator<Item = Vec<f64>> {
    let normal = Normal::standard();
    (0..DRAWS).map(move |number| {
        let mut rng = ChaCha8Rng::seed_from_u64(number);
        let errors = models.evidence.points.iter().map(|point| point.error);
        errors.map(|error| (error * normal.inverse_cdf(rng.random_range(0.001..0.999))).exp()).collect()
    })
}
