//! Extrapolation from a few CPUs to many: the forecast of each model for CPU counts that were not
//! measured, the uncertainty of each forecast, and the joint prediction.
//!
//! A back-test judges each model: the model predicts the largest measured count from the smaller
//! counts alone. An [`Abstention`](morecores_view::Abstention) replaces a prediction that no data
//! can support. This module computes from [`Evidence`] alone; the report crate writes the text.

mod abstention;
mod ensemble;
mod evidence;
mod limits;
mod locked_program;
mod model_set;
mod traced_program;
mod what_if;

use morecores_view::{Caveat, PredictedPoint, Prediction};

use crate::models::{Usl, gustafson_speedup, karp_flatt_trend};

pub use evidence::{Evidence, MeasuredPoint, MemoryBudget};
use model_set::{ModelForecast, ModelSet};
pub use traced_program::TracedProgram;
pub use what_if::{WhatIfChange, WhatIfError, what_if};

/// Number of standard deviations on each side of the mean that hold 90% of a normal distribution.
const Z90: f64 = 1.644_853_6;

/// Upper limit of a band, as a multiple of the ideal speedup. This limit is a choice: it leaves
/// room for the gain from larger total caches.
const MAX_SUPERLINEAR: f64 = 1.2;

/// Ratio of a band's ends above which the prediction carries no information.
const WIDE_BAND: f64 = 4.0;

/// Factor on the spread of the models when a rule advises against predicting. This factor is a
/// choice.
const DOUBT_FACTOR: f64 = 2.0;

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
            joint.spread = joint.spread.map(|spread| DOUBT_FACTOR * spread);
        }
        predicted.push((cpus, joint.elapsed_at(0.0, 0.0), joint.elapsed_at(-1.0, joint.spread[0])));
        points.push(joint.predicted_point(cpus, base, evidence.is_time, abstention.is_some()));
        forced = forecasts.iter().map(|forecast| forecast.forced_waits).fold(forced, f64::max);
        last = forecasts;
    }
    let program = models.program(targets.last().copied().unwrap_or(largest.cpus));
    let traced = program.map(|program| (program, ensemble::program_with_locks(evidence, program).bounds()));
    let traced = traced.as_ref().map(|(program, bounds)| (*program, bounds));
    let model = points.last().map_or_else(|| models.best_form().to_owned(), |point| point.model.clone());
    let weights = replay_and_form_weights(&last);
    let mut model_views = models.model_views();
    for view in &mut model_views {
        let name = &view.model;
        view.weight *= if name == model_set::REPLAY { weights.0 } else { weights.1 };
    }
    model_views.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    Some(Prediction {
        model,
        from: evidence.points.iter().map(|point| point.cpus).collect(),
        first_limit: limits::memory_size_limit(evidence, &targets)
            .or_else(|| limits::first_limit(&models, traced)),
        peak_cpus: peak_cpus(&models, evidence, &points, &predicted),
        bounds: traced.map(|(program, bounds)| {
            limits::bounds(program, bounds, evidence.untraced_elapsed_ratio(program))
        }),
        models: model_views,
        karp_flatt: karp_flatt_trend(&evidence.model_points(), evidence.noise())
            .map_or(Vec::new(), |(fractions, _)| fractions),
        scaled_speedup: Usl::amdahl(&evidence.model_points())
            .filter(|_| evidence.points.len() > 1)
            .map_or(Vec::new(), |law| {
                targets.iter().map(|n| (*n, gustafson_speedup(law.alpha.min(1.0), *n))).collect()
            }),
        caveats: caveats(evidence, &models, &targets, &points, forced, abstention.is_some()),
        abstained: abstention,
        points,
    })
}

/// Joint forecast of all models for one CPU count.
struct JointForecast<'o> {
    /// Mean of the logarithm of elapsed time.
    mean: f64,
    /// Standard deviation of the logarithm, towards less and towards more time.
    spread: [f64; 2],
    /// Name of the model with the largest weight.
    model: &'o str,
}

impl<'o> JointForecast<'o> {
    /// Combines forecasts, weighted by precision. The variance between the forecasts is added to
    /// the variance of each forecast.
    fn combine(forecasts: &'o [ModelForecast]) -> Option<Self> {
        let first = forecasts.first()?;
        let all: f64 = forecasts.iter().map(ModelForecast::weight).sum();
        let weighted_mean = |value: &dyn Fn(&ModelForecast) -> f64| {
            forecasts.iter().map(|o| o.weight() / all * value(o)).sum::<f64>()
        };
        let mean = weighted_mean(&|forecast| forecast.elapsed.ln());
        let between = weighted_mean(&|forecast| (forecast.elapsed.ln() - mean).powi(2));
        let model = forecasts.iter().fold(first, |best, o| if o.weight() > best.weight() { o } else { best });
        let spread =
            [0, 1].map(|side| (weighted_mean(&|forecast| forecast.spread[side].powi(2)) + between).sqrt());
        Some(Self { mean, spread, model: &model.model })
    }

    /// Elapsed time at the mean (`side` 0) or at one end of the band.
    fn elapsed_at(&self, side: f64, spread: f64) -> f64 {
        (self.mean + side * Z90 * spread).exp()
    }

    fn predicted_point(
        &self,
        cpus: u32,
        base: MeasuredPoint,
        is_time: bool,
        withheld: bool,
    ) -> PredictedPoint {
        let elapsed = self.elapsed_at(0.0, 0.0);
        // Only caches can give a speedup above the ideal, and that gain has a limit.
        let ideal = base.elapsed * f64::from(base.cpus) / f64::from(cpus);
        let [least, most] = [self.elapsed_at(-1.0, self.spread[0]), self.elapsed_at(1.0, self.spread[1])];
        let least = least.max(ideal / MAX_SUPERLINEAR).min(elapsed);
        let wide = most / least > WIDE_BAND;
        PredictedPoint {
            cpus,
            elapsed_s: (is_time && !withheld && !wide).then_some(elapsed),
            speedup: (!withheld && !wide).then_some(base.elapsed / elapsed),
            band90: [base.elapsed / most, base.elapsed / least],
            elapsed_band90_s: is_time.then_some([least, most]),
            model: self.model.to_owned(),
        }
    }
}

/// Weights of the replay and of the closed forms, each as a share of the total weight.
fn replay_and_form_weights(forecasts: &[ModelForecast]) -> (f64, f64) {
    let all: f64 = forecasts.iter().map(ModelForecast::weight).sum();
    let share = |replay: bool| {
        let same_kind = forecasts.iter().filter(|o| (o.model == model_set::REPLAY) == replay);
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
    let slower = 1.0 + 2.0 * evidence.noise();
    let measured = evidence.points.iter().map(|point| (point.cpus, point.elapsed, point.elapsed));
    let all: Vec<(u32, f64, f64)> = measured.chain(predicted.iter().copied()).collect();
    let (best, least, _) =
        all.iter().copied().reduce(|best, next| if next.1 < best.1 { next } else { best })?;
    if all.iter().any(|(cpus, _, low)| *cpus > best && *low > least * slower) {
        return Some(f64::from(best));
    }
    let by_form = points.last().is_none_or(|point| point.model != model_set::REPLAY);
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
        .map(|program| evidence.oversubscription_cost(program));
    let times = costs.fold(1.0, f64::max);
    if times > NOTABLE_OVERSUBSCRIPTION {
        caveats.push(Caveat::Crowded { times });
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
