//! Extrapolation from a few CPUs to many: the forecast of each model for CPU counts that were not
//! measured, and the joint prediction. `band` alone decides the width of its band.
//!
//! A back-test judges each model: the model predicts the largest measured count from the smaller
//! counts alone. An [`Abstention`](morecores_view::Abstention) replaces a prediction that no data
//! can support. This module computes from [`Evidence`] alone; the report crate writes the text.

mod abstention;
mod band;
mod compared_program;
mod ensemble;
mod evidence;
mod limits;
mod locked_program;
mod model_set;
mod traced_program;
mod what_if;

use morecores_view::{Caveat, ModelName, PredictedPoint, Prediction};

use crate::models::{Usl, gustafson_speedup, karp_flatt_trend};
use band::{JointForecast, ModelForecast, WIDE_BAND};
use compared_program::ComparedProgram;

pub use evidence::{Evidence, MeasuredPoint, MemoryBudget};
use locked_program::LockedProgram;
use model_set::ModelSet;
pub use traced_program::TracedProgram;
pub use what_if::{WhatIfChange, WhatIfError, what_if};

/// Ratio of CPU times above which oversubscription matters: the CPU time of the oversubscribed run
/// over that of a run with one CPU per thread. Beyond this ratio, the share of the extra CPU time
/// that stays matters.
const NOTABLE_OVERSUBSCRIPTION: f64 = 1.1;

/// Ratio of forced waits to threads above which forced waits in a replay are no accident.
const MAX_FORCED: f64 = 0.05;

/// Predicts the elapsed time at each of `targets` from `evidence`. `None` without a measured count.
pub fn forecast(evidence: &Evidence, targets: &[u32]) -> Option<Prediction> {
    let base = *evidence.points.first()?;
    let largest = *evidence.points.last()?;
    let mut targets: Vec<u32> = targets.iter().copied().filter(|cpus| *cpus > largest.cpus).collect();
    targets.sort_unstable();
    targets.dedup();
    let models = ModelSet::fit(evidence)?;
    let abstention = abstention::abstention(evidence, &models, &targets);
    let mut points = Vec::new();
    let mut predicted = Vec::new();
    let (mut last, mut forced) = (Vec::new(), 0.0_f64);
    for &cpus in &targets {
        let forecasts = models.forecasts(cpus);
        let Some(mut joint) = JointForecast::combine(&forecasts) else { continue };
        if abstention.is_some() {
            joint.widen();
        }
        predicted.push((cpus, joint.elapsed(), joint.ends()[0]));
        points.push(joint.predicted_point(cpus, base, evidence.is_time, abstention.is_some()));
        forced = forecasts.iter().map(|forecast| forecast.forced_waits).fold(forced, f64::max);
        last = forecasts;
    }
    let program = models.program(targets.last().copied().unwrap_or(largest.cpus));
    let traced = program.map(|program| {
        let compared = ComparedProgram::new(evidence, program);
        let locked = LockedProgram::calibrate(program, compared.dedicated, models.inflation);
        (compared, locked.program.bounds())
    });
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
            limits::first_limit(&models, traced.as_ref().map(|(compared, bounds)| (compared.program, bounds)))
        }),
        peak_cpus: peak_cpus(&models, evidence, &points, &predicted),
        bounds: traced.as_ref().map(|(compared, bounds)| {
            limits::bounds(compared.program, bounds, compared.untraced_elapsed_ratio)
        }),
        models: model_views,
        karp_flatt: karp_flatt_trend(&models.form_points, models.noise)
            .map_or(Vec::new(), |(fractions, _)| fractions),
        scaled_speedup: Usl::amdahl(&models.form_points)
            .filter(|_| evidence.points.len() > 1)
            .map_or(Vec::new(), |law| {
                targets.iter().map(|n| (*n, gustafson_speedup(law.alpha.min(1.0), *n))).collect()
            }),
        caveats: caveats(evidence, &models, &targets, &points, forced, abstention.is_some()),
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
    models.form_peak().filter(|_| by_form)
}

fn caveats(
    evidence: &Evidence,
    models: &ModelSet<'_>,
    targets: &[u32],
    points: &[PredictedPoint],
    forced: f64,
    withheld: bool,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if evidence.programs.is_empty() {
        caveats.push(Caveat::Untraced);
    } else {
        let without: Vec<u32> =
            targets.iter().copied().filter(|cpus| models.program(*cpus).is_none()).collect();
        if !without.is_empty() {
            caveats.push(Caveat::NotOversubscribed { cpus: without });
        }
        let used: Vec<_> = targets.iter().filter_map(|cpus| models.program(*cpus)).collect();
        let lossy = used.iter().map(|program| program.lost_share).fold(0.0, f64::max);
        if lossy > 0.0 {
            caveats.push(Caveat::Lossy { share: lossy });
        }
        if used.iter().any(|program| !program.has_calls) {
            caveats.push(Caveat::NoSystemCalls);
        }
    }
    let has_one_cpu =
        evidence.points.len() > 1 && evidence.points.first().is_some_and(|point| point.cpus == 1);
    if !has_one_cpu || !evidence.is_time {
        caveats.push(Caveat::OneCount);
    }
    let costs = targets
        .iter()
        .filter_map(|cpus| models.program(*cpus))
        .map(|program| ComparedProgram::new(evidence, program).oversubscription_cost);
    let times = costs.fold(1.0, f64::max);
    if times > NOTABLE_OVERSUBSCRIPTION {
        caveats.push(Caveat::Oversubscribed { times });
    }
    if forced > MAX_FORCED {
        caveats.push(Caveat::Forced { share: forced });
    }
    // A rule that withholds the points is a reason of its own, so the width of their bands is not
    // reported.
    let wide = |point: &&PredictedPoint| !withheld && point.band90[1] / point.band90[0] > WIDE_BAND;
    let wide: Vec<u32> = points.iter().filter(wide).map(|point| point.cpus).collect();
    if !wide.is_empty() {
        caveats.push(Caveat::Wide { cpus: wide, factor: WIDE_BAND });
    }
    caveats
}

#[cfg(test)]
mod tests;
