//! Extrapolation from a few CPUs to many: the forecast of each model for CPU counts that were not
//! measured, and the joint prediction. `band` alone decides the width of its band.
//!
//! A back-test judges each model: the model predicts the largest measured count from the smaller
//! counts alone. An [`Abstention`] replaces a prediction that no data can support. This module
//! computes from [`Evidence`] alone; the report crate writes the text.

mod abstention;
mod band;
mod caveats;
mod compared_program;
mod ensemble;
mod evidence;
mod fixed_time;
mod limits;
mod locked_program;
mod model_set;
mod quantiles;
mod sharing;
mod traced_program;
mod what_if;

use morecores_view::{Abstention, LimitBasis, ModelName, PredictedPoint, Prediction};

use crate::models::{Usl, gustafson_speedup, karp_flatt_trend};
use band::{JointForecast, ModelForecast, PointLimits, wide_band};
use limits::{LowerLimits, ProgramLimits, SerialPhases};
use model_set::ModelSet;

pub use evidence::{Evidence, MeasuredPoint, MemoryBudget};
pub use traced_program::TracedProgram;
pub use what_if::{WhatIfChange, WhatIfError, what_if};

/// Largest speedup that formulas alone may predict. Beyond it, a trace must support the prediction.
/// This value is a choice.
const MAX_FIT_SPEEDUP: f64 = 100.0;

/// Predicts the elapsed time at each of `targets` from `evidence`. `None` without a measured count.
pub fn forecast(evidence: &Evidence, targets: &[u32]) -> Option<Prediction> {
    let base = *evidence.points.first()?;
    let largest = *evidence.points.last()?;
    let mut targets: Vec<u32> = targets.iter().copied().filter(|cpus| *cpus > largest.cpus).collect();
    targets.sort_unstable();
    targets.dedup();
    let models = ModelSet::fit(evidence)?;
    let abstention = abstention::abstention(evidence, &models, &targets);
    let mut limits = ProgramLimits::default();
    let serial_phases = SerialPhases::new(evidence);
    let best_efficiency = evidence
        .points
        .iter()
        .map(|point| base.elapsed * f64::from(base.cpus) / point.elapsed / f64::from(point.cpus))
        .fold(1.0, f64::max);
    let mut points = Vec::new();
    let mut predicted = Vec::new();
    let (mut last, mut forced, mut fit_alone) = (Vec::new(), 0.0_f64, Vec::new());
    for &cpus in &targets {
        let forecasts = models.forecasts(cpus);
        let Some(mut joint) = JointForecast::combine(&forecasts) else { continue };
        if abstention.is_some() {
            joint.widen();
        }
        let lower_limits = limits.at(&models, cpus);
        let least = match (lower_limits, &serial_phases) {
            (Some(limits), _) => Some(limits.least_elapsed(cpus)),
            (None, Some(phases)) if models.program(cpus).is_none() => Some(phases.least_elapsed(cpus)),
            _ => None,
        };
        if let Some(least) = least {
            joint.raise_to(least);
        }
        if let Some(Abstention::FixedTime { elapsed_s }) = abstention {
            joint.extend_to(elapsed_s * (1.0 + fixed_time::TOLERANCE));
        }
        let exceeds_fit = lower_limits.is_none() && base.elapsed / joint.elapsed() > MAX_FIT_SPEEDUP;
        if exceeds_fit {
            fit_alone.push(cpus);
        }
        predicted.push((cpus, joint.elapsed(), joint.ends()[0]));
        let point_limits = PointLimits { base, best_efficiency, wide: wide_band(largest.cpus, cpus) };
        let is_withheld = abstention.is_some() || exceeds_fit;
        points.push(joint.predicted_point(cpus, point_limits, evidence.is_time, is_withheld));
        forced = forecasts.iter().map(|forecast| forecast.forced_waits).fold(forced, f64::max);
        last = forecasts;
    }
    let lower_limits = limits.into_last().and_then(|limits| limits.within_points(&points));
    let peak_cpus = peak_cpus(&models, evidence, &points, &predicted);
    let model = points.last().map_or_else(|| models.best_form(), |point| point.model);
    let weights = replay_and_form_weights(&last);
    let mut model_views = models.model_views();
    for view in &mut model_views {
        view.weight *= if view.model == ModelName::Replay { weights.0 } else { weights.1 };
    }
    model_views.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    Some(Prediction {
        model,
        from: evidence.points.iter().map(|point| point.cpus).collect(),
        first_limit: limits::memory_size_limit(evidence, &targets).or_else(|| {
            let limit = limits::first_limit(&models, lower_limits.as_ref(), &points, peak_cpus);
            // A fit that supports no point supports no limit.
            limit.filter(|limit| abstention.is_none() || limit.basis != LimitBasis::Fit)
        }),
        peak_cpus,
        bounds: lower_limits.as_ref().map(LowerLimits::view),
        models: model_views,
        karp_flatt: karp_flatt_trend(&models.form_points, models.noise)
            .map_or(Vec::new(), |(fractions, _)| fractions),
        scaled_speedup: Usl::amdahl(&models.form_points)
            .filter(|_| evidence.points.len() > 1)
            .map_or(Vec::new(), |law| {
                targets.iter().map(|n| (*n, gustafson_speedup(law.alpha.min(1.0), *n))).collect()
            }),
        caveats: caveats::caveats(
            &models,
            &targets,
            &caveats::Outcome { points: &points, forced, fit_alone, is_withheld: abstention.is_some() },
        ),
        abstained: abstention,
        points,
    })
}

/// Weights of the replay and of the closed forms, each as a share of the total weight.
fn replay_and_form_weights(forecasts: &[ModelForecast]) -> (f64, f64) {
    let all: f64 = forecasts.iter().map(ModelForecast::weight).sum();
    let share = |replay: bool| {
        let same_kind = forecasts.iter().filter(|o| (o.model == ModelName::Replay) == replay);
        if all > 0.0 { same_kind.map(ModelForecast::weight).sum::<f64>() / all } else { 0.0 }
    };
    if forecasts.is_empty() { (0.0, 1.0) } else { (share(true), share(false)) }
}

/// CPU count at which the speedup peaks.
///
/// `predicted` holds the predicted counts: CPUs, elapsed time and the lower end of its band. The
/// peak is the fastest measured or predicted count, if a larger count is slower beyond the noise
/// and the band. Otherwise the peak comes from the closed form with the largest weight, if a closed
/// form is the model of the last point.
fn peak_cpus(
    models: &ModelSet<'_>,
    evidence: &Evidence,
    points: &[PredictedPoint],
    predicted: &[(u32, f64, f64)],
) -> Option<f64> {
    let slower = 1.0 + 2.0 * models.noise;
    let measured = evidence.points.iter().map(|point| (point.cpus, point.elapsed, point.elapsed));
    let all: Vec<(u32, f64, f64)> = measured.chain(predicted.iter().copied()).collect();
    let (best, least, _) =
        all.iter().copied().reduce(|best, next| if next.1 < best.1 { next } else { best })?;
    if all.iter().any(|(cpus, _, low)| *cpus > best && *low > least * slower) {
        return Some(f64::from(best));
    }
    let by_form = points.last().is_none_or(|point| point.model != ModelName::Replay);
    // A fit may put its peak where the times still fall.
    let is_plausible = |peak: &f64| {
        let next = all.iter().map(|(cpus, ..)| *cpus).find(|cpus| f64::from(*cpus) >= *peak);
        next.is_none_or(|next| best <= next)
    };
    models.form_peak().filter(|peak| by_form && is_plausible(peak))
}

#[cfg(test)]
mod tests;
