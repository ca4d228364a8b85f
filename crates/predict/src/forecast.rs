//! Extrapolation from a few CPUs to many: the opinion of each model on CPU counts that were not
//! measured, the uncertainty of each opinion, and the joint prediction.
//!
//! A back-test judges each model: the model predicts the largest measured count from the smaller
//! counts alone. An [`Abstention`](morecores_view::Abstention) replaces a prediction that no data
//! can support. This module computes from [`Evidence`] alone; the report crate writes the text.

mod abstain;
mod ensemble;
mod evidence;
mod limits;
mod locked;
mod opinion;
mod traced;
mod what_if;

use morecores_view::{Caveat, PredictedPoint, Prediction};

use crate::models::{Usl, gustafson, karp_flatt_trend};

pub use evidence::{Evidence, Measured, MemoryRoom};
use opinion::{Opinion, Panel};
pub use traced::TracedProgram;
pub use what_if::{Change, WhatIfError, what_if};

/// Number of standard deviations on each side of the mean that hold 90% of a normal distribution.
const Z90: f64 = 1.644_853_6;

/// Upper limit of a band, as a multiple of the ideal speedup. This limit is a choice: it leaves
/// room for the gain from larger total caches.
const SUPERLINEAR: f64 = 1.2;

/// Ratio of a band's ends above which the prediction carries no information.
const WIDE: f64 = 4.0;

/// Factor on the spread of the models when a rule advises against predicting. This factor is a
/// choice.
const DOUBT: f64 = 2.0;

/// Ratio of CPU times above which oversubscription matters: the CPU time of the oversubscribed run
/// over that of a run with one CPU per thread. Beyond this ratio, the share of the extra CPU time
/// that stays matters.
const CROWDED: f64 = 1.1;

/// Ratio of forced waits to threads above which forced waits in a replay are no accident.
const FORCED: f64 = 0.05;

/// Predicts the elapsed time at each of `targets` from `evidence`. `None` without a measured count.
pub fn forecast(evidence: &Evidence, targets: &[u32]) -> Option<Prediction> {
    let base = *evidence.points.first()?;
    let largest = *evidence.points.last()?;
    let mut targets: Vec<u32> = targets.iter().copied().filter(|cpus| *cpus > largest.cpus).collect();
    targets.sort_unstable();
    targets.dedup();
    let panel = Panel::of(evidence)?;
    let reason = abstain::reason(evidence, &panel, &targets);
    let mut points = Vec::new();
    let mut told = Vec::new();
    let (mut last, mut forced) = (Vec::new(), 0.0_f64);
    for &cpus in &targets {
        let opinions = panel.opinions(cpus);
        let Some(mut joint) = Joint::of(&opinions) else { continue };
        if reason.is_some() {
            joint.spread = joint.spread.map(|spread| DOUBT * spread);
        }
        told.push((cpus, joint.at(0.0, 0.0), joint.at(-1.0, joint.spread[0])));
        points.push(joint.point(cpus, base, evidence.is_time, reason.is_some()));
        forced = opinions.iter().map(|opinion| opinion.forced).fold(forced, f64::max);
        last = opinions;
    }
    let program = panel.program(targets.last().copied().unwrap_or(largest.cpus));
    let traced = program.map(|program| (program, ensemble::whole(evidence, program).bounds()));
    let traced = traced.as_ref().map(|(program, bounds)| (*program, bounds));
    let model = points.last().map_or_else(|| panel.best_form().to_owned(), |point| point.model.clone());
    let shares = shares(&last);
    let mut models = panel.contestants();
    for contestant in &mut models {
        let name = &contestant.model;
        contestant.weight *= if name == opinion::REPLAY { shares.0 } else { shares.1 };
    }
    models.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    Some(Prediction {
        model,
        from: evidence.points.iter().map(|point| point.cpus).collect(),
        first_limit: limits::memory_size(evidence, &targets).or_else(|| limits::first_limit(&panel, traced)),
        peak_cpus: peak(&panel, evidence, &points, &told),
        bounds: traced
            .map(|(program, bounds)| limits::bounds(program, bounds, evidence.timed_over_traced(program))),
        models,
        karp_flatt: karp_flatt_trend(&evidence.models_points(), evidence.noise())
            .map_or(Vec::new(), |(fractions, _)| fractions),
        scaled_speedup: Usl::amdahl(&evidence.models_points())
            .filter(|_| evidence.points.len() > 1)
            .map_or(Vec::new(), |law| {
                targets.iter().map(|n| (*n, gustafson(law.alpha.min(1.0), *n))).collect()
            }),
        caveats: caveats(evidence, &panel, &targets, &points, forced, reason.is_some()),
        abstained: reason,
        points,
    })
}

/// Joint opinion of all models on one CPU count.
struct Joint<'o> {
    /// Mean of the logarithm of elapsed time.
    mean: f64,
    /// Standard deviation of the logarithm, towards less and towards more time.
    spread: [f64; 2],
    /// Name of the model with the largest weight.
    model: &'o str,
}

impl<'o> Joint<'o> {
    /// Combines opinions, weighted by precision. The variance between the opinions is added to the
    /// variance of each opinion.
    fn of(opinions: &'o [Opinion]) -> Option<Self> {
        let first = opinions.first()?;
        let all: f64 = opinions.iter().map(Opinion::weight).sum();
        let over =
            |of: &dyn Fn(&Opinion) -> f64| opinions.iter().map(|o| o.weight() / all * of(o)).sum::<f64>();
        let mean = over(&|opinion| opinion.elapsed.ln());
        let apart = over(&|opinion| (opinion.elapsed.ln() - mean).powi(2));
        let model = opinions.iter().fold(first, |best, o| if o.weight() > best.weight() { o } else { best });
        let spread = [0, 1].map(|side| (over(&|opinion| opinion.spread[side].powi(2)) + apart).sqrt());
        Some(Self { mean, spread, model: &model.model })
    }

    /// Elapsed time at the mean (`side` 0) or at one end of the band.
    fn at(&self, side: f64, spread: f64) -> f64 {
        (self.mean + side * Z90 * spread).exp()
    }

    fn point(&self, cpus: u32, base: Measured, is_time: bool, withheld: bool) -> PredictedPoint {
        let elapsed = self.at(0.0, 0.0);
        // Only caches can give a speedup above the ideal, and that gain has a limit.
        let ideal = base.elapsed * f64::from(base.cpus) / f64::from(cpus);
        let [least, most] = [self.at(-1.0, self.spread[0]), self.at(1.0, self.spread[1])];
        let least = least.max(ideal / SUPERLINEAR).min(elapsed);
        let wide = most / least > WIDE;
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
fn shares(opinions: &[Opinion]) -> (f64, f64) {
    let all: f64 = opinions.iter().map(Opinion::weight).sum();
    let of = |replay: bool| {
        let ours = opinions.iter().filter(|o| (o.model == opinion::REPLAY) == replay);
        if all > 0.0 { ours.map(Opinion::weight).sum::<f64>() / all } else { 0.0 }
    };
    if opinions.is_empty() { (0.0, 1.0) } else { (of(true), of(false)) }
}

/// CPU count at which the speedup peaks.
///
/// `told` holds the predicted counts: CPUs, elapsed time and the lower end of its band. The peak is
/// the fastest measured or predicted count, if a larger count is slower beyond the noise and the
/// band. Otherwise the peak comes from the closed form with the largest weight, if a closed form is
/// the model of the last point.
fn peak(
    panel: &Panel<'_>,
    evidence: &Evidence,
    points: &[PredictedPoint],
    told: &[(u32, f64, f64)],
) -> Option<f64> {
    let slower = 1.0 + 2.0 * evidence.noise();
    let measured = evidence.points.iter().map(|point| (point.cpus, point.elapsed, point.elapsed));
    let all: Vec<(u32, f64, f64)> = measured.chain(told.iter().copied()).collect();
    let (best, least, _) =
        all.iter().copied().reduce(|best, next| if next.1 < best.1 { next } else { best })?;
    if all.iter().any(|(cpus, _, low)| *cpus > best && *low > least * slower) {
        return Some(f64::from(best));
    }
    let by_form = points.last().is_none_or(|point| point.model != opinion::REPLAY);
    panel.form_peak().filter(|_| by_form)
}

fn caveats(
    evidence: &Evidence,
    panel: &Panel<'_>,
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
            targets.iter().copied().filter(|cpus| panel.program(*cpus).is_none()).collect();
        if !without.is_empty() {
            caveats.push(Caveat::NotOversubscribed { cpus: without });
        }
        let used: Vec<_> = targets.iter().filter_map(|cpus| panel.program(*cpus)).collect();
        let lossy = used.iter().map(|program| program.lost_share).fold(0.0, f64::max);
        if lossy > 0.0 {
            caveats.push(Caveat::Lossy { share: lossy });
        }
        if used.iter().any(|program| !program.has_calls) {
            caveats.push(Caveat::NoSystemCalls);
        }
    }
    let told = evidence.points.len() > 1 && evidence.points.first().is_some_and(|point| point.cpus == 1);
    if !told || !evidence.is_time {
        caveats.push(Caveat::OneCount);
    }
    let crowded = targets.iter().filter_map(|cpus| panel.program(*cpus)).map(|of| evidence.crowding(of));
    let times = crowded.fold(1.0, f64::max);
    if times > CROWDED {
        caveats.push(Caveat::Crowded { times });
    }
    if forced > FORCED {
        caveats.push(Caveat::Forced { share: forced });
    }
    // A rule that withholds the points is a reason of its own, so the width of their bands is not
    // reported.
    let wide = |point: &&PredictedPoint| !withheld && point.band90[1] / point.band90[0] > WIDE;
    let wide: Vec<u32> = points.iter().filter(wide).map(|point| point.cpus).collect();
    if !wide.is_empty() {
        caveats.push(Caveat::Wide { cpus: wide, factor: WIDE });
    }
    caveats
}

#[cfg(test)]
mod tests;
